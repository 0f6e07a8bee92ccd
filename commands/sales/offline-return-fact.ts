import { fromCents, toCents } from '#domain/money.ts'
import { fromThousandths, toThousandths } from '#domain/quantity.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { Rows } from '#ledger/working-set.ts'
import { testMarkOf } from '#projections/companies.ts'
import { customerById } from '#projections/people.ts'
import type { OfflineReturnWarning } from '#projections/returns.ts'
import { isFarAhead } from '../till-clock.ts'
import { type ReturnableSale, shareMoneyBack, stockOfReturn, sumCents, worthOf } from './returned-goods.ts'

type Awaited = DataOf<'ReturnAwaited'>

/** A return of a till, and its sale. */
interface ReturnFacts {
  readonly id: number
  readonly now: string
  readonly sent: Omit<Awaited, 'id' | 'sale_offline_id' | 'fingerprint'> & {
    /** Of a return that waited for its sale. */
    readonly sale_offline_id?: string | null
  }
  readonly fingerprint: string
  readonly goods: ReturnableSale
  readonly sale: { readonly id: number; readonly customer_id: number | null; readonly isCancelled: boolean }
  /** Customer who gets the store credit; null without credit, or if there is no such customer. */
  readonly creditedTo: number | null
  /** Cents still owed for the sale. */
  readonly owed: number
}

export const sumOfParts = (amounts: readonly { readonly amount: string }[]): number =>
  amounts.reduce((sum, { amount }) => sum + toCents(amount), 0)

/**
 * A return as the till made it. The amounts of its items sum to what the till gave back: where that is not what is due, it
 * is shared in proportion.
 */
export function returnFact(rows: Rows, facts: ReturnFacts): DataOf<'SaleReturned'> {
  const { id, sent, fingerprint, goods, sale, creditedTo } = facts
  const lines = sent.items.map(({ quantity, ...item }) => ({ ...item, thousandths: toThousandths(quantity) }))
  const worth = worthOf(goods, lines)
  const total = sumOfParts(sent.refunds)
  const { items, delivery_fee } = shareMoneyBack(goods, lines, [...worth, 0], total)
  const warnings = warningsOf(facts, sumCents(worth), total)
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
    // The cancellation put the goods back into stock.
    stock: sale.isCancelled ? [] : stockOfReturn(rows, goods, items),
    ...(creditedTo !== null && { credit: { customer_id: creditedTo, amount: sent.store_credit } }),
    cash_session_id: sent.cash_session_id,
    offline_id: sent.offline_id,
    fingerprint,
    ...(typeof sent.sale_offline_id === 'string' && { sale_offline_id: sent.sale_offline_id }),
    ...(warnings.length > 0 && { warnings }),
    ...testMarkOf(rows),
  }
}

/** The customer, if there is store credit to give, and one to give it to: neither deleted nor forgotten (CREDIT-1). */
export function creditedCustomer(rows: Rows, customerId: number | null, storeCredit: string): number | null {
  if (customerId === null || toCents(storeCredit) === 0) return null
  const known = rows.get(customerById(customerId))
  return known && known.deleted_at === null && known.doc.forgotten_at === null ? customerId : null
}

const warning = (
  code: OfflineReturnWarning['code'],
  given: Partial<OfflineReturnWarning> = {},
): OfflineReturnWarning => ({ code, line: null, found: null, expected: null, ...given })

function warningsOf(
  { sent, goods, sale, owed, now, creditedTo }: ReturnFacts,
  due: number,
  total: number,
): OfflineReturnWarning[] {
  const more = sent.items.flatMap(({ line, quantity }) => {
    const { sold, returned } = goods.lines[line] ?? {}
    const left = Math.max((sold?.thousandths ?? 0) - (returned?.thousandths ?? 0), 0)
    if (toThousandths(quantity) <= left) return []
    const found = fromThousandths(toThousandths(quantity))
    return [warning('returned_more', { line, found, expected: fromThousandths(left) })]
  })
  const [found, expected] = [sent.on_credit, fromCents(Math.min(owed, total))]
  const lacksCustomer = toCents(sent.store_credit) > 0 && creditedTo === null
  const named = sent.customer_id ?? sale.customer_id
  return [
    ...(sale.isCancelled ? [warning('sale_cancelled')] : []),
    ...more,
    ...(total === due ? [] : [warning('refund_differs', { found: fromCents(total), expected: fromCents(due) })]),
    ...(found === expected ? [] : [warning('receivable_open', { found, expected })]),
    ...(lacksCustomer ? [warning('credit_without_customer', { found: named === null ? null : String(named) })] : []),
    ...(isFarAhead(sent.returned_at, now)
      ? [warning('returned_at_in_future', { found: sent.returned_at, expected: now })]
      : []),
  ]
}
