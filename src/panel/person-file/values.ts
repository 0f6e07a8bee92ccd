import * as format from '../format.ts'

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => ESCAPES[character] as string)

/** What members of records and events are called; others keep their names. */
const LABELS: Readonly<Record<string, string>> = {
  id: 'Número',
  external_id: 'Código externo',
  offline_id: 'Código no caixa',
  name: 'Nome',
  trade_name: 'Nome fantasia',
  person_type: 'Tipo de pessoa',
  document: 'CPF ou CNPJ',
  phone: 'Telefone',
  email: 'E-mail',
  notes: 'Observações',
  address: 'Endereço',
  zip: 'CEP',
  street: 'Rua',
  number: 'Número',
  complement: 'Complemento',
  district: 'Bairro',
  city: 'Cidade',
  state: 'UF',
  role: 'Papel',
  status: 'Situação',
  origin: 'Canal',
  customer: 'Cliente',
  customer_id: 'Número do cliente',
  customer_name: 'Cliente',
  supplier_id: 'Número do fornecedor',
  supplier_name: 'Fornecedor',
  description: 'Descrição',
  amount: 'Valor',
  due_date: 'Vencimento',
  settled_on: 'Data da baixa',
  paid_at: 'Pago em',
  payment_method: 'Forma de pagamento',
  payment_method_id: 'Meio de pagamento',
  payments: 'Pagamentos',
  payment: 'Pagamento',
  last_four: 'Final do cartão',
  installments: 'Parcelas',
  items: 'Itens',
  quantity: 'Quantidade',
  unit_price: 'Preço unitário',
  subtotal: 'Subtotal',
  discount: 'Desconto',
  delivery_fee: 'Taxa de entrega',
  surcharge: 'Acréscimo',
  total: 'Total',
  change: 'Troco',
  net: 'Líquido',
  changes: 'Alterações',
  sold_at: 'Vendida em',
  cancelled_at: 'Cancelada em',
  cancel_reason: 'Motivo do cancelamento',
  reason: 'Motivo',
  fiscal_document: 'Documento fiscal',
  sale_id: 'Número da venda',
  store_alias: 'Loja',
  created_at: 'Criado em',
  updated_at: 'Alterado em',
  deleted_at: 'Excluído em',
  forgotten_at: 'Esquecido em',
  forgetting_due_on: 'A esquecer em',
  recorded_at: 'Registrado em',
  last_seen_at: 'Visto em',
  last_used_at: 'Usado em',
}

const MONEY = new Set([
  'amount',
  'unit_price',
  'subtotal',
  'discount',
  'delivery_fee',
  'surcharge',
  'total',
  'net',
  'price',
])
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/
const DAY = /^\d{4}-\d\d-\d\d$/
const DECIMAL = /^-?\d+\.\d{2}$/

function textOf(name: string, value: string, timezone: string): string {
  if (INSTANT.test(value)) return format.dateTimeSeconds(value, timezone)
  if (DAY.test(value)) return format.day(value)
  if (MONEY.has(name) && DECIMAL.test(value)) return format.money(value)
  if (name === 'document') return format.taxNumber(value)
  if (name === 'phone') return format.phone(value)
  if (name === 'zip') return format.zipCode(value)
  return value
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** A value as HTML, objects and lists as tables and lists in it; `name` is the member that it is of. */
export function valueHtml(name: string, value: unknown, timezone: string): string {
  if (value === null || value === undefined || value === '') return '<span class="none">—</span>'
  if (typeof value === 'boolean') return value ? 'sim' : 'não'
  if (typeof value === 'string') return escaped(textOf(name, value, timezone))
  if (Array.isArray(value)) {
    if (value.length === 0) return '<span class="none">—</span>'
    const isPlain = value.every((each) => !isObject(each))
    if (isPlain) return value.map((each) => valueHtml(name, each, timezone)).join(', ')
    return `<ol>${value.map((each) => `<li>${valueHtml(name, each, timezone)}</li>`).join('')}</ol>`
  }
  return isObject(value) ? membersHtml(value, timezone) : escaped(String(value))
}

/** All members of an object, one a row. */
export function membersHtml(record: object, timezone: string): string {
  const rows = Object.entries(record).map(
    ([name, value]) =>
      `<tr><th scope="row">${escaped(LABELS[name] ?? name)}</th><td>${valueHtml(name, value, timezone)}</td></tr>`,
  )
  return rows.length === 0 ? '<span class="none">—</span>' : `<table>${rows.join('')}</table>`
}
