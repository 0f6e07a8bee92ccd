import * as z from 'zod'
import { inZone } from './clock.ts'

const Money = z.string().regex(/^(0|[1-9]\d{0,9})\.\d{2}$/)
const Quantity = z
  .string()
  .regex(/^(0|[1-9]\d{0,8})(\.\d{1,3})?$/)
  .refine((text) => /[1-9]/.test(text))
const Id = z.int().positive()
const ExternalId = z.string().min(1).max(100)

const Item = z
  .strictObject({
    catalog_item_id: Id.optional(),
    catalog_item_external_id: ExternalId.optional(),
    description: z.string().min(1).max(200).optional(),
    quantity: Quantity,
    unit_price: Money.optional(),
  })
  .refine((item) => {
    const given = [item.catalog_item_id, item.catalog_item_external_id, item.description].filter(
      (value) => value !== undefined,
    )
    return given.length === 1 && (item.description === undefined || item.unit_price !== undefined)
  })

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
  for (const { catalog_item_id: id, quantity } of items)
    if (id !== null) taken.set(id, (taken.get(id) ?? 0) + Number(quantity))
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
  const isAdHoc = item.description !== undefined
  const row = rows.find(
    (each) =>
      each.id === item.catalog_item_id ||
      (each.external_id !== null && each.external_id === item.catalog_item_external_id),
  )
  if (!row && !isAdHoc) throw new Refused(422, 'validation_failed', { fields: { items: ['unknown item'] } })
  const unitPrice = item.unit_price ?? row?.price ?? '0.00'
  return {
    catalog_item_id: row?.id ?? null,
    external_id: row?.external_id ?? null,
    description: row?.name ?? item.description ?? '',
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
