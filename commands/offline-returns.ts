import { fromCents, toCents, toThousandths } from '#domain/money.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { Rows } from '#ledger/working-set.ts'
import { testMark } from '#projections/companies.ts'
import { customerById } from '#projections/people.ts'
import type { OfflineReturnWarning } from '#projections/returns.ts'
import { userById } from '#projections/users.ts'
import { findOlder, isFarAhead } from './cash-commands.ts'
import type { MoneyDue } from './money-back.ts'
import { isOfOther } from './named-drawers.ts'
import { type ReturnableSale, type ReturnLine, shareMoneyBack, shareWorth, stockOfReturn } from './returned-goods.ts'

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

export const toReturnLines = ({ items }: Pick<Awaited, 'items'>): ReturnLine[] =>
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
