import { fromCents } from '#domain/money.ts'
import { formatMoney } from '#domain/person-values.ts'
import type { Refusal } from '#domain/refusals.ts'
import type { LimitedPermission, Permission } from '#domain/rights.ts'
import { type FailureReason, type Problem, type ProblemCode, toHttpMessage } from '#http/problems.ts'

/** Messages after an action. The address has only the code, so that a link cannot inject text. */
export const FLASHES = {
  criado: 'Cadastro criado.',
  'conta-criada': 'Conta criada.',
  alterado: 'Alterações salvas.',
  'pin-alterado': 'PIN definido.',
  'perfil-criado': 'Perfil criado. Escolha agora o que ele pode.',
  'perfil-removido': 'Perfil removido.',
  'perfil-alterado': 'Perfil de acesso alterado.',
  'loja-conectada': 'Loja conectada ao Mercado Pago.',
  'sem-alteracao': 'Nada foi alterado.',
  excluido: 'Cadastro excluído.',
  'conta-excluida': 'Conta excluída.',
  'item-desativado': 'Item desativado.',
  'item-reativado': 'Item reativado.',
  estoque: 'Estoque alterado.',
  contado: 'Contagem registrada.',
  entrada: 'Entrada registrada.',
  'entrada-desfeita': 'Entrada desfeita: a mesma nota já pode entrar de novo.',
  variacoes: 'Variações criadas.',
  marca: 'Logotipo gravado.',
  'marca-excluida': 'Logotipo excluído.',
  imagem: 'Imagem gravada.',
  'imagem-excluida': 'Imagem excluída.',
  'inventario-aplicado': 'Inventário aplicado ao estoque.',
  'inventario-descartado': 'Inventário descartado.',
  'precos-alterados': 'Preços alterados.',
  'precos-agendados': 'Alteração de preços agendada.',
  'agendamento-cancelado': 'Agendamento cancelado. Os preços não mudam.',
  'precos-desfeitos': 'Alteração desfeita: os preços voltaram.',
  liquidada: 'Conta quitada.',
  'paga-em-parte': 'Pagamento registrado. O resto da conta continua em aberto.',
  pagamento: 'Pagamento registrado.',
  estornado: 'Pagamento estornado.',
  cancelada: 'Venda cancelada.',
  devolvida: 'Devolução registrada.',
  'cliente-da-venda': 'Cliente da venda informado.',
  'pedido-cancelado': 'Pedido cancelado.',
  'pedido-criado': 'Pedido criado. Envie o link a quem compra.',
  'pedido-saiu': 'Andamento do pedido registrado.',
  'pedido-entregue': 'Pedido marcado como entregue.',
  'entrega-desfeita': 'Entrega desfeita: o pedido está a preparar.',
  'credito-guardado': 'O valor virou crédito de troca do cliente.',
  'alarme-visto': 'Alerta marcado como lido.',
  devolvido: 'Estorno feito.',
  'estorno-em-processamento': 'O estorno está em processamento. Acompanhe em Pagamentos e estornos.',
  'devolucao-pendente':
    'O provedor não respondeu. O estorno será tentado de novo automaticamente: não é preciso repetir.',
  resolvida: 'Venda recusada marcada como resolvida.',
  registrada: 'Venda do caixa registrada.',
  'devolucao-registrada': 'Devolução do caixa registrada.',
  'devolucao-resolvida': 'Devolução recusada marcada como resolvida.',
  'gaveta-aberta': 'Gaveta aberta.',
  'gaveta-fechada': 'Gaveta fechada.',
  suprimento: 'Suprimento registrado.',
  sangria: 'Sangria registrada.',
  'diferenca-explicada': 'Diferença explicada.',
  'movimento-registrado': 'Movimento do caixa registrado.',
  'movimento-resolvido': 'Movimento recusado marcado como resolvido.',
  'venda-recuperada': 'Venda registrada pelo cupom.',
  'venda-ja-registrada': 'Esta venda já estava registrada.',
  'caixa-encerrado': 'Caixa encerrado.',
  'dada-por-perdida': 'Números dados por perdidos.',
  'devolucao-desfeita': 'Devolução desfeita.',
  'ja-resolvida': 'Esta venda já estava resolvida.',
  'documento-fiscal': 'Documento fiscal registrado.',
  revogada: 'Chave revogada.',
  'link-criado': 'Link criado.',
  'link-revogado': 'Link revogado: ele não abre mais.',
  ligado: 'Webhook ligado.',
  desligado: 'Webhook desligado.',
  'webhook-passado': 'Webhook transferido.',
  enviada: 'Reenvio agendado.',
  'teste-enviado': 'Mensagem de teste a caminho.',
  reenvio: 'Reenvio iniciado. Recarregue a página para acompanhar.',
  'senha-trocada': 'Senha trocada.',
  convidado: 'Convite enviado.',
  'convite-nao-enviado': 'O convite foi criado, mas o e-mail não pôde ser enviado: envie-o de novo mais tarde.',
  'convite-cancelado': 'Convite cancelado.',
  'link-enviado': 'Se houver uma conta com este e-mail, enviaremos um link para criar uma nova senha.',
  desativado: 'Usuário desativado.',
  reativado: 'Usuário reativado.',
  esquecida: 'Dados pessoais excluídos (LGPD).',
  'esquecimento-marcado': 'Dados excluídos. O restante será excluído na data marcada.',
  'loja-ligada': 'Loja ligada.',
  'loja-desligada': 'Loja desligada.',
  'empresa-de-teste': 'A empresa de teste está pronta: escolha-a para abri-la.',
  relogio: 'Data da empresa de teste avançada.',
  esvaziada: 'Dados da empresa de teste apagados.',
  'sessao-encerrada': 'Sessão encerrada.',
  'sessoes-encerradas': 'As outras sessões foram encerradas.',
  'etapa-vencida': 'O tempo da verificação acabou. Entre de novo.',
  'etapa-removida': 'Verificação em duas etapas removida.',
  'bem-vindo': 'Convite aceito. Você entrou na empresa.',
  'loja-criada': 'Loja criada. Siga os primeiros passos.',
  'negocio-escolhido': 'Formas de pagamento e categorias criadas.',
  saiu: 'Você saiu do painel.',
  entre: 'Entre para continuar.',
  'entre-e-continue': 'Sua sessão expirou. Entre de novo; o que você preencheu foi guardado.',
  'de-volta': 'Sua sessão expirou e nada foi salvo. Confira o que você preencheu e envie de novo.',
} as const

export type FlashCode = keyof typeof FLASHES

/** Messages that report no success: they are shown in a neutral tone. */
const NEUTRAL: ReadonlySet<FlashCode> = new Set([
  'sem-alteracao',
  'estorno-em-processamento',
  'devolucao-pendente',
  'ja-resolvida',
  'convite-nao-enviado',
  'link-enviado',
  'etapa-vencida',
  'saiu',
  'entre',
  'entre-e-continue',
  'de-volta',
])

export const toFlashClass = (code: FlashCode): string => (NEUTRAL.has(code) ? 'notice neutral' : 'notice')

export const parseFlash = (code: string | undefined): FlashCode | null =>
  code !== undefined && Object.hasOwn(FLASHES, code) ? (code as FlashCode) : null

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

const TITLES: Partial<Record<ProblemCode | FailureReason, string>> = {
  not_found: 'Página não encontrada',
  owners_only: 'Sem permissão',
  changes_nothing: 'Sem permissão',
  cross_site_form: 'Formulário recusado',
  validation_failed: 'Não foi possível mostrar',
  https_required: 'Use HTTPS',
  rate_limited: 'Acessos demais',
  share_taken: 'Acessos demais',
  unavailable: 'Serviço indisponível',
  internal_error: 'Algo deu errado',
}

export const problemTitle = ({ code, reason }: Problem): string => TITLES[reason ?? code] ?? 'Não foi possível concluir'

/** Replacements for API messages that are written for programs. */
const PROBLEM_TEXTS: Partial<Record<ProblemCode | FailureReason, string>> = {
  not_found: 'Página não encontrada ou registro excluído.',
  https_required: 'O painel só funciona por HTTPS.',
  malformed_json: 'O formulário não pôde ser lido. Abra a página de novo e repita.',
  unsupported_media_type: 'O formulário não pôde ser lido. Abra a página de novo e repita.',
  payload_too_large: 'O formulário é grande demais: encurte os textos e repita.',
  share_taken: 'Há páginas demais abertas ao mesmo tempo. Nada foi salvo: aguarde um instante e tente de novo.',
  internal_error: 'Algo deu errado. Tente de novo; se continuar, informe o código abaixo ao suporte.',
}

export const problemMessage = ({ code, reason, message, headers }: Problem): string =>
  code === 'rate_limited' && reason === null
    ? `Muitos acessos em um minuto: nada foi salvo. Tente de novo em ${waitOf(headers)}.`
    : (PROBLEM_TEXTS[reason ?? code] ?? message)

function waitOf({ 'Retry-After': seconds = '60' }: Problem['headers']): string {
  return seconds === '1' ? '1 segundo' : `${seconds} segundos`
}

const REFUSAL_TEXTS: Partial<Record<Refusal['refused'], string>> = {
  invalid_token: 'Sua sessão expirou e nada foi salvo. Entre de novo.',
  validation_failed: 'Há campos a corrigir.',
  idempotency_key_reuse: 'Este formulário já foi enviado com outros dados. Abra a página de novo e repita.',
  managed_by_pdv: 'Este registro é mantido por uma venda e não pode ser alterado aqui.',
  person_forgotten: 'Os dados pessoais deste cadastro foram excluídos: ele não pode mais ser alterado.',
  duplicate_resource: 'Já existe um cadastro com este valor.',
}

export const refusalMessage = ({ refused, details }: Refusal): string =>
  refused === 'permission_required' ? lackingText(details) : (REFUSAL_TEXTS[refused] ?? toHttpMessage(refused))

/** The permission that a user lacks, or the limit that the operation exceeds. */
function lackingText({ permission, limit }: Refusal['details'] = {}): string {
  const name = permissionPhrase(permission as Permission)
  const lacking =
    typeof limit === 'string'
      ? `Seu perfil de acesso tem o limite de ${formatMoney(limit)}, por registro e por dia, para ${name}.`
      : `Seu perfil de acesso não permite ${name}.`
  return `${lacking} Peça autorização a um responsável.`
}
