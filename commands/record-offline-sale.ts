import { addDays, dateInZone, IMPOSSIBLE_AT_TILL, isImpossibleAtTill } from '#domain/instant.ts'
import { fromCents, MAX_THOUSANDTHS, toBigCents, toCents } from '#domain/money.ts'
import { detailRefusedOnCash, toPaymentDetails } from '#domain/payment-rules.ts'
import { refuse, refuseField } from '#domain/refusals.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { accept, command, type Decision, type DecisionContext, isRefusal, type NewEvent } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { itemById } from '#projections/catalog.ts'
import { getTimezone, ownCompany, testMark } from '#projections/companies.ts'
import { existing } from '#projections/define-projection.ts'
import { type OfflineSaleRow, type OfflineSaleWarning, offlineSaleById } from '#projections/fiscal-documents.ts'
import { customerById } from '#projections/people.ts'
import { type SaleObject, saleById } from '#projections/sales.ts'
import { creditByCustomer, getCreditBalance } from '#projections/store-credit.ts'
import { paymentTypeById } from '#projections/stores.ts'
import { cashDrawerByUser, offlineRecord } from '#projections/tills.ts'
import { discountOfSale, limitOfUser, limitUsesByUser, mayGive, userById } from '#projections/users.ts'
import { voucherBalance, voucherByCode, voucherParts } from '#projections/vouchers.ts'
import { cancellation, cancellationSideRefs, findTimedDrawer, sessionOfRefund, sessionRefs } from './cancel-sale.ts'
import { namedSessionRefs } from './named-drawers.ts'
import { awaitedDetailRefs, awaitedEvents, awaitedRefs } from './offline-returns.ts'
import { fingerprintSale, type OfflineSale, type OfflineSaleUpload } from './offline-sale-input.ts'
import {
  addUp,
  cancellationWarnings,
  dayOfSale,
  findWarnings,
  type OfflineSaleSums,
  sessionWarnings,
  stockAfter,
  voucherWarnings,
  warning,
} from './offline-sale-warnings.ts'
import { findUsed, proofRefs, sameProofRefs, sumTendered, takePayments } from './register-sale.ts'
import { isMoney } from './returned-goods.ts'
import { toSoldItem, userSeller } from './sale-lines.ts'

type Completed = DataOf<'OfflineSaleCompleted'>

/**
 * Records a sale that a till made offline. Uploaded sales are facts: negative stock or a different price only adds
 * warnings. A repeated upload records nothing and gets the first response; a repeated upload as cancelled cancels the
 * sale.
 */
export const recordOfflineSale = command<OfflineSaleUpload>({
  needs: offlineSaleNeeds,
  needsMore(rows, sale) {
    const known = rows.get(offlineSaleById(sale.offline_id))
    if (!known) return newSaleRefs(rows, sale)
    if (isRepeated(sale, known)) return []
    return [saleById(known.sale_id), ...cancellationSideRefs(known), ...sessionRefs(known)]
  },
  needsLast: (rows, { offline_id }) =>
    rows.get(offlineSaleById(offline_id)) ? [] : awaitedDetailRefs(rows, offline_id),
  decide(rows, sale, context) {
    const known = rows.get(offlineSaleById(sale.offline_id))
    return known
      ? decideRepeated(rows, sale, known, context)
      : recordSale(rows, sale, context, { fingerprint: fingerprintSale(sale) })
  },
})

/** User with a drawer that a cancelled sale may be paid back from; null for other sales. */
const cancellerOf = ({ status, sellerId }: OfflineSaleUpload): number | null =>
  status === 'cancelled' ? (sellerId ?? null) : null

/** Rows that the recording of a sale reads. */
export function offlineSaleNeeds(sale: OfflineSaleUpload): AnyRef[] {
  const { offline_id, sellerId, customer, items, payments } = sale
  const canceller = cancellerOf(sale)
  return [
    ownCompany,
    ...(sellerId === undefined ? [] : [userById(sellerId), limitUsesByUser(sellerId)]),
    ...(canceller === null ? [] : [cashDrawerByUser(canceller)]),
    ...namedSessionRefs(sale.cash_session_id),
    offlineSaleById(offline_id),
    ...(customer?.id ? [customerById(customer.id)] : []),
    ...(customer?.offline_id ? [offlineRecord('customer', customer.offline_id)] : []),
    ...items.map(({ product_id, offline_item_id }) =>
      offline_item_id === undefined ? itemById(product_id) : offlineRecord('item', offline_item_id),
    ),
    ...payments.map((payment) => paymentTypeById(payment.payment_type_id)),
    ...proofRefs(payments.map(toPaymentDetails)),
  ]
}

/**
 * Rows of a new sale that few sales need: returns that waited for it, other sales with its payments, store credit, and
 * the records that tills have made.
 */
export function newSaleRefs(rows: Rows, upload: OfflineSaleUpload): AnyRef[] {
  const { offline_id, payments, customer, items } = withKnownRecords(rows, upload)
  return [
    ...awaitedRefs(rows, offline_id),
    ...sameProofRefs(rows, payments.map(toPaymentDetails)),
    ...(customer?.offline_id && customer.id ? [customerById(customer.id)] : []),
    ...(customer?.id && creditIn(rows, upload) > 0 ? [creditByCustomer(customer.id)] : []),
    ...payments.flatMap(({ voucher }) => (voucher ? [voucherByCode(voucher)] : [])),
    ...items.flatMap((item) => (item.offline_item_id === undefined ? [] : [itemById(item.product_id)])),
  ]
}

/** The sale with the ids of the products and the customer that it names by identifiers of tills; 0 and null if unknown. */
function withKnownRecords<S extends OfflineSale>(rows: Rows, sale: S): S {
  const { customer, items } = sale
  const isNamed =
    customer?.offline_id !== undefined || items.some(({ offline_item_id }) => offline_item_id !== undefined)
  if (!isNamed) return sale
  return {
    ...sale,
    customer: customer?.offline_id
      ? { ...customer, id: rows.get(offlineRecord('customer', customer.offline_id))?.record_id ?? null }
      : customer,
    items: items.map((item) =>
      item.offline_item_id === undefined
        ? item
        : { ...item, product_id: rows.get(offlineRecord('item', item.offline_item_id))?.record_id ?? 0 },
    ),
  }
}

/** Store credit of its customer that a sale was paid with, in cents. */
const creditIn = (rows: Rows, { payments, status }: OfflineSale): number =>
  status === 'cancelled'
    ? 0
    : payments
        .filter(({ payment_type_id, voucher }) => {
          return !voucher && rows.get(paymentTypeById(payment_type_id))?.doc.kind === 'exchange_credit'
        })
        .reduce((sum, { amount }) => sum + toCents(amount), 0)

/** Credit that the sale takes from its customer, and the warning that there was less, or no customer. */
function creditTaken(rows: Rows, sale: OfflineSale, customer: Completed['customer']) {
  const cents = creditIn(rows, sale)
  if (cents === 0) return { credit: null, warnings: [] }
  const balance = customer ? getCreditBalance(rows, customer.id) : '0.00'
  const amount = fromCents(cents)
  const exceeded = warning('credit_exceeded', { found: amount, expected: balance })
  return {
    credit: customer && { customer_id: customer.id, amount },
    warnings: cents > toBigCents(balance) ? [exceeded] : [],
  }
}

/** A discount above the limit of the till's user is a fact with a warning. */
function discountWarnings(
  rows: Rows,
  { sellerId, created_at, status }: OfflineSaleUpload,
  given: Pick<Completed, 'items' | 'discount'>,
  now: string,
): OfflineSaleWarning[] {
  const cents = discountOfSale(given)
  if (sellerId === undefined || cents === 0 || status === 'cancelled') return []
  if (mayGive(rows, sellerId, 'give_discount', { cents, before: 0 }, dayOfSale(rows, created_at, now))) return []
  const limit = limitOfUser(rows, sellerId, 'give_discount')
  return [warning('discount_limit_exceeded', { found: fromCents(cents), expected: fromCents(limit) })]
}

/** A cancelled sale keeps no money. */
const usedWarnings = (rows: Rows, { status }: OfflineSale, { payments }: Pick<Completed, 'payments'>) =>
  status === 'cancelled'
    ? []
    : findUsed(rows, payments).map(({ found, sale_id }) => ({ ...warning('payment_already_used', { found }), sale_id }))

/** Decides an upload with a known identifier: the same sale, its cancellation, or a different sale. */
function decideRepeated(
  rows: Rows,
  upload: OfflineSaleUpload,
  known: Readonly<OfflineSaleRow>,
  context: DecisionContext,
): Decision {
  const { now, permit } = context
  const sale = withKnownRecords(rows, upload)
  const unchanged = accept('unchanged', `sale/${known.sale_id}`, [], [], { warnings: known.warnings })
  if (isRepeated(sale, known)) return unchanged
  const recorded = existing(rows, saleById(known.sale_id))
  const isOfOther = fingerprintSale({ ...sale, status: 'completed' }) !== known.fingerprint
  if (isOfOther && !isSameSale(sale, known, recorded.doc))
    return refuse('duplicate_resource', { field: 'offline_id', conflicting_id: known.sale_id })
  if (sale.status === 'completed' || recorded.status === 'cancelled') return unchanged
  const { cash_session_id: sessionId, cancelled_at: at } = sale
  const granted = recorded.seller_id === (sale.sellerId ?? null) ? {} : permit('cancel_all')
  if (isRefusal(granted)) return granted
  if (at !== null && isImpossibleAtTill(at, now)) return refuseField('cancelled_at', IMPOSSIBLE_AT_TILL)
  const events = cancellation(rows, recorded, { reason: null, sessionId, userId: cancellerOf(sale), at }, granted)
  if (isRefusal(events)) return events
  const ofSession = sessionId === recorded.cash_session_id ? [] : sessionWarnings(rows, sale)
  const warnings = [...known.warnings, ...ofSession, ...cancellationWarnings(at, sale.created_at, now)]
  return accept('updated', unchanged.subject, events, [], { warnings })
}

/** A cancelled sale stays cancelled: a delayed upload of the completed one changes nothing. */
const isRepeated = (sale: OfflineSale, { fingerprint }: Readonly<OfflineSaleRow>): boolean =>
  fingerprintSale(sale) === fingerprint || fingerprintSale({ ...sale, status: 'cancelled' }) === fingerprint

const BY_PERSON: readonly OfflineSaleWarning['code'][] = [
  'recorded_as_is',
  'recorded_corrected',
  'recorded_from_receipt',
]

/**
 * Whether a differing upload is the recorded sale. A cancelled one may omit its payments; one recorded by a person
 * matches any upload with the same time.
 */
function isSameSale(
  { status, created_at, items, total }: OfflineSale,
  { warnings }: Readonly<OfflineSaleRow>,
  recorded: SaleObject,
): boolean {
  if (Date.parse(created_at) !== Date.parse(recorded.sold_at)) return false
  if (warnings.some(({ code }) => BY_PERSON.includes(code))) return true
  const sold = recorded.items.map((item) => [item.catalog_item_id, item.quantity, item.unit_price])
  // What a till names by an identifier of its own may have become known since.
  const sent = items.map(({ product_id, offline_item_id, quantity, price }, line) => {
    return [offline_item_id === undefined ? product_id : recorded.items[line]?.catalog_item_id, quantity, price]
  })
  return status === 'cancelled' && total === recorded.total && JSON.stringify(sent) === JSON.stringify(sold)
}

/** How a sale is recorded. */
interface Recording {
  /** Fingerprint of the till's upload, which detects a repeated one. */
  readonly fingerprint: string
  /** Warning with the reason of the person who records it, if any. */
  readonly remark?: OfflineSaleWarning
  /** Accepts contradictory amounts, and unknown products and payment types. */
  readonly asIs?: boolean
}

/** Records a new sale. */
export function recordSale(
  rows: Rows,
  upload: OfflineSaleUpload,
  { now, nextId }: Pick<DecisionContext, 'now' | 'nextId'>,
  { fingerprint, remark, asIs = false }: Recording,
): Decision {
  const sale = withKnownRecords(rows, upload)
  for (const field of ['created_at', 'cancelled_at'] as const) {
    const at = sale[field]
    if (at !== null && isImpossibleAtTill(at, now)) return refuseField(field, IMPOSSIBLE_AT_TILL)
  }
  const isCash = ({ payment_type_id }: { readonly payment_type_id: number }) =>
    rows.get(paymentTypeById(payment_type_id))?.doc.is_cash ?? false
  const sums = addUp(sale, isCash)
  const parts = { ...partsOf(rows, sale, sums), change: sums.change }
  const fields = fieldErrors(rows, sale, parts, sums, asIs)
  if (Object.keys(fields).length > 0) return refuse('validation_failed', { fields, unknown_fields: [] })
  const customer = partyOf(rows, sale)
  const { credit, warnings: ofCredit } = creditTaken(rows, sale, customer)
  const ofDiscount = discountWarnings(rows, sale, { items: parts.items, discount: sums.discount }, now)
  const warnings = [
    ...(remark ? [remark] : []),
    ...sums.warnings,
    ...findWarnings(rows, sale, parts, now),
    ...usedWarnings(rows, sale, parts),
    ...ofCredit,
    ...voucherWarnings(rows, sale, parts, now),
    ...ofDiscount,
    ...(sale.noted ?? []).map((code) => warning(code)),
  ]
  const id = nextId('sale')
  const { offline_id, created_at: sold_at, total, cash_session_id } = sale
  const { discount, amount_received } = sums
  const seller = sale.sellerId === undefined ? null : userSeller(rows, sale.sellerId)
  const data = {
    id,
    offline_id,
    fingerprint,
    sold_at,
    customer,
    ...(seller && { seller }),
    ...(cash_session_id !== null && { cash_session_id }),
    ...parts,
    discount,
    total,
    amount_received,
    warnings,
    ...testMark(rows),
  }
  const by = { sellerId: sale.sellerId ?? null }
  if (sale.status === 'cancelled') {
    const returned = awaitedEvents(rows, { ...data, ...by, isCancelled: true, received: 0, receivables: [] }, now)
    const cancelled = event('OfflineSaleCancelled', { ...data, ...drawerOfCancelled(rows, sale) })
    return accept('created', cancelled.subject, [cancelled, ...returned], [], { warnings })
  }
  const receivables = receivablesOf(rows, data, () => nextId('receivable'))
  const accounts = receivables.map(({ data }) => data as { id: number; amount: string })
  const receivable_ids = accounts.map(({ id }) => id)
  const received = receivedBy(rows, data.payments, customer)
  const taken = { received: fromCents(received), receivable_ids, ...(credit && { credit }) }
  const completed = event('OfflineSaleCompleted', { ...data, ...taken })
  const returned = awaitedEvents(rows, { ...data, ...by, isCancelled: false, received, receivables: accounts }, now)
  return accept('created', completed.subject, [completed, ...receivables, ...returned], [], { warnings })
}

/** Drawer that gave the money of a sale back which comes as cancelled, as if it had come before. */
function drawerOfCancelled(rows: Rows, { cancelled_at: at, cash_session_id: own, sellerId }: OfflineSaleUpload) {
  if (at === null) return {}
  const cancelling = { sessionId: null, userId: sellerId ?? null, at }
  const timed = findTimedDrawer(rows, { cash_session_id: own, seller_id: sellerId ?? null }, cancelling)
  return {
    cancelled_at: at,
    ...(own !== null && { cancel_session_id: sessionOfRefund(rows, own, cancelling) }),
    ...timed,
  }
}

/** Money that a sale takes, in cents: of store credit what its customer and its vouchers have. */
function receivedBy(rows: Rows, payments: Completed['payments'], customer: Completed['customer']): number {
  const sums = { money: 0, credit: 0 }
  for (const { payment_type_id, status, net, surcharge, voucher } of payments) {
    const type = rows.get(paymentTypeById(payment_type_id))?.doc
    if (status === 'pending' || !isMoney(type) || voucher !== undefined) continue
    sums[type?.kind === 'exchange_credit' ? 'credit' : 'money'] += toCents(net) + toCents(surcharge)
  }
  // More than a number counts exactly is more than any sale.
  const balance = customer && sums.credit > 0 ? Number(toBigCents(getCreditBalance(rows, customer.id))) : 0
  const ofVouchers = voucherParts(payments.filter(({ status }) => status === 'completed')).reduce(
    (sum, { voucher, amount }) => sum + availableOf(toCents(amount), voucherBalance(rows, voucher)),
    0,
  )
  return sums.money + Math.min(sums.credit, Math.max(balance, 0)) + ofVouchers
}

const availableOf = (cents: number, balance: string): number =>
  Math.min(cents, Math.max(Number(toBigCents(balance)), 0))

type Parts = Pick<Completed, 'items' | 'payments' | 'change'>

/** Items and payments of the sale. Those not in the catalog are named by number. */
function partsOf(rows: Rows, sale: OfflineSale, sums: OfflineSaleSums): Pick<Parts, 'items' | 'payments'> {
  const items = sale.items.map(({ product_id, quantity, price, name }, position) => {
    const product = rows.get(itemById(product_id))
    const sold = product ? toSoldItem(rows, product) : unknownItem(product_id, name)
    const { total = '0.00', discount = '0.00' } = sums.lines[position] ?? {}
    const moves_stock = sold.moves_stock && sale.status === 'completed'
    return { ...sold, quantity, unit_price: price, total, moves_stock, discount }
  })
  const tendered = sale.payments.map(({ payment_type_id, amount, status, voucher, ...given }) => {
    const type = rows.get(paymentTypeById(payment_type_id))?.doc ?? unknownType(payment_type_id)
    // Refused on cash, unless a person records the sale as it is.
    const details = type.is_cash ? {} : toPaymentDetails(given)
    const isCredit = 'kind' in type && type.kind === 'exchange_credit'
    return { type, amount, details, status, ...(isCredit && voucher && { voucher }) }
  })
  const change = Math.max(sumTendered(tendered) - toCents(sale.total), 0)
  const payments = takePayments(tendered, change, () => dateInZone(sale.created_at, getTimezone(rows)))
  return { items, payments }
}

const unknownItem = (id: number, name = `Produto ${id}`) => ({
  catalog_item_id: null,
  external_id: null,
  description: name,
  moves_stock: false,
})

const unknownType = (id: number) => ({ id, name: `Forma de pagamento ${id}`, fee_percentage: '0.00', is_cash: false })

/** Errors that prevent the recording, by field. */
function fieldErrors(
  rows: Rows,
  sale: OfflineSale,
  { items }: Parts,
  { wrong, isTooLarge }: OfflineSaleSums,
  asIs: boolean,
): Record<string, string[]> {
  const fields: Record<string, string[]> = asIs && !isTooLarge ? {} : { ...wrong }
  for (const { id, thousandths } of stockAfter(rows, items)) {
    if (thousandths >= -MAX_THOUSANDTHS) continue
    const position = sale.items.findIndex((item) => item.product_id === id)
    fields[`items[${position}].quantity`] = ['o estoque resultante é negativo demais']
  }
  if (asIs) return fields
  for (const [position, { product_id, offline_item_id }] of sale.items.entries()) {
    if (!offline_item_id && !rows.get(itemById(product_id)))
      fields[`items[${position}].product_id`] = ['produto não encontrado']
  }
  for (const [position, { payment_type_id, ...given }] of sale.payments.entries()) {
    const type = rows.get(paymentTypeById(payment_type_id))?.doc
    const wrong = type?.is_cash ? detailRefusedOnCash(given) : null
    if (wrong) fields[`payments[${position}].${wrong.field}`] = [wrong.message]
    if (!type) fields[`payments[${position}].payment_type_id`] = ['forma de pagamento não encontrada']
  }
  return fields
}

/** Name of a deleted customer, as deletion erases the name (PERSON-10). */
const DELETED_CUSTOMER = 'Cliente excluído'

/** Customer of the sale. A customer deleted since is kept. */
function partyOf(rows: Rows, { customer }: OfflineSale): NonNullable<Completed['customer']> | null {
  const known = customer?.id ? rows.get(customerById(customer.id)) : null
  if (!known) return null
  const isDeleted = known.deleted_at !== null && known.doc.forgotten_at === null
  const name = isDeleted ? DELETED_CUSTOMER : known.doc.name
  return { id: known.id, external_id: known.external_id, name }
}

/** Receivables of credit payments, due a number of days after the day of the sale in the company's time zone. */
function receivablesOf(
  rows: Rows,
  { id, sold_at, customer, payments }: Pick<Completed, 'id' | 'sold_at' | 'customer' | 'payments'>,
  nextId: () => number,
): NewEvent[] {
  const day = dateInZone(sold_at, getTimezone(rows))
  return payments.flatMap(({ payment_type_id, amount }) => {
    const type = rows.get(paymentTypeById(payment_type_id))?.doc
    // A payment of 0.00 makes no receivable.
    if (type?.kind !== 'credit_account' || toCents(amount) === 0) return []
    const receivable = event('ReceivableCreated', {
      id: nextId(),
      external_id: null,
      origin: 'sale',
      description: `Venda ${id} a prazo: ${type.name}`,
      customer_id: customer?.id ?? null,
      customer_external_id: customer?.external_id ?? null,
      customer_name: customer?.name ?? null,
      amount,
      due_date: addDays(day, type.due_days),
      sale_id: id,
    })
    return [receivable]
  })
}

/** Refused till sale that a person records, unchanged or corrected. */
export interface RefusedSaleRecording {
  readonly sale: OfflineSaleUpload
  /** Fingerprint of the till's upload, which detects a repeated one. */
  readonly fingerprint: string
  readonly how: 'recorded_as_is' | 'recorded_corrected'
  /** Reason in the person's words. */
  readonly reason: string
}

/**
 * Records a sale that was refused on upload. Recorded as is, amounts may contradict each other and unknown
 * products are named by number. A corrected sale is checked like an upload.
 */
export const recordRefusedSale = command<RefusedSaleRecording>({
  permission: 'sell',
  needs: ({ sale }) => offlineSaleNeeds(sale),
  needsMore: (rows, { sale }) => newSaleRefs(rows, sale),
  needsLast: (rows, { sale }) => awaitedDetailRefs(rows, sale.offline_id),
  decide(rows, { sale, fingerprint, how, reason }, context) {
    const known = rows.get(offlineSaleById(sale.offline_id))
    if (known?.fingerprint === fingerprint) return accept('unchanged', `sale/${known.sale_id}`)
    if (known) return refuse('duplicate_resource', { field: 'offline_id', conflicting_id: known.sale_id })
    const remark = warning(how, { found: reason })
    return recordSale(rows, sale, context, { fingerprint, remark, asIs: how === 'recorded_as_is' })
  },
})
