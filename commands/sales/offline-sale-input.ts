import { createHash } from 'node:crypto'
import { z } from 'zod'
import { Instant } from '#domain/instant.ts'
import { JsonMoney, JsonQuantity } from '#domain/json-number.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { ExternalId, Id } from '#domain/text.ts'
import { printable } from '#domain/validation.ts'
import { OFFLINE_PAYMENT_STATUSES, OFFLINE_SALE_STATUSES } from '#events/sales.ts'

const Item = z.object({ product_id: Id, quantity: JsonQuantity, price: JsonMoney, total: JsonMoney })
const Payment = z.object({ payment_type_id: Id, amount: JsonMoney, status: z.enum(OFFLINE_PAYMENT_STATUSES) })

/**
 * An offline sale as it is uploaded (UP-2), in decimal texts; whether it adds up is judged with the payment types at hand.
 * Unknown fields are ignored: tills of many versions send what they have.
 */
export const OfflineSaleInput: z.ZodType<OfflineSale> = z
  .object({
    offline_id: ExternalId,
    total: JsonMoney,
    amount_received: JsonMoney.nullish(),
    change: JsonMoney.nullish(),
    status: z.enum(OFFLINE_SALE_STATUSES),
    created_at: Instant,
    customer_id: z.unknown().optional(),
    items: z.array(Item).min(1, 'informe ao menos um item').max(500, 'no máximo 500 itens'),
    payments: z.array(Payment).max(50, 'no máximo 50 pagamentos'),
  })
  .transform(({ amount_received = null, change = null, customer_id, ...sale }) => ({
    ...sale,
    amount_received,
    change,
    customer: customerOf(customer_id),
  }))

/** Who bought must not stand in the way of the sale: what is no id is a customer that nobody knows. */
function customerOf(sent: unknown): OfflineSale['customer'] {
  if (sent === null || sent === undefined) return null
  const text = typeof sent === 'object' ? '{…}' : String(sent)
  return { id: Id.safeParse(sent).data ?? null, sent: printable(text.slice(0, 100)) }
}

/** What a till says of a sale. A till without a cash drawer leaves out `amount_received` and `change`: null. */
export interface OfflineSale {
  readonly offline_id: string
  readonly total: string
  readonly amount_received: string | null
  readonly change: string | null
  readonly status: (typeof OFFLINE_SALE_STATUSES)[number]
  /** UTC */
  readonly created_at: string
  readonly customer: { readonly id: number | null; readonly sent: string } | null
  readonly items: readonly z.infer<typeof Item>[]
  readonly payments: readonly z.infer<typeof Payment>[]
}

/**
 * SHA-256, in hex, of a sale by value: 10, 10.0 and 10.00 are the same, and so is one moment in two time zones. The customer
 * is no part of it: who bought makes no other sale.
 */
export function fingerprintOf(sale: OfflineSale): string {
  const { offline_id, total, status, created_at } = sale
  const { amount_received, change } = cashOf(sale)
  const items = sale.items.map(({ product_id, quantity, price, total }) => [product_id, quantity, price, total])
  const payments = sale.payments.map((payment) => [payment.payment_type_id, payment.amount, payment.status])
  const known = [offline_id, total, amount_received, change, status, created_at, items, payments]
  return createHash('sha256').update(JSON.stringify(known)).digest('hex')
}

/** Without them, what was paid was received, and what is more than the total was given back. */
function cashOf({ total, amount_received, change, payments }: OfflineSale) {
  const wanted = toCents(total)
  const paid = payments.reduce((sum, { amount }) => sum + toCents(amount), 0)
  const received = toCents(amount_received ?? fromCents(change === null ? paid : wanted + toCents(change)))
  return {
    amount_received: fromCents(received),
    change: change ?? fromCents(Math.max(received - wanted, 0)),
  }
}
