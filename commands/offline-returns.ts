import * as z from 'zod'
import { fromCents, toBigCents, toCents, toThousandths } from '#domain/money.ts'
import { refuse } from '#domain/refusals.ts'
import { boundedText } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import type { PaymentKind } from '#events/company-events.ts'
import { accept, command, type Grant, isRefusal, type NewEvent, type Permit } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { cashSessionByName } from '#projections/cash-sessions.ts'
import { companyRef, getTimezone, testMark } from '#projections/companies.ts'
import { receivableById, standingPayments } from '#projections/finance.ts'
import { customerById } from '#projections/people.ts'
import {
  type AwaitedReturn,
  awaitedReturnsBySale,
  hasExpired,
  type OfflineReturnWarning,
  type ReturnRow,
  returnById,
} from '#projections/returns.ts'
import { type SaleRow, saleById } from '#projections/sales.ts'
import { getStock, stockById } from '#projections/stock.ts'
import { creditByCustomer, getCreditBalance } from '#projections/store-credit.ts'
import { paymentTypeById } from '#projections/stores.ts'
import { limitUsesByUser, permitOfUser, userById } from '#projections/users.ts'
import { voucherBalance, voucherByCode, voucherParts } from '#projections/vouchers.ts'
import { findOlder, isFarAhead } from './cash-commands.ts'
import { isOfOther, namedSessionRefs } from './named-drawers.ts'
import { returnPaymentEvents } from './pay-accounts.ts'
import { receivableRefs, receivableSide } from './receivables-payables.ts'
import {
  dueBack,
  type MoneyDue,
  type ReturnableSale,
  type ReturnLine,
  returnableUpload,
  type SaleMoney,
  shareMoneyBack,
  shareWorth,
  stockOfReturn,
  sumCents,
} from './returned-goods.ts'

type Awaited = DataOf<'ReturnAwaited'>

/** A return of a till that may be recorded, and its sale. */
interface ReturnFacts {
  readonly id: number
  readonly now: string
  readonly sent: Omit<Awaited, 'id'>
  readonly goods: ReturnableSale
  readonly sale: { readonly id: number; readonly customer_id: number | null }
  /** Customer who gets the store credit; null without credit, or if there is no such customer. */
  readonly creditedTo: number | null
  readonly due: MoneyDue
  /** Whether it waited for its sale, or was refused before. */
  readonly isSettled: boolean
  readonly isHistory?: true | undefined
  /** Deviations in the till's chain. */
  readonly noted?: readonly OfflineReturnWarning['code'][] | undefined
  /** Till that has signed it. */
  readonly tillId?: number | undefined
}

export const sumOfParts = (amounts: readonly { readonly amount: string }[]): number =>
  amounts.reduce((sum, { amount }) => sum + toCents(amount), 0)

/**
 * A return as the till made it. The amounts of its items sum to what the till gave back: where that is less than is due,
 * it is shared in proportion.
 */
export function returnFact(rows: Rows, facts: ReturnFacts): DataOf<'SaleReturned'> {
  const { id, sent, goods, sale, creditedTo, isSettled } = facts
  const lines = toReturnLines(sent)
  const total = sumOfParts(sent.refunds)
  const { items, delivery_fee } = shareMoneyBack(goods, lines, [...shareWorth(goods, lines), 0], total)
  const warnings = warningsOf(rows, facts, total)
  return {
    id,
    sale_id: sale.id,
    external_id: null,
    reason: sent.reason,
    returned_at: sent.returned_at,
    items,
    delivery_fee,
    total: fromCents(total),
    refunds: sent.refunds,
    stock: stockOfReturn(rows, goods, items),
    ...(creditedTo !== null && { credit: { customer_id: creditedTo, amount: sent.store_credit } }),
    cash_session_id: sent.cash_session_id,
    offline_id: sent.offline_id,
    fingerprint: sent.fingerprint,
    ...(isSettled && { returned_by: sent.user_id }),
    ...(isSettled && sent.sale_offline_id !== null && { sale_offline_id: sent.sale_offline_id }),
    ...(warnings.length > 0 && { warnings }),
    ...testMark(rows),
  }
}

const toReturnLines = ({ items }: Pick<Awaited, 'items'>): ReturnLine[] =>
  items.map(({ quantity, ...item }) => ({ ...item, thousandths: toThousandths(quantity) }))

/** The customer, if there is store credit to give, and one to give it to: neither deleted nor forgotten. */
export function findCreditedCustomer(rows: Rows, customerId: number | null, storeCredit: string): number | null {
  if (customerId === null || toCents(storeCredit) === 0) return null
  const known = rows.get(customerById(customerId))
  return known && known.deleted_at === null && known.doc.forgotten_at === null ? customerId : null
}

const warning = (
  code: OfflineReturnWarning['code'],
  given: Partial<OfflineReturnWarning> = {},
): OfflineReturnWarning => ({ code, line: null, found: null, expected: null, ...given })

function warningsOf(
  rows: Rows,
  { sent, sale, due, now, creditedTo, isHistory, noted = [], tillId }: ReturnFacts,
  total: number,
): OfflineReturnWarning[] {
  const lacksCustomer = toCents(sent.store_credit) > 0 && creditedTo === null
  const named = sent.customer_id ?? sale.customer_id
  const [lowered, owed] = [sent.on_credit, fromCents(due.on_credit)]
  const { returned_at } = sent
  const created = rows.get(userById(sent.user_id))?.doc.created_at
  const older = isHistory ? null : findOlder(returned_at, now, [created])
  return [
    ...(total === due.total
      ? []
      : [warning('refund_differs', { found: fromCents(total), expected: fromCents(due.total) })]),
    ...(lowered === owed ? [] : [warning('receivable_open', { found: lowered, expected: owed })]),
    ...(lacksCustomer ? [warning('credit_without_customer', { found: named === null ? null : String(named) })] : []),
    ...(isOfOther(rows, sent.cash_session_id, sent.user_id, tillId)
      ? [warning('session_of_other', { found: sent.cash_session_id })]
      : []),
    ...(isFarAhead(returned_at, now) ? [warning('returned_at_in_future', { found: returned_at, expected: now })] : []),
    ...(older === null ? [] : [warning('at_old', { found: returned_at, expected: older })]),
    ...noted.map((code) => warning(code)),
  ]
}

export type ReturnRefusal = DataOf<'ReturnRefused'>['code']

/** A sale as a return of a till is held against it. */
interface JudgedSale {
  readonly sellerId: number | null
  readonly isCancelled: boolean
  readonly goods: ReturnableSale
  readonly money: SaleMoney
  /** What was returned of it before, in cents; and in the same decision, which the user's day does not count yet. */
  readonly before: number
  readonly together: number
}

type Sent = Pick<DataOf<'ReturnAwaited'>, 'items' | 'refunds' | 'on_credit'>

/** Whether a user may return goods of a sale: one of the user's own, without the permission to see all. */
export const mayReturn = ({ sellerId }: Pick<JudgedSale, 'sellerId'>, userId: number, permit: Permit): boolean =>
  sellerId === userId || !isRefusal(permit('see_all_sales'))

/**
 * What is due for a return of a till, or why it is refused: money and goods that a till gives are facts as far as they
 * were the buyer's. Lines that the sale lacks have nothing left.
 */
export function judgeReturn(
  sent: Sent,
  { isCancelled, goods, money, before, together }: JudgedSale,
  permit: Permit,
): { readonly due: MoneyDue; readonly granted: Grant } | ReturnRefusal {
  if (isCancelled) return 'sale_cancelled'
  const lines = toReturnLines(sent)
  for (const { line, thousandths } of lines) {
    const of = goods.lines[line]
    if (!of || thousandths > of.sold.thousandths - of.returned.thousandths) return 'already_returned'
  }
  const [total, onCredit] = [sumOfParts(sent.refunds), toCents(sent.on_credit)]
  const due = dueBack(money, sumCents(shareWorth(goods, lines)))
  if (onCredit > due.on_credit || total - onCredit > due.total - due.on_credit) return 'payment_mismatch'
  const granted = permit('return_goods', { cents: total + together, before })
  return isRefusal(granted) ? 'permission_required' : { due, granted }
}

/** Body of POST /returns/{id}/reverse. */
export const ReverseReturnBody = z.strictObject({ reason: boundedText(500) })
type ReverseReturnInput = z.infer<typeof ReverseReturnBody> & { readonly id: number }

/** Undoes a return that was recorded by mistake: the goods are sold again, and nothing was given back. */
export const reverseReturn = command<ReverseReturnInput>({
  needs: ({ id }) => [returnById(id)],
  needsMore(rows, { id }) {
    const known = rows.get(returnById(id))
    if (!known) return []
    const { credit_customer_id: customerId, stock, refunds } = known.doc
    return [
      saleById(known.sale_id),
      ...(customerId === null ? [] : [creditByCustomer(customerId)]),
      ...stock.map(({ catalog_item_id }) => stockById(catalog_item_id)),
      ...refunds.map(({ payment_type_id }) => paymentTypeById(payment_type_id)),
      ...voucherParts(refunds).map(({ voucher }) => voucherByCode(voucher)),
      ...namedSessionRefs(known.cash_session_id),
    ]
  },
  needsLast(rows, { id }) {
    const known = rows.get(returnById(id))
    const sale = known && rows.get(saleById(known.sale_id))
    return sale ? receivableRefs(sale) : []
  },
  decide(rows, { id, reason }, { permit }) {
    const known = rows.get(returnById(id))
    const sale = known && rows.get(saleById(known.sale_id))
    if (!known || !sale) return refuse('not_found')
    const granted = permit('cancel_all')
    if (isRefusal(granted)) return granted
    const { doc } = known
    if (doc.reversed_at !== null) return accept('unchanged', `return/${id}`)
    if (doc.fiscal_document && doc.fiscal_document.status !== 'cancelled') return refuse('fiscal_document_issued')
    const credit = creditGiven(rows, known)
    if (credit && toBigCents(getCreditBalance(rows, credit.customer_id)) < toBigCents(credit.amount))
      return refuse('credit_spent')
    const vouchers = voucherParts(doc.refunds)
    const isSpent = vouchers.some(
      ({ voucher, amount }) => toBigCents(voucherBalance(rows, voucher)) < toBigCents(amount),
    )
    if (isSpent) return refuse('credit_spent')
    const reversed = event('ReturnReversed', {
      ...{ id, sale_id: sale.id, reason },
      items: doc.items.map(({ line, quantity, amount }) => ({ line, quantity, amount })),
      delivery_fee: doc.delivery_fee,
      total: doc.total,
      stock: doc.stock.filter(({ catalog_item_id }) => getStock(rows, catalog_item_id) !== null),
      ...(credit && { credit }),
      ...(vouchers.length > 0 && { vouchers }),
      is_in_drawer: isInDrawer(rows, known),
      ...granted,
    })
    return accept('updated', reversed.subject, [reversed, ...raised(rows, known, sale, reason)])
  },
})

const ofKind = (rows: Rows, { doc }: Readonly<ReturnRow>, kind: PaymentKind): number =>
  sumOfParts(
    doc.refunds.filter(({ payment_type_id, voucher }) => {
      return voucher === undefined && rows.get(paymentTypeById(payment_type_id))?.doc.kind === kind
    }),
  )

/** Store credit that the return gave to a customer. */
function creditGiven(rows: Rows, known: Readonly<ReturnRow>): { customer_id: number; amount: string } | null {
  const customer_id = known.doc.credit_customer_id
  return customer_id === null ? null : { customer_id, amount: fromCents(ofKind(rows, known, 'exchange_credit')) }
}

/** A closed drawer was counted without the money: who has it brings it in by a movement. */
function isInDrawer(rows: Rows, { cash_session_id: name }: Readonly<ReturnRow>): boolean {
  if (name === null) return false
  return (rows.get(cashSessionByName(name))?.closed_at ?? null) === null
}

/** Events that reverse the payments by which the return lowered accounts: those right after it, up to their sum. */
function raised(rows: Rows, known: Readonly<ReturnRow>, sale: Readonly<SaleRow>, reason: string): NewEvent[] {
  let left = ofKind(rows, known, 'credit_account')
  const payments = sale.receivable_ids.flatMap((id) => {
    const account = rows.get(receivableById(id))
    return account && account.deleted_at === null
      ? standingPayments(account.doc).map((payment) => ({ account: id, payment }))
      : []
  })
  return payments
    .filter(({ payment }) => payment.kind === 'return' && payment.id > known.recorded_revision)
    .sort((a, b) => a.payment.id - b.payment.id)
    .flatMap(({ account, payment }) => {
      const cents = toCents(payment.amount)
      if (cents > left) return []
      left -= cents
      return [receivableSide.paymentReversed(account, { payment_id: payment.id, reason })]
    })
}

/** Rows of the returns that wait for a till's sale; none is read while the company has none. */
export const awaitedRefs = (rows: Rows, saleOfflineId: string): AnyRef[] =>
  companyRef(rows).awaited_returns === 0 ? [] : [awaitedReturnsBySale(saleOfflineId)]

/** Rows of those who uploaded these returns, of the customers that they give store credit to, and of their sessions. */
export const awaitedDetailRefs = (rows: Rows, saleOfflineId: string): AnyRef[] =>
  awaitedReturns(rows, saleOfflineId).flatMap(({ user_id, customer_id, cash_session_id }) => [
    ...[userById(user_id), limitUsesByUser(user_id)],
    ...(customer_id === null ? [] : [customerById(customer_id)]),
    ...namedSessionRefs(cash_session_id),
  ])

const awaitedReturns = (rows: Rows, saleOfflineId: string): readonly AwaitedReturn[] =>
  companyRef(rows).awaited_returns === 0 ? [] : (rows.get(awaitedReturnsBySale(saleOfflineId))?.returns ?? [])

type Completed = DataOf<'OfflineSaleCompleted'>

/** A sale that is being recorded, with the accounts that it creates. */
interface NewSale extends Pick<Completed, 'id' | 'offline_id' | 'customer' | 'items' | 'discount'> {
  readonly isCancelled: boolean
  readonly sellerId: number | null
  /** Money that it took, in cents. */
  readonly received: number
  readonly receivables: readonly { readonly id: number; readonly amount: string }[]
}

/**
 * Events of the returns that waited for a sale, in the order of their uploads: whose sale it is, and what is due, is
 * known only now. The rights are those of who uploaded them.
 */
export function awaitedEvents(rows: Rows, sale: NewSale, now: string): NewEvent[] {
  let goods = returnableUpload(sale)
  const money = { received: sale.received, given_back: 0 }
  const open = sale.receivables.map(({ id, amount }) => ({ id, open_cents: toCents(amount) }))
  const events: NewEvent[] = []
  const of = { sellerId: sale.sellerId, isCancelled: sale.isCancelled, before: 0 }
  let together = 0
  for (const { uploaded_at, ...sent } of awaitedReturns(rows, sale.offline_id)) {
    const owed = open.reduce((sum, { open_cents }) => sum + open_cents, 0)
    const judged = judge(rows, sent, uploaded_at, { ...of, goods, money: { ...money, open: owed }, together }, now)
    if (typeof judged === 'string') {
      events.push(event('ReturnRefused', { ...sent, code: judged }))
      continue
    }
    const customer_id = sale.customer?.id ?? null
    const creditedTo = findCreditedCustomer(rows, sent.customer_id ?? customer_id, sent.store_credit)
    const sold = { id: sale.id, customer_id }
    const { due } = judged
    const returned = returnFact(rows, { id: sent.id, now, sent, goods, sale: sold, creditedTo, due, isSettled: true })
    goods = lessReturned(goods, returned.items)
    events.push(event('SaleReturned', returned))
    together += toCents(returned.total)
    let left = toCents(sent.on_credit)
    money.given_back += toCents(returned.total) - left
    for (const account of open) {
      const cents = Math.min(account.open_cents, left)
      if (cents === 0) continue
      events.push(...returnPaymentEvents(receivableSide, account, { cents, at: sent.returned_at }, getTimezone(rows)))
      account.open_cents -= cents
      left -= cents
    }
  }
  return events
}

function judge(rows: Rows, sent: DataOf<'ReturnAwaited'>, uploadedAt: string, sale: JudgedSale, now: string) {
  const permit = permitOfUser(rows, sent.user_id, now)
  if (!mayReturn(sale, sent.user_id, permit)) return 'sale_unknown'
  return hasExpired(uploadedAt, now) ? 'expired' : judgeReturn(sent, sale, permit)
}

/** The sale after a return of some of its goods. */
const lessReturned = (goods: ReturnableSale, items: DataOf<'SaleReturned'>['items']): ReturnableSale => ({
  ...goods,
  lines: goods.lines.map((line, place) => {
    const back = items.filter((item) => item.line === place)
    return {
      ...line,
      returned: {
        thousandths: back.reduce((sum, { quantity }) => sum + toThousandths(quantity), line.returned.thousandths),
        cents: back.reduce((sum, { amount }) => sum + toCents(amount), line.returned.cents),
      },
    }
  }),
})
