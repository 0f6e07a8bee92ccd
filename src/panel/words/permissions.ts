import { formatMoney } from '#domain/brazilian-format.ts'
import { fromCents } from '#domain/money.ts'
import type { LimitedPermission, Permission } from '#domain/permissions.ts'
import type { Role } from '#domain/roles.ts'

export const ROLE_NAMES: Readonly<Record<Role, string>> = {
  owner: 'Proprietário',
  manager: 'Gerente',
  clerk: 'Caixa',
  accountant: 'Contador',
  auditor: 'Auditor',
}

/** What a user with the permission may do. */
export const PERMISSION_NAMES: Readonly<Record<Permission, string>> = {
  see_all_sales: 'Ver vendas e valores de todos, de qualquer dia',
  see_costs: 'Ver custos e margens',
  see_payables: 'Ver contas a pagar',
  see_audit: 'Ver a auditoria e verificar a integridade',
  see_company: 'Ver configurações, usuários, integrações e o conteúdo dos eventos',
  export: 'Baixar arquivos das listas',
  sell: 'Vender, entregar pedidos e resolver vendas recusadas',
  cancel_own: 'Cancelar as próprias vendas',
  cancel_all: 'Cancelar vendas de outros e pedidos',
  return_goods: 'Receber devoluções',
  give_discount: 'Dar descontos',
  change_price: 'Alterar preços',
  adjust_stock: 'Movimentar o estoque',
  edit_catalog: 'Cadastrar e alterar itens e categorias',
  edit_people: 'Cadastrar e alterar clientes e fornecedores',
  import: 'Importar arquivos',
  edit_receivables: 'Criar e alterar contas a receber',
  delete_receivables: 'Excluir contas a receber',
  edit_payables: 'Criar, alterar e excluir contas a pagar',
  receive: 'Receber contas',
  settle: 'Pagar contas',
  cash_sessions: 'Abrir e fechar caixas',
  refund_orders: 'Estornar pagamentos de pedidos',
  erase_people: 'Excluir dados pessoais (LGPD)',
  manage_users: 'Gerenciar usuários',
  manage_owners: 'Gerenciar proprietários',
  manage_integrations: 'Gerenciar chaves de API e webhooks',
  manage_company: 'Alterar configurações, lojas, formas de pagamento e perfis de acesso',
}

/** The name within a sentence. */
export const permissionPhrase = (permission: Permission): string =>
  PERMISSION_NAMES[permission].replace(/^./, (first) => first.toLowerCase())

export const LIMIT_NAMES: Readonly<Record<LimitedPermission, string>> = {
  return_goods: 'Devolução sem autorização até (R$)',
  give_discount: 'Desconto sem autorização até (R$)',
}

/** A limit in cents, as text. */
export const limitText = (cents: number | null): string =>
  cents === null ? 'sem limite' : `até ${formatMoney(fromCents(cents))}`
