import { toCents, toThousandths } from '#domain/money.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { companyRef, getTimezone } from '#projections/companies.ts'
import { customerById } from '#projections/people.ts'
import { type AwaitedReturn, awaitedReturnsBySale, hasExpired } from '#projections/returns.ts'
import { limitUsesByUser, permitOfUser, userById } from '#projections/users.ts'
import { namedSessionRefs } from './named-drawers.ts'
import { findCreditedCustomer, returnFact } from './offline-returns.ts'
import { returnPaymentEvents } from './pay-accounts.ts'
import { receivableSide } from './receivables-payables.ts'
import { type ReturnableSale, returnableUpload } from './returned-goods.ts'
import { type JudgedSale, judgeReturn, mayReturn } from './reverse-return.ts'

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
