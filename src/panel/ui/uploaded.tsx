import { Instant } from '#domain/instant.ts'
import type { NamesForTill } from '#queries/sales/offline-sales.ts'
import * as format from '../format.ts'
import { SALE_STATUSES } from '../words/sales.ts'
import { Facts } from './parts.tsx'
import { Table } from './table.tsx'

/** Lines of a refused sale that are shown; the text that was sent has all of them. */
const SHOWN = 100

type Members = Readonly<Record<string, unknown>>

interface UploadedProps {
  readonly payload: unknown
  readonly names: NamesForTill
  readonly timezone: string
}

/** A sale as a till has sent it, which may be anything: what makes sense is shown as such, all else as it is. */
export const Uploaded = ({ payload, names, timezone }: UploadedProps) => {
  const sale = membersOf(payload)
  return (
    <>
      <Facts
        facts={[
          ['Identificação no caixa', text(sale.offline_id)],
          ['Data da venda', momentText(sale.created_at, timezone)],
          ['Situação', saleStatus(sale.status)],
          ['Total', amountText(sale.total)],
          ['Valor recebido', amountText(sale.amount_received)],
          ['Troco', amountText(sale.change)],
        ]}
      />
      <h3>Itens</h3>
      <Table
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
      <Table
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

/** Ids of products and ways to pay that a sale names, as far as they can be ids. */
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

const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {}

const linesOf = (list: unknown): Members[] => (Array.isArray(list) ? list.slice(0, SHOWN).map(membersOf) : [])

const numbered = (list: unknown): (Members & { readonly line: number })[] =>
  linesOf(list).map((line, at) => ({ ...line, line: at + 1 }))

/** Null for what is not there; what is no simple value can be read in the text that was sent. */
function text(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return typeof value === 'object' ? '(não é um valor simples)' : String(value)
}

const isPlainNumber = (value: unknown): value is number =>
  typeof value === 'number' && /^-?\d+(\.\d+)?$/.test(String(value))

const numberText = (value: unknown): string | null =>
  isPlainNumber(value) ? format.quantity(String(value)) : text(value)

/** With the decimals that were sent, for they may be what is wrong. */
function amountText(value: unknown): string | null {
  if (!isPlainNumber(value)) return text(value)
  const [whole, decimals = ''] = String(value).split('.')
  return format.money(`${whole}.${decimals.padEnd(2, '0')}`)
}

function momentText(value: unknown, timezone: string): string | null {
  const moment = Instant.safeParse(value)
  return moment.success ? format.dateTime(moment.data, timezone) : text(value)
}

const saleStatus = (value: unknown): string | null =>
  value === 'completed' || value === 'cancelled' ? SALE_STATUSES[value][0] : text(value)

function paymentStatus(value: unknown): string | null {
  if (value === 'completed') return 'Pago'
  return value === 'pending' ? 'Pendente' : text(value)
}

function nameOf(id: unknown, names: ReadonlyMap<number, string>): string | null {
  const name = typeof id === 'number' ? names.get(id) : undefined
  return name ?? (id === undefined || id === null ? null : `${text(id)} (não encontrado)`)
}
