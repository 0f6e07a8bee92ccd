import { Instant } from '#domain/instant.ts'
import * as format from '#domain/person-values.ts'
import { formatDateTime, formatDay, formatMoney, formatUnits } from '#domain/person-values.ts'
import { ownValue } from '#lib/collections.ts'
import type { OfflineSaleWarning } from '#projections/fiscal-documents.ts'
import type { SaleObject } from '#projections/sales.ts'
import { type UnitsOfItems, unitIn } from '#queries/item-queries.ts'
import type { NamesForTill, RefusedSale } from '#queries/offline-sale-queries.ts'
import type { SaleUpload } from '#queries/sale-queries.ts'
import { ListTable } from '../ui/list-table.tsx'
import { Card, Facts, SaleLink } from '../ui/page-parts.tsx'
import { fieldName } from '../words/event-words.ts'
import { SALE_STATES } from './sale-list.tsx'

interface UploadProps {
  readonly sale: SaleObject
  readonly upload: SaleUpload
  readonly units: UnitsOfItems
  readonly timezone: string
  /** The uploading user. */
  readonly sender: string
}

/** How a till sent a sale, with the warnings of its upload. */
export const SaleUploadCard = ({ sale, upload, units, timezone, sender }: UploadProps) => (
  <Card title="Envio do caixa">
    <Facts
      facts={[
        ['Enviada por', sender],
        ['Recebida em', formatDateTime(upload.recorded_at, timezone)],
      ]}
    />
    {upload.warnings.length > 0 ? (
      <>
        <h3>Avisos</h3>
        <Warnings sale={sale} upload={upload} units={units} timezone={timezone} />
      </>
    ) : (
      <p class="hint">Sem avisos.</p>
    )}
  </Card>
)

/** Warnings of an uploaded sale. `product` is the item's name. */
function warningText(
  { code, product_id, found, expected }: OfflineSaleWarning,
  product: string,
  unit: string | undefined,
  timezone: string,
): string {
  const [seen, known] = [found ?? '', expected ?? '']
  switch (code) {
    case 'negative_stock':
      return `O estoque ficou negativo (${formatUnits(seen, unit)}): ${product}.`
    case 'quantity_not_whole':
      return `Quantidade não inteira (${formatUnits(seen, unit)}) de um produto vendido por unidade: ${product}.`
    case 'price_differs':
      return `Vendido por ${formatMoney(seen)}, mas o preço do catálogo era ${formatMoney(known)}: ${product}.`
    case 'product_deactivated':
      return `Desativado no catálogo: ${product}.`
    case 'payment_pending':
      return `O pagamento em ${seen} está pendente, mas não é a prazo.`
    case 'change_without_cash':
      return `Há troco de ${formatMoney(seen)} sem pagamento em dinheiro.`
    case 'created_at_in_future': {
      const [sold, came] = [formatDateTime(seen, timezone), formatDateTime(known, timezone)]
      return `A venda tem data de ${sold}, mas chegou em ${came}: confira o relógio do caixa.`
    }
    case 'session_of_other':
      return `A sessão de caixa ${seen} foi aberta por outro usuário.`
    case 'created_at_old':
      return `A venda tem data de ${formatDateTime(seen, timezone)}, antiga demais: confira o relógio do caixa.`
    case 'cancelled_at_in_future':
      return `O cancelamento tem data de ${formatDateTime(seen, timezone)}, no futuro: confira o relógio do caixa.`
    case 'cancelled_at_before_sale':
      return `O cancelamento tem data de ${formatDateTime(seen, timezone)}, antes da venda.`
    case 'line_total_rounded':
      return `Total de ${formatMoney(seen)} por arredondamento, em vez de ${formatMoney(known)}: ${product}.`
    case 'line_discount':
      return `Desconto de ${formatMoney(seen)} no item: ${product}.`
    case 'discount':
      return `Desconto de ${formatMoney(seen)} na venda.`
    case 'total_rounded':
      return `Total de ${formatMoney(seen)} por arredondamento; os itens somavam ${formatMoney(known)}.`
    case 'amount_received_differs':
      return `Valor recebido de ${formatMoney(seen)}, mas com o total e o troco seria de ${formatMoney(known)}.`
    case 'discount_limit_exceeded':
      return `Desconto de ${formatMoney(seen)}, acima do limite do usuário, ${formatMoney(known)} por venda e por dia.`
    case 'payment_already_used':
      return `O pagamento ${seen} já está em outra venda: `
    case 'credit_exceeded':
      return `Crédito de troca de ${formatMoney(seen)}, mas o saldo era ${formatMoney(known)}.`
    case 'voucher_expired':
      return `O vale ${seen} valeu até ${formatDay(known)}.`
    case 'customer_unknown':
      return `O cliente ${seen}, que o caixa informou, não existe.`
    case 'customer_deleted':
      return `O cliente ${seen} está excluído.`
    case 'customer_forgotten':
      return `Os dados pessoais do cliente ${seen} foram excluídos.`
    case 'product_unknown':
      return `O produto ${product_id ?? seen} não existe no catálogo.`
    case 'payment_type_unknown':
      return `A forma de pagamento ${seen} não existe.`
    case 'recorded_as_is':
      return `Registrada por uma pessoa como foi enviada: ${seen}`
    case 'recorded_corrected':
      return `Corrigida e registrada por uma pessoa: ${seen}`
    default:
      return CHAIN_TEXTS[code]
  }
}

const CHAIN_TEXTS = {
  recorded_from_receipt: 'Registrada pelo código do cupom.',
  access_ended: 'Vendida depois do fim do acesso do usuário.',
  till_signature: 'A assinatura do caixa não confere.',
  till_chain: 'A sequência do caixa está interrompida antes ou depois deste registro.',
  till_number: 'O número já foi usado por outro registro deste caixa.',
} as const

interface WarningsProps {
  readonly sale: Pick<SaleObject, 'items'>
  readonly upload: Pick<SaleUpload, 'warnings'>
  readonly units: UnitsOfItems
  readonly timezone: string
}

/** Warnings to review; null if there are none. */
export const Warnings = ({ sale, upload, units, timezone }: WarningsProps) =>
  upload.warnings.length === 0 ? null : (
    <ul class="warnings">
      {upload.warnings.map((warning) => {
        const { product_id } = warning
        const item = sale.items.find(({ catalog_item_id }) => catalog_item_id === product_id)
        const product = item?.description ?? `produto ${product_id ?? 'do caixa'}`
        const text = warningText(warning, product, item && unitIn(units, item), timezone)
        const { sale_id } = warning
        return (
          <li key={`${text}${sale_id}`}>
            {text}
            {sale_id !== undefined && <SaleLink id={sale_id} />}
          </li>
        )
      })}
    </ul>
  )

/** Lines shown of a refused sale; the raw text contains all. */
const SHOWN = 100

export type Members = Readonly<Record<string, unknown>>

interface UploadedProps {
  readonly payload: unknown
  readonly names: NamesForTill
  readonly units: UnitsOfItems
  readonly timezone: string
}

/** A sale as the till sent it. It may have any shape: known fields are formatted, everything else is shown raw. */
export const UploadedSaleCard = ({ payload, names, units, timezone }: UploadedProps) => {
  const sale = toMembers(payload)
  return (
    <>
      <Facts
        facts={[
          ['Identificação no caixa', text(sale.offline_id)],
          ['Data da venda', momentText(sale.created_at, timezone)],
          ['Situação', saleStatus(sale.status)],
          ['Cliente (código)', text(sale.customer_id ?? sale.offline_customer_id)],
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
          {
            head: 'Produto',
            cell: ({ product_id, name }) => (product_id ? nameOf(product_id, names.products) : text(name)),
          },
          {
            head: 'Qtd.',
            cell: ({ quantity, product_id }) => quantityText(quantity, units.get(Number(product_id))),
            isNumber: true,
          },
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
  const sale = toMembers(payload)
  const ids = (list: unknown, name: string) => [
    ...new Set(
      linesOf(list)
        .map((line) => line[name])
        .filter((id): id is number => Number.isSafeInteger(id)),
    ),
  ]
  return { products: ids(sale.items, 'product_id'), paymentTypes: ids(sale.payments, 'payment_type_id') }
}

export const toMembers = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {}

const linesOf = (list: unknown): Members[] => (Array.isArray(list) ? list.slice(0, SHOWN).map(toMembers) : [])

const numbered = (list: unknown): (Members & { readonly line: number })[] =>
  linesOf(list).map((line, at) => ({ ...line, line: at + 1 }))

/** Null for absent values, and for objects and lists, which the raw text shows. */
function text(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return typeof value === 'object' ? '(não é um valor simples)' : String(value)
}

export const isPlainNumber = (value: unknown): value is number =>
  typeof value === 'number' && /^-?\d+(\.\d+)?$/.test(String(value))

const quantityText = (value: unknown, unit: string | undefined): string | null =>
  isPlainNumber(value) ? format.formatUnits(String(value), unit) : text(value)

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
export function formatRefusalReason({ errors, message }: Pick<RefusedSale, 'errors' | 'message'>): string {
  const [first = message, ...more] = reasonsIn(errors)
  return more.length === 0 ? first : `${first} (e mais ${more.length})`
}
