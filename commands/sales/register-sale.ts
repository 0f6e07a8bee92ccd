import * as z from 'zod'
import { dateInZone, IMPOSSIBLE, Instant, isImpossible } from '#domain/instant.ts'
import { MetadataInput, metadataOf } from '#domain/metadata.ts'
import { fromCents, Money, toCents } from '#domain/money.ts'
import { REQUIRED_FIELD } from '#domain/portuguese.ts'
import { fromThousandths, toThousandths } from '#domain/quantity.ts'
import { invalid, type Refusal, refuse } from '#domain/refusal.ts'
import { detailRefusedOnCash, paymentDetailsOf, paymentDetailsShape } from '#domain/sale-payment.ts'
import { Id, NewExternalId } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { accept, command, isRefusal } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { isJsonObject } from '#lib/json-members.ts'
import { itemById } from '#projections/catalog.ts'
import { testMarkOf, timezoneOf } from '#projections/companies.ts'
import { paymentTypeById } from '#projections/payment-types.ts'
import { saleByExternalId } from '#projections/sales.ts'
import { stockOf } from '#projections/stock.ts'
import { userById } from '#projections/users.ts'
import { brokenPieceWarnings, type Warning } from '../catalog/item-input.ts'
import { customerRefs, customerShape, findCustomer } from '../people/named-customer.ts'
import { findOlder } from '../till-clock.ts'
import { lineRefs, priceLines, quantitiesTaken, SaleLinesInput } from './lines.ts'
import { sumOf, type TenderedPayment, takenPayments } from './payments.ts'
import { findSeller, SellerInput, sellerRefs } from './seller.ts'
import { findUsed, proofRefs, provedSaleRefs, type UsedPayment } from './used-payments.ts'

type Completed = DataOf<'SaleCompleted'>

const Payment = z
  .strictObject({ payment_type_id: Id, amount: Money, ...paymentDetailsShape })
  .meta({ id: 'SalePaymentInput' })

/** Body of POST /sales. A sale of 0.00 needs no payments. */
export const SaleInput = z
  .strictObject({
    external_id: NewExternalId.nullish(),
    ...customerShape,
    sold_at: Instant.nullish(),
    delivery_fee: Money.nullish(),
    seller: SellerInput.nullish(),
    items: SaleLinesInput,
    /** On the whole sale, beside those of its items. */
    discount: Money.nullish(),
    payments: z.array(Payment).max(50, 'no máximo 50 pagamentos').nullish(),
    metadata: MetadataInput.nullish(),
  })
  // A sale with other errors has no total that could be 0.00.
  .refine((sale: { readonly payments?: unknown }) => sale.payments !== undefined && sale.payments !== null, {
    when: ({ issues, value }) => issues.length > 0 && isJsonObject(value),
    path: ['payments'],
    error: REQUIRED_FIELD,
  })
export interface SaleInput extends z.infer<typeof SaleInput> {
  /** Refuses a payment that another sale has. */
  readonly strict?: true | undefined
}

/** Registers a completed sale: priced, fully paid, stock debited (SALE-1). */
export const registerSale = command<SaleInput>({
  permission: 'sell',
  needs: (input) => [
    ...(input.external_id ? [saleByExternalId(input.external_id)] : []),
    ...customerRefs(input),
    ...sellerRefs(input.seller),
    ...lineRefs(input.items),
    ...(input.payments ?? []).map((payment) => paymentTypeById(payment.payment_type_id)),
    ...proofRefs(detailsOf(input)),
  ],
  needsMore: (rows, input) => provedSaleRefs(rows, detailsOf(input)),
  decide(rows, input, { now, nextId }) {
    const same = input.external_id ? rows.get(saleByExternalId(input.external_id)) : null
    if (same) return refuse('duplicate_resource', { field: 'external_id', conflicting_id: same.id })
    if (input.sold_at && isImpossible(input.sold_at, now)) return invalid('sold_at', IMPOSSIBLE)
    const customer = findCustomer(rows, input)
    if (customer && isRefusal(customer)) return customer
    const seller = findSeller(rows, input.seller)
    if (seller && isRefusal(seller)) return seller
    const priced = priceLines(rows, input)
    if (isRefusal(priced)) return priced
    if (!input.payments && toCents(priced.total) > 0) return invalid('payments', REQUIRED_FIELD)
    const sold_at = input.sold_at ?? now
    const paid = pay(rows, input.payments ?? [], toCents(priced.total), sold_at)
    if (isRefusal(paid)) return paid
    const short = findShortage(rows, priced.items)
    if (short) return short
    const used = findUsed(rows, detailsOf(input))
    if (input.strict && used[0])
      return refuse('payment_already_used', { field: fieldOf(used[0], input), sale_id: used[0].sale_id })
    const warnings = [
      ...ageWarnings(rows, priced.items, { sold_at, seller: seller?.user_id ?? null }, now),
      ...used.map(({ sale_id }) => ({ code: 'payment_already_used', sale_id }) as const),
    ]
    const id = nextId('sale')
    const completed = event('SaleCompleted', {
      id,
      external_id: input.external_id ?? null,
      customer: customer && { id: customer.id, external_id: customer.external_id, name: customer.doc.name },
      ...(seller && { seller }),
      sold_at,
      ...priced,
      payments: paid.payments,
      change: fromCents(paid.change),
      ...(warnings.length > 0 && { warnings }),
      ...metadataOf(input),
      ...testMarkOf(rows),
    })
    const remarks = [...brokenPieces(rows, priced.items), ...used.map((each) => usedWarning(each, input))]
    return accept('created', completed.subject, [completed], [], remarks.length > 0 ? { warnings: remarks } : undefined)
  },
})

/** Details of each payment, also of one that is refused. */
const detailsOf = ({ payments }: SaleInput) => (payments ?? []).map(paymentDetailsOf)

/** The field that names the transaction. */
const fieldOf = ({ position }: UsedPayment, { payments }: SaleInput): string =>
  `payments[${position}].${payments?.[position]?.end_to_end_id ? 'end_to_end_id' : 'card.nsu'}`

const usedWarning = (used: UsedPayment, input: SaleInput): Warning => ({
  code: 'payment_already_used',
  field: fieldOf(used, input),
  message: `já está na venda ${used.sale_id}`,
  sale_id: used.sale_id,
})

/** Payments must reach the total. The excess is change, taken from the cash payments (SALE-6, SALE-7). */
function pay(
  rows: Rows,
  inputs: NonNullable<SaleInput['payments']>,
  total: number,
  soldAt: string,
): { payments: Completed['payments']; change: number } | Refusal {
  const tendered: TenderedPayment[] = []
  for (const [position, { payment_type_id, amount, ...given }] of inputs.entries()) {
    const type = rows.get(paymentTypeById(payment_type_id))?.doc
    const field = `payments[${position}].payment_type_id`
    if (!type) return invalid(field, 'forma de pagamento não encontrada')
    if (!type.accepts_api) return invalid(field, type.reason ?? 'forma de pagamento não aceita pela API')
    const wrong = type.is_cash ? detailRefusedOnCash(given) : null
    if (wrong) return invalid(`payments[${position}].${wrong.field}`, wrong.message)
    tendered.push({ type, amount, details: paymentDetailsOf(given) })
  }
  const change = sumOf(tendered) - total
  if (change < 0 || change > sumOf(tendered.filter(({ type }) => type.is_cash))) {
    return refuse('payment_mismatch', { total: fromCents(total), paid: fromCents(sumOf(tendered)) })
  }
  return { payments: takenPayments(tendered, change, () => dateInZone(soldAt, timezoneOf(rows))), change }
}

/** If one item is short, the whole sale is refused. */
function findShortage(rows: Rows, items: Completed['items']): Refusal | null {
  const short = [...quantitiesTaken(items)].flatMap(([id, thousandths]) => {
    const available = stockOf(rows, id)
    if (available === null || toThousandths(available) >= thousandths) return []
    return [{ catalog_item_id: id, requested: fromThousandths(thousandths), available }]
  })
  return short[0] ? refuse('insufficient_stock', { ...short[0], items: short }) : null
}

/** A warning of a sale that is older than what it names (UP-762). */
function ageWarnings(
  rows: Rows,
  items: Completed['items'],
  { sold_at, seller }: { readonly sold_at: string; readonly seller: number | null },
  now: string,
): NonNullable<Completed['warnings']> {
  const created = items.map(({ catalog_item_id: id }) =>
    id === null ? undefined : rows.get(itemById(id))?.doc.created_at,
  )
  const user = seller === null ? undefined : rows.get(userById(seller))?.doc.created_at
  return findOlder(sold_at, now, [user, ...created]) === null ? [] : [{ code: 'sold_at_old' }]
}

/** Warnings of lines with a fraction of a piece; their items are loaded. Almost no sale has a line with a fraction. */
function brokenPieces(rows: Rows, items: Completed['items']): Warning[] {
  return items.flatMap(({ catalog_item_id, quantity }, position) => {
    if (catalog_item_id === null || quantity.endsWith('.000')) return []
    const unit = rows.get(itemById(catalog_item_id))?.doc.unit
    return brokenPieceWarnings(unit, { [`items[${position}].quantity`]: quantity })
  })
}
