import * as format from '#domain/brazilian-format.ts'
import { formatMoney } from '#domain/brazilian-format.ts'
import { Instant } from '#domain/instant.ts'
import { ownValue } from '#lib/own-value.ts'
import type { NamesForTill, RefusedSale } from '#queries/sales/offline-sales.ts'
import { ListTable } from '../../ui/list-table.tsx'
import { Facts } from '../../ui/parts.tsx'
import { fieldName } from '../../words/fields.ts'
import { SALE_STATES } from './sales.tsx'

/** Lines shown of a refused sale; the raw text contains all. */
const SHOWN = 100

export type Members = Readonly<Record<string, unknown>>

interface UploadedProps {
  readonly payload: unknown
  readonly names: NamesForTill
  readonly timezone: string
}

/** A sale as the till sent it. It may have any shape: known fields are formatted, everything else is shown raw. */
export const UploadedSaleCard = ({ payload, names, timezone }: UploadedProps) => {
  const sale = membersOf(payload)
  return (
    <>
      <Facts
        facts={[
          ['Identificação no caixa', text(sale.offline_id)],
          ['Data da venda', momentText(sale.created_at, timezone)],
          ['Situação', saleStatus(sale.status)],
          ['Cliente (código)', text(sale.customer_id)],
          ['Total', amountText(sale.total)],
          ['Valor recebido', amountText(sale.amount_received)],
          ['Troco', amountText(sale.change)],
        ]}
      />
      <h3>Itens</h3>
      <ListTable
        caption="Itens enviados"
        rows={numbered(sale.items)}
        empty="Nenhum item."
        columns={[
          { head: 'Item', cell: ({ line }) => line },
          { head: 'Produto', cell: ({ product_id }) => nameOf(product_id, names.products) },
          { head: 'Qtd.', cell: ({ quantity }) => numberText(quantity), isNumber: true },
          { head: 'Preço', cell: ({ price }) => amountText(price), isNumber: true },
          { head: 'Total', cell: ({ total }) => amountText(total), isNumber: true },
        ]}
      />
      <h3>Pagamentos</h3>
      <ListTable
        caption="Pagamentos enviados"
        rows={numbered(sale.payments)}
        empty="Nenhum pagamento."
        columns={[
          { head: 'Pagamento', cell: ({ line }) => line },
          { head: 'Forma', cell: ({ payment_type_id }) => nameOf(payment_type_id, names.paymentTypes) },
          { head: 'Valor', cell: ({ amount }) => amountText(amount), isNumber: true },
          { head: 'Situação', cell: ({ status }) => paymentStatus(status) },
        ]}
      />
    </>
  )
}

/** Ids of products and payment types that a sale names, without invalid ones. */
export function idsIn(payload: unknown): { products: number[]; paymentTypes: number[] } {
  const sale = membersOf(payload)
  const ids = (list: unknown, name: string) => [
    ...new Set(
      linesOf(list)
        .map((line) => line[name])
        .filter((id): id is number => Number.isSafeInteger(id)),
    ),
  ]
  return { products: ids(sale.items, 'product_id'), paymentTypes: ids(sale.payments, 'payment_type_id') }
}

export const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {}

const linesOf = (list: unknown): Members[] => (Array.isArray(list) ? list.slice(0, SHOWN).map(membersOf) : [])

const numbered = (list: unknown): (Members & { readonly line: number })[] =>
  linesOf(list).map((line, at) => ({ ...line, line: at + 1 }))

/** Null for absent values, and for objects and lists, which the raw text shows. */
function text(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return typeof value === 'object' ? '(não é um valor simples)' : String(value)
}

export const isPlainNumber = (value: unknown): value is number =>
  typeof value === 'number' && /^-?\d+(\.\d+)?$/.test(String(value))

const numberText = (value: unknown): string | null =>
  isPlainNumber(value) ? format.formatQuantity(String(value)) : text(value)

/** Keeps the decimals that were sent: they may be the error. */
function amountText(value: unknown): string | null {
  if (!isPlainNumber(value)) return text(value)
  const [whole, decimals = ''] = String(value).split('.')
  return format.formatMoney(`${whole}.${decimals.padEnd(2, '0')}`)
}

function momentText(value: unknown, timezone: string): string | null {
  const moment = Instant.safeParse(value)
  return moment.success ? format.formatDateTime(moment.data, timezone) : text(value)
}

const saleStatus = (value: unknown): string | null =>
  value === 'completed' || value === 'cancelled' ? SALE_STATES[value][1] : text(value)

function paymentStatus(value: unknown): string | null {
  if (value === 'completed') return 'Pago'
  return value === 'pending' ? 'Pendente' : text(value)
}

function nameOf(id: unknown, names: ReadonlyMap<number, string>): string | null {
  const name = typeof id === 'number' ? names.get(id) : undefined
  return name ?? (id === undefined || id === null ? null : `${text(id)} (não encontrado)`)
}

/** Fields of an uploaded sale, as shops call them. */
const FIELDS: Readonly<Record<string, string>> = {
  body: 'Venda',
  offline_id: 'Identificação no caixa',
  total: 'Total',
  amount_received: 'Valor recebido',
  change: 'Troco',
  status: 'Situação',
  created_at: 'Data da venda',
  items: 'Itens',
  payments: 'Pagamentos',
}

/** Lists of a sale, and the fields of their entries. */
const PARTS: Readonly<Record<string, { readonly name: string; readonly fields: Readonly<Record<string, string>> }>> = {
  items: {
    name: 'Item',
    fields: { product_id: 'produto', quantity: 'quantidade', price: 'preço', total: 'total' },
  },
  payments: {
    name: 'Pagamento',
    fields: { payment_type_id: 'forma de pagamento', amount: 'valor', status: 'situação' },
  },
}

/** `items[0].price` becomes `Item 1, preço`. */
function uploadedField(path: string): string {
  const [, list = '', position, , field] = /^(\w+)\[(\d{1,6})\](\.(.+))?$/.exec(path) ?? []
  const part = ownValue(PARTS, list)
  if (!part) return ownValue(FIELDS, path) ?? fieldName(path)
  const name = `${part.name} ${Number(position) + 1}`
  return field === undefined
    ? name
    : `${name}, ${ownValue(part.fields, field) ?? fieldName(field.slice(field.lastIndexOf('.') + 1))}`
}

/** Amounts in messages for tills, such as `20.00`; not parts of longer numbers, nor quoted values. */
const AMOUNT = /(?<![\d.,"])\d+\.\d{2}(?!\.?\d|")/g

/** Errors of an uploaded sale, one sentence per field. */
export const reasonsIn = (errors: RefusedSale['errors']): string[] =>
  Object.entries(errors).map(
    ([path, messages]) =>
      `${uploadedField(path)}: ${messages.join('; ').replace(AMOUNT, (amount) => formatMoney(amount))}`,
  )

/** The first error, and the number of further ones. */
export function refusalReasonOf({ errors, message }: Pick<RefusedSale, 'errors' | 'message'>): string {
  const [first = message, ...more] = reasonsIn(errors)
  return more.length === 0 ? first : `${first} (e mais ${more.length})`
}
