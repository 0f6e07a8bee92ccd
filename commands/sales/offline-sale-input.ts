import { createHash } from 'node:crypto'
import { z } from 'zod'
import { Instant } from '#domain/instant.ts'
import { JsonMoney, JsonQuantity } from '#domain/json-number.ts'
import { fromCents, lineTotal, lineTotalFits, MAX_CENTS, toCents } from '#domain/money.ts'
import { toThousandths } from '#domain/quantity.ts'
import { ExternalId, Id } from '#domain/text.ts'
import { OFFLINE_PAYMENT_STATUSES, OFFLINE_SALE_STATUSES } from '#events/sales.ts'

const Item = z.object({ product_id: Id, quantity: JsonQuantity, price: JsonMoney, total: JsonMoney })
const Payment = z.object({ payment_type_id: Id, amount: JsonMoney, status: z.enum(OFFLINE_PAYMENT_STATUSES) })

const fields = z.object({
  offline_id: ExternalId,
  total: JsonMoney,
  amount_received: JsonMoney.nullish(),
  change: JsonMoney.nullish(),
  status: z.enum(OFFLINE_SALE_STATUSES),
  created_at: Instant,
  items: z.array(Item).min(1, 'informe ao menos um item').max(500, 'no máximo 500 itens'),
  payments: z.array(Payment).max(50, 'no máximo 50 pagamentos'),
})
type Fields = z.infer<typeof fields>

/** What a till says of a sale, in decimal texts; what it left out of the cash is worked out. */
export type OfflineSale = Omit<Fields, 'amount_received' | 'change'> & { amount_received: string; change: string }

/**
 * An offline sale as it is uploaded (UP-2), checked to the cent. Unknown fields are ignored: tills of many
 * versions send what they have. A till without a cash drawer may leave out `amount_received` and `change`.
 */
export const OfflineSaleInput: z.ZodType<OfflineSale> = fields
  .transform((sale) => ({ ...sale, ...cashOf(sale) }))
  .superRefine((sale, context) => {
    for (const { path, message } of findErrors(sale)) context.addIssue({ code: 'custom', path, message })
  })

/** SHA-256, in hex, of all known fields by value: 10, 10.0 and 10.00 are the same, and so is one moment in two time zones. */
export function fingerprintOf(sale: OfflineSale): string {
  const { offline_id, total, amount_received, change, status, created_at } = sale
  const items = sale.items.map(({ product_id, quantity, price, total }) => [product_id, quantity, price, total])
  const payments = sale.payments.map((payment) => [payment.payment_type_id, payment.amount, payment.status])
  const known = [offline_id, total, amount_received, change, status, created_at, items, payments]
  return createHash('sha256').update(JSON.stringify(known)).digest('hex')
}

const sumOf = (amounts: readonly string[]): number => amounts.reduce((sum, amount) => sum + toCents(amount), 0)

/** Without them, what was paid was received, and what is more than the total was given back. */
function cashOf({ total, amount_received, change, payments }: Fields): Pick<OfflineSale, 'amount_received' | 'change'> {
  const wanted = toCents(total)
  const paid = typeof change === 'string' ? wanted + toCents(change) : sumOf(payments.map(({ amount }) => amount))
  const received = typeof amount_received === 'string' ? toCents(amount_received) : paid
  return {
    amount_received: fromCents(received),
    change: change ?? fromCents(Math.max(received - wanted, 0)),
  }
}

interface Wrong {
  readonly path: (string | number)[]
  readonly message: string
}

/** What does not add up (UP-7). A sale that was cancelled before it was paid has no payments. */
function findErrors(sale: OfflineSale): Wrong[] {
  const wrong = sale.items.flatMap((item, position) => findLineError(item, position) ?? [])
  const [lines, total] = [sumOf(sale.items.map((item) => item.total)), toCents(sale.total)]
  if (lines !== total) {
    const message = lines > MAX_CENTS ? 'a soma dos itens é grande demais' : `a soma dos itens é ${fromCents(lines)}`
    wrong.push({ path: ['total'], message })
  }
  const isUnpaid = sale.status === 'cancelled' && sale.payments.length === 0
  return isUnpaid ? wrong : [...wrong, ...findPaymentErrors(sale, total)]
}

function findLineError({ quantity, price, total }: OfflineSale['items'][number], position: number): Wrong | null {
  const path = ['items', position, 'total']
  const [thousandths, cents] = [toThousandths(quantity), toCents(price)]
  if (!lineTotalFits(thousandths, cents)) return { path, message: 'o total do item é grande demais' }
  const expected = fromCents(lineTotal(thousandths, cents))
  return total === expected ? null : { path, message: `deve ser quantidade × preço: ${expected}` }
}

function findPaymentErrors({ payments, ...sale }: OfflineSale, total: number): Wrong[] {
  const wrong: Wrong[] = []
  const [received, change] = [toCents(sale.amount_received), toCents(sale.change)]
  const paid = sumOf(payments.map(({ amount }) => amount))
  if (paid !== total && paid !== received) {
    const expected = `o total da venda (${sale.total}) ou o valor recebido (${sale.amount_received})`
    wrong.push({ path: ['payments'], message: `somam ${fromCents(paid)}, mas devem somar ${expected}` })
  }
  if (received > MAX_CENTS) wrong.push({ path: ['payments'], message: 'a soma dos pagamentos é grande demais' })
  if (received - change !== total) {
    wrong.push({ path: ['change'], message: 'o valor recebido menos o troco deve ser o total da venda' })
  }
  return wrong
}
