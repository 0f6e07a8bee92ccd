import { z } from 'zod'
import { Instant } from '#domain/instant.ts'
import { fromCents, Money, toCents } from '#domain/money.ts'
import { fromThousandths, toThousandths } from '#domain/quantity.ts'
import { invalid, type Refusal, refuse } from '#domain/refusal.ts'
import { ExternalId, Id } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { accept, command, isRefusal } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { itemById } from '#projections/catalog.ts'
import { paymentTypeById } from '#projections/payment-types.ts'
import { customerByExternalId } from '#projections/people.ts'
import { saleByExternalId } from '#projections/sales.ts'
import { LinesInput, lineRefs, priceLines, quantitiesTaken, takenPayment } from './lines.ts'

type Completed = DataOf<'SaleCompleted'>

/** The body of POST /sales. */
export const SaleInput = z.strictObject({
  external_id: ExternalId.nullish(),
  customer_external_id: ExternalId.nullish(),
  sold_at: Instant.nullish(),
  delivery_fee: Money.nullish(),
  items: LinesInput,
  payments: z.array(z.strictObject({ payment_type_id: Id, amount: Money })).max(50, 'no máximo 50 pagamentos'),
})
export type SaleInput = z.infer<typeof SaleInput>

/** Registers a sale that is complete from the start: priced, paid in full, its stock debited (SALE-1). */
export const registerSale = command<SaleInput>({
  needs: (input) => [
    ...(input.external_id ? [saleByExternalId(input.external_id)] : []),
    ...(input.customer_external_id ? [customerByExternalId(input.customer_external_id)] : []),
    ...lineRefs(input.items),
    ...input.payments.map((payment) => paymentTypeById(payment.payment_type_id)),
  ],
  ids: () => ({ sale: 1 }),
  decide(rows, input, { now, nextId }) {
    const same = input.external_id ? rows.get(saleByExternalId(input.external_id)) : null
    if (same) return refuse('duplicate_resource', { field: 'external_id', conflicting_id: same.id })
    const customer = findCustomer(rows, input.customer_external_id)
    if (customer && isRefusal(customer)) return customer
    const priced = priceLines(rows, input)
    if (isRefusal(priced)) return priced
    const paid = pay(rows, input.payments, toCents(priced.total))
    if (isRefusal(paid)) return paid
    const short = findShortage(rows, priced.items)
    if (short) return short
    const id = nextId('sale')
    const completed = event('SaleCompleted', {
      id,
      external_id: input.external_id ?? null,
      customer,
      sold_at: input.sold_at ?? now,
      ...priced,
      payments: paid.payments,
      change: fromCents(paid.change),
    })
    return accept('created', completed.subject, [completed])
  },
})

function findCustomer(rows: Rows, externalId: string | null | undefined): Completed['customer'] | Refusal {
  if (!externalId) return null
  const customer = rows.get(customerByExternalId(externalId))
  if (!customer || customer.deleted_at) return invalid('customer_external_id', 'cliente não encontrado')
  return { id: customer.id, external_id: customer.external_id, name: customer.doc.name }
}

/** Payments with their surcharge taken from inside; a surplus is change, and only cash can give change. */
function pay(
  rows: Rows,
  inputs: SaleInput['payments'],
  total: number,
): { payments: Completed['payments']; change: number } | Refusal {
  const payments: Completed['payments'] = []
  let paid = 0
  let cash = false
  for (const [position, { payment_type_id, amount }] of inputs.entries()) {
    const type = rows.get(paymentTypeById(payment_type_id))?.doc
    const field = `payments[${position}].payment_type_id`
    if (!type) return invalid(field, 'forma de pagamento não encontrada')
    if (!type.accepts_api) return invalid(field, type.reason ?? 'forma de pagamento não aceita pela API')
    payments.push(takenPayment(type, amount))
    paid += toCents(amount)
    cash ||= type.is_cash
  }
  if (paid < total || (paid > total && !cash)) {
    return refuse('payment_mismatch', { total: fromCents(total), paid: fromCents(paid) })
  }
  return { payments, change: paid - total }
}

/** The whole sale or nothing. */
function findShortage(rows: Rows, items: Completed['items']): Refusal | null {
  const short = [...quantitiesTaken(items)].flatMap(([id, thousandths]) => {
    const available = rows.get(itemById(id))?.doc.stock
    if (typeof available !== 'string' || toThousandths(available) >= thousandths) return []
    return [{ catalog_item_id: id, requested: fromThousandths(thousandths), available }]
  })
  return short[0] ? refuse('insufficient_stock', { ...short[0], items: short }) : null
}
