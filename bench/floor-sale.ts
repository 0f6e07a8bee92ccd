import * as z from 'zod'

const Money = z.string().regex(/^(0|[1-9]\d{0,9})\.\d{2}$/)
const Quantity = z
  .string()
  .regex(/^(0|[1-9]\d{0,8})(\.\d{1,3})?$/)
  .refine((text) => /[1-9]/.test(text))
const Id = z.int().positive()
const ExternalId = z.string().min(1).max(100)

const Item = z.strictObject({ catalog_item_id: Id, quantity: Quantity, unit_price: Money.optional() })

export const SaleBody = z.strictObject({
  external_id: ExternalId.optional(),
  customer_external_id: ExternalId.optional(),
  sold_at: z.iso.datetime({ offset: true }).optional(),
  delivery_fee: Money.optional(),
  items: z.array(Item).min(1).max(500),
  payments: z.array(z.strictObject({ payment_type_id: Id, amount: Money })).max(50),
})
export type SaleBody = z.infer<typeof SaleBody>

/** Rows with the types of Postgres: bigint as number, numeric as text. */
export interface ItemRow {
  id: number
  external_id: string | null
  name: string
  price: string
  stock: string | null
}

export interface PaymentTypeRow {
  id: number
  name: string
  kind: string
  fee_percentage: string
  accepts_api: boolean
}

/** Refusal with its HTTP status. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly details?: object,
  ) {
    super(code)
  }
}

const cents = (text: string): number => Math.round(Number(text) * 100)
const money = (value: number): string => (value / 100).toFixed(2)

/** Prices the items, checks payments and stock. */
export function priceSale(body: SaleBody, rows: readonly ItemRow[], types: readonly PaymentTypeRow[]) {
  const items = body.items.map((item) => priceItem(item, rows))
  const subtotal = items.reduce((sum, item) => sum + cents(item.total), 0)
  const total = subtotal + cents(body.delivery_fee ?? '0.00')
  const payments = body.payments.map((payment) => pay(payment, types))
  const paid = payments.reduce((sum, payment) => sum + cents(payment.amount), 0)
  const withCash = body.payments.some(
    ({ payment_type_id: id }) => types.find((type) => type.id === id)?.kind === 'cash',
  )
  if (paid < total || (paid > total && !withCash)) {
    throw new Refused(422, 'payment_mismatch', { total: money(total), paid: money(paid) })
  }
  const taken = new Map<number, number>()
  for (const { catalog_item_id: id, quantity } of items) taken.set(id, (taken.get(id) ?? 0) + Number(quantity))
  for (const [id, requested] of taken) {
    const available = rows.find((row) => row.id === id)?.stock
    if (typeof available === 'string' && Number(available) < requested) {
      throw new Refused(422, 'insufficient_stock', { catalog_item_id: id, requested: requested.toFixed(3), available })
    }
  }
  return {
    items,
    payments,
    taken,
    subtotal: money(subtotal),
    totalCents: total,
    total: money(total),
    change: money(paid - total),
  }
}

function priceItem(item: SaleBody['items'][number], rows: readonly ItemRow[]) {
  const row = rows.find(({ id }) => id === item.catalog_item_id)
  if (!row) throw new Refused(422, 'validation_failed', { fields: { items: ['unknown item'] } })
  const unitPrice = item.unit_price ?? row.price
  return {
    catalog_item_id: row.id,
    external_id: row.external_id,
    description: row.name,
    quantity: Number(item.quantity).toFixed(3),
    unit_price: unitPrice,
    total: money(Math.round((cents(unitPrice) * Math.round(Number(item.quantity) * 1000)) / 1000)),
    discount: '0.00',
    discount_share: '0.00',
    returned: '0.000',
  }
}

function pay(payment: SaleBody['payments'][number], types: readonly PaymentTypeRow[]) {
  const type = types.find((each) => each.id === payment.payment_type_id)
  if (!type?.accepts_api)
    throw new Refused(422, 'validation_failed', { fields: { payments: ['payment type not accepted'] } })
  const net = Math.round(cents(payment.amount) / (1 + Number(type.fee_percentage) / 100))
  return {
    payment_type_id: payment.payment_type_id,
    name: type.name,
    amount: payment.amount,
    surcharge: money(cents(payment.amount) - net),
    net: money(net),
  }
}

interface Facts {
  readonly id: number
  readonly customer: { id: number; external_id: string | null; name: string } | null
  readonly now: Date
  readonly timezone: string
}

/** The sale as the API shows it. */
export function saleObject(
  body: SaleBody,
  priced: ReturnType<typeof priceSale>,
  { id, customer, now, timezone }: Facts,
) {
  const at = inZone(now, timezone)
  return {
    id,
    external_id: body.external_id ?? null,
    offline_id: null,
    cash_session_id: null,
    order_id: null,
    status: 'completed',
    origin: 'api',
    customer,
    seller: null,
    sold_at: body.sold_at === undefined ? at : inZone(new Date(body.sold_at), timezone),
    items: priced.items,
    payments: priced.payments,
    subtotal: priced.subtotal,
    discount: '0.00',
    delivery_fee: body.delivery_fee ?? '0.00',
    total: priced.total,
    change: priced.change,
    refunded_total: '0.00',
    returned_total: '0.00',
    warnings: [],
    metadata: null,
    fiscal_document: null,
    cancelled_at: null,
    cancel_reason: null,
    cancel_refunds: null,
    created_at: at,
    updated_at: at,
  }
}

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
/** Minutes by zone and hour, because Intl is slow. */
const offsets = new Map<string, number>()

/** Instant in a time zone, as `2026-03-10T11:30:00.000-03:00`. */
function inZone(at: Date, timeZone: string): string {
  const hour = `${timeZone} ${Math.floor(at.getTime() / HOUR_MS)}`
  let offset = offsets.get(hour)
  if (offset === undefined) {
    const text = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' }).format(at)
    const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(text) ?? [null, '+', 0, 0]
    offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
    if (offsets.size > 10_000) offsets.clear()
    offsets.set(hour, offset)
  }
  const local = new Date(at.getTime() + offset * MINUTE_MS).toISOString().slice(0, -1)
  const digits = (value: number) => String(Math.floor(value)).padStart(2, '0')
  return `${local}${offset < 0 ? '-' : '+'}${digits(Math.abs(offset) / 60)}:${digits(Math.abs(offset) % 60)}`
}
