import * as z from 'zod'
import { dateInZone, IMPOSSIBLE, Instant, isImpossible } from '#domain/instant.ts'
import { fromCents, fromThousandths, Money, netOfSurcharge, toCents, toThousandths } from '#domain/money.ts'
import {
  type AcquirerTerms,
  detailRefusedOnCash,
  paymentDetailsShape,
  type SalePaymentDetails,
  toAcquiredPayment,
  toPaymentDetails,
} from '#domain/payment-rules.ts'
import { MetadataInput, toEventMetadata } from '#domain/record-values.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import { Id, NewExternalId, REQUIRED_FIELD } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { accept, command, isRefusal } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { isJsonObject } from '#lib/json.ts'
import { paymentProofByKey, toPaymentProof } from '#projections/cash-takings.ts'
import { itemById } from '#projections/catalog.ts'
import { getTimezone, testMark } from '#projections/companies.ts'
import { receivableById } from '#projections/finance.ts'
import { saleByExternalId, saleById } from '#projections/sales.ts'
import { getStock } from '#projections/stock.ts'
import { type PaymentTypeObject, paymentTypeById } from '#projections/stores.ts'
import { userById } from '#projections/users.ts'
import { findOlder } from './cash-commands.ts'
import { brokenPieceWarnings, type Warning } from './record-commands.ts'
import {
  customerRefs,
  customerShape,
  findCustomer,
  findSeller,
  lineRefs,
  priceLines,
  quantitiesTaken,
  SaleLinesInput,
  SellerInput,
  sellerRefs,
} from './sale-lines.ts'

type SalePayment = DataOf<'SaleCompleted'>['payments'][number]

type Terms = AcquirerTerms & Pick<PaymentTypeObject, 'acquirer_fee_refunded'>

/** Payment as handed over by the customer, change included. */
interface TenderedPayment {
  readonly type: Pick<PaymentTypeObject, 'id' | 'name' | 'fee_percentage' | 'is_cash'> & Partial<Terms>
  readonly amount: string
  /** Of a card or a Pix; absent if unknown. */
  readonly details?: SalePaymentDetails
}

/** In cents. */
export const sumTendered = (tendered: readonly TenderedPayment[]): number =>
  tendered.reduce((sum, { amount }) => sum + toCents(amount), 0)

/**
 * Payments with surcharge and net. The surcharge is part of the charged amount, which is the amount less change. `change`, in cents, is taken from cash, starting with the last cash payment. If a till gave change
 * without cash, it is taken from the other payments. `daySold` returns the company's day of the sale.
 */
export function takePayments<G extends TenderedPayment>(tendered: readonly G[], change: number, daySold: () => string) {
  let left = change
  const isWithCash = tendered.some(({ type }) => type.is_cash)
  const payments = tendered.toReversed().map(({ type, amount, details, ...more }) => {
    const back = isWithCash && !type.is_cash ? 0 : Math.min(left, toCents(amount))
    left -= back
    const charged = toCents(amount) - back
    const net = netOfSurcharge(charged, type.fee_percentage)
    const { id: payment_type_id, name } = type
    const payment: SalePayment = {
      payment_type_id,
      name,
      amount,
      surcharge: fromCents(charged - net),
      net: fromCents(net),
      ...details,
      ...acquired(type, { cents: charged, instalments: details?.card?.installments ?? 1, daySold }),
    }
    return { ...payment, ...more }
  })
  return payments.reverse()
}

/** The acquirer's part of a payment, and when it pays the rest. */
function acquired(
  type: Partial<Terms>,
  charged: Parameters<typeof toAcquiredPayment>[1],
): Partial<Pick<SalePayment, 'acquirer_fee' | 'settles_on' | 'settlements' | 'acquirer_fee_refunded'>> {
  const { acquirer_rate = null, acquirer_rate_2_6 = null, acquirer_rate_7_12 = null, settles_in_days = null } = type
  const terms = { acquirer_rate, acquirer_rate_2_6, acquirer_rate_7_12, settles_in_days }
  const parts = toAcquiredPayment(terms, charged)
  return parts ? { ...parts, ...(type.acquirer_fee_refunded && { acquirer_fee_refunded: true }) } : {}
}

type Payments = readonly SalePaymentDetails[]

/** A payment that pays another sale too. */
interface UsedPayment {
  /** Position among the payments, from 0. */
  readonly position: number
  /** The Pix's id, or the NSU of the card's transaction. */
  readonly found: string
  /** The first other sale that is not cancelled. */
  readonly sale_id: number
}

/** Rows that name the sales of the payments. */
export const proofRefs = (payments: Payments): AnyRef[] =>
  payments.flatMap((payment) => {
    const key = toPaymentProof(payment)
    return key === null ? [] : [paymentProofByKey(key)]
  })

/** Those sales; `proofRefs` are loaded. */
export const sameProofRefs = (rows: Rows, payments: Payments): AnyRef[] =>
  payments.flatMap((payment) => salesOf(rows, payment).map(saleById))

function salesOf(rows: Rows, payment: SalePaymentDetails): readonly number[] {
  const key = toPaymentProof(payment)
  return (key === null ? null : rows.get(paymentProofByKey(key))?.sale_ids) ?? []
}

/** Payments of a new sale whose money already paid a sale that stands. */
export const findUsed = (rows: Rows, payments: Payments): UsedPayment[] =>
  payments.flatMap((payment, position) => {
    const sale_id = salesOf(rows, payment).find((id) => rows.get(saleById(id))?.status === 'completed')
    if (sale_id === undefined) return []
    return [{ position, found: payment.end_to_end_id ?? payment.card?.nsu ?? '', sale_id }]
  })

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
  needsMore: (rows, input) => sameProofRefs(rows, detailsOf(input)),
  decide(rows, input, { now, nextId }) {
    const same = input.external_id ? rows.get(saleByExternalId(input.external_id)) : null
    if (same) return refuse('duplicate_resource', { field: 'external_id', conflicting_id: same.id })
    if (input.sold_at && isImpossible(input.sold_at, now)) return refuseField('sold_at', IMPOSSIBLE)
    const customer = findCustomer(rows, input)
    if (customer && isRefusal(customer)) return customer
    const seller = findSeller(rows, input.seller)
    if (seller && isRefusal(seller)) return seller
    const priced = priceLines(rows, input)
    if (isRefusal(priced)) return priced
    if (!input.payments && toCents(priced.total) > 0) return refuseField('payments', REQUIRED_FIELD)
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
      ...toEventMetadata(input),
      ...testMark(rows),
    })
    const remarks = [...brokenPieces(rows, priced.items), ...used.map((each) => usedWarning(each, input))]
    return accept('created', completed.subject, [completed], [], remarks.length > 0 ? { warnings: remarks } : undefined)
  },
})

/** Details of each payment, also of one that is refused. */
const detailsOf = ({ payments }: SaleInput) => (payments ?? []).map(toPaymentDetails)

/** The field that names the transaction. */
const fieldOf = ({ position }: UsedPayment, { payments }: SaleInput): string =>
  `payments[${position}].${payments?.[position]?.end_to_end_id ? 'end_to_end_id' : 'card.nsu'}`

const usedWarning = (used: UsedPayment, input: SaleInput): Warning => ({
  code: 'payment_already_used',
  field: fieldOf(used, input),
  message: `já está na venda ${used.sale_id}`,
  sale_id: used.sale_id,
})

/** Payments must reach the total. The excess is change, taken from the cash payments. */
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
    if (!type) return refuseField(field, 'forma de pagamento não encontrada')
    if (!type.accepts_api) return refuseField(field, type.reason ?? 'forma de pagamento não aceita pela API')
    const wrong = type.is_cash ? detailRefusedOnCash(given) : null
    if (wrong) return refuseField(`payments[${position}].${wrong.field}`, wrong.message)
    tendered.push({ type, amount, details: toPaymentDetails(given) })
  }
  const change = sumTendered(tendered) - total
  if (change < 0 || change > sumTendered(tendered.filter(({ type }) => type.is_cash))) {
    return refuse('payment_mismatch', { total: fromCents(total), paid: fromCents(sumTendered(tendered)) })
  }
  return { payments: takePayments(tendered, change, () => dateInZone(soldAt, getTimezone(rows))), change }
}

/** If one item is short, the whole sale is refused. */
function findShortage(rows: Rows, items: Completed['items']): Refusal | null {
  const short = [...quantitiesTaken(items)].flatMap(([id, thousandths]) => {
    const available = getStock(rows, id)
    if (available === null || toThousandths(available) >= thousandths) return []
    return [{ catalog_item_id: id, requested: fromThousandths(thousandths), available }]
  })
  return short[0] ? refuse('insufficient_stock', { ...short[0], items: short }) : null
}

/** A warning of a sale that is older than what it names. */
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

/** Body of PUT /sales/{id}/customer. */
export const SaleCustomerBody = z.strictObject(customerShape)

const AssignSaleCustomer = z.strictObject({ id: Id, ...customerShape })

/**
 * Gives a customer to a sale on credit that was made without one, and to its receivables. The sale is not changed
 * otherwise, and a customer that it has stays.
 */
export const assignSaleCustomer = command<z.infer<typeof AssignSaleCustomer>>({
  permission: 'edit_receivables',
  needs: (input) => [saleById(input.id), ...customerRefs(input)],
  needsMore: (rows, { id }) => (rows.get(saleById(id))?.receivable_ids ?? []).map(receivableById),
  decide(rows, { id, ...name }) {
    const sale = rows.get(saleById(id))
    if (!sale) return refuse('not_found')
    const found = findCustomer(rows, name)
    if (found && isRefusal(found)) return found
    if (found === null) return refuseField('customer_id', 'informe o cliente')
    if (sale.customer_id === found.id) return accept('unchanged', `sale/${id}`)
    if (sale.customer_id !== null) return refuseField('sale', 'a venda já tem cliente')
    if (sale.status === 'cancelled') return refuseField('sale', 'a venda está cancelada')
    if (sale.receivable_ids.length === 0) return refuseField('sale', 'a venda não é a prazo')
    const customer = { id: found.id, external_id: found.external_id, name: found.doc.name }
    const changes = {
      customer_id: customer.id,
      customer_external_id: customer.external_id,
      customer_name: customer.name,
    }
    const owed = sale.receivable_ids.filter((receivable) => {
      const row = rows.get(receivableById(receivable))
      // A person may have given the account a customer already.
      return row && !row.deleted_at && row.party_id === null
    })
    return accept('updated', `sale/${id}`, [
      event('SaleCustomerAssigned', { id, customer }),
      ...owed.map((receivable) => event('ReceivableUpdated', { id: receivable, changes })),
    ])
  },
})
