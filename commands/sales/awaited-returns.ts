import { toCents } from '#domain/money.ts'
import { fromThousandths, toThousandths } from '#domain/quantity.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/envelope.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { companyRef, timezoneOf } from '#projections/companies.ts'
import { customerById } from '#projections/people.ts'
import { awaitedReturnsOf } from '#projections/returns.ts'
import { returnPaymentEvents } from '../finance/account-payments.ts'
import { receivableSide } from '../finance/receivables.ts'
import { creditedCustomer, returnFact } from './offline-return-fact.ts'
import { type ReturnableSale, returnableUpload } from './returned-goods.ts'

/** Rows of the returns that wait for a till's sale; none is read while the company has none. */
export const awaitedRefs = (rows: Rows, saleOfflineId: string): AnyRef[] =>
  companyRef(rows).awaited_returns === 0 ? [] : [awaitedReturnsOf(saleOfflineId)]

/** Rows of the customers that these returns give store credit to. */
export const awaitedCustomerRefs = (rows: Rows, saleOfflineId: string): AnyRef[] =>
  awaitedReturns(rows, saleOfflineId).flatMap(({ customer_id }) =>
    customer_id === null ? [] : [customerById(customer_id)],
  )

const awaitedReturns = (rows: Rows, saleOfflineId: string): readonly DataOf<'ReturnAwaited'>[] =>
  companyRef(rows).awaited_returns === 0 ? [] : (rows.get(awaitedReturnsOf(saleOfflineId))?.returns ?? [])

type Completed = DataOf<'OfflineSaleCompleted'>

/** A sale that is being recorded, with the accounts that it creates. */
interface NewSale extends Pick<Completed, 'id' | 'offline_id' | 'customer' | 'items' | 'discount'> {
  readonly isCancelled: boolean
  readonly receivables: readonly { readonly id: number; readonly amount: string }[]
}

/** Events of the returns that waited for a sale, in the order of their uploads (UP-101). */
export function awaitedEvents(rows: Rows, sale: NewSale, now: string): NewEvent[] {
  const awaited = awaitedReturns(rows, sale.offline_id)
  if (awaited.length === 0) return []
  let goods = returnableUpload(sale)
  const open = sale.receivables.map(({ id, amount }) => ({ id, open_cents: toCents(amount) }))
  const events: NewEvent[] = []
  for (const { fingerprint, ...sent } of awaited) {
    const items = knownLines(sent.items, goods.lines.length - 1)
    const customer_id = sale.customer?.id ?? null
    const returned = returnFact(rows, {
      ...{ id: sent.id, now, sent: { ...sent, items }, fingerprint, goods },
      sale: { id: sale.id, customer_id, isCancelled: sale.isCancelled },
      creditedTo: creditedCustomer(rows, sent.customer_id ?? customer_id, sent.store_credit),
      owed: open.reduce((sum, { open_cents }) => sum + open_cents, 0),
    })
    goods = lessReturned(goods, returned.items)
    events.push(event('SaleReturned', returned))
    let left = toCents(sent.on_credit)
    for (const account of open) {
      const cents = Math.min(account.open_cents, left)
      if (cents === 0) continue
      events.push(...returnPaymentEvents(receivableSide, account, { cents, at: sent.returned_at }, timezoneOf(rows)))
      account.open_cents -= cents
      left -= cents
    }
  }
  return events
}

type AwaitedItems = DataOf<'ReturnAwaited'>['items']

/**
 * Items of a return by line of the sale. The lines were not known when it was uploaded: what the sale lacks is of its
 * last line, and goes back to stock only if all of that line does.
 */
function knownLines(items: AwaitedItems, last: number): AwaitedItems {
  const lines = new Map<number, AwaitedItems[number]>()
  for (const item of items) {
    const line = Math.min(item.line, last)
    const before = lines.get(line)
    const thousandths = toThousandths(item.quantity) + (before ? toThousandths(before.quantity) : 0)
    const restock = item.restock && before?.restock !== false
    lines.set(line, { line, quantity: fromThousandths(thousandths), restock })
  }
  return [...lines.values()]
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
