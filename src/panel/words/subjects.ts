import type { IdKind } from '#domain/id-kinds.ts'
import { parseSubject } from '#ledger/projection.ts'

/** What records of each kind are called. */
export const KINDS: Readonly<Record<IdKind, string>> = {
  company: 'Empresa',
  user: 'Usuário',
  api_key: 'Chave de API',
  payment_type: 'Forma de pagamento',
  customer: 'Cliente',
  supplier: 'Fornecedor',
  category: 'Categoria',
  catalog_item: 'Item do catálogo',
  sale: 'Venda',
  receivable: 'Conta a receber',
  payable: 'Conta a pagar',
  webhook: 'Webhook',
  store: 'Loja',
  order: 'Pedido',
}

/** Where records have a page of their own that can also show the past; all others are shown by the audit. */
const PAGES: Partial<Record<IdKind, string>> = {
  customer: '/clientes',
  supplier: '/fornecedores',
  catalog_item: '/catalogo',
  sale: '/vendas',
  receivable: '/contas-a-receber',
  payable: '/contas-a-pagar',
  order: '/loja/pedidos',
}

/** `sale/9` as people say it: `Venda 9`. */
export function subjectName(subject: string): string {
  const { type, id } = parseSubject(subject)
  return `${Object.hasOwn(KINDS, type) ? KINDS[type as IdKind] : type} ${id}`
}

/** The page of a record, below the panel. */
export function subjectPath(subject: string): string {
  const { type, id } = parseSubject(subject)
  const page = Object.hasOwn(PAGES, type) ? PAGES[type as IdKind] : undefined
  return page ? `${page}/${id}` : `/auditoria/registros/${type}/${id}`
}
