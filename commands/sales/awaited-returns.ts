import { toCents } from '#domain/money.ts'
import { toThousandths } from '#domain/quantity.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/envelope.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { companyRef, timezoneOf } from '#projections/companies.ts'
import { awaitedReturnsOf } from '#projections/returns.ts'
import { returnPaymentEvents } from '../finance/account-payments.ts'
import { receivableSide } from '../finance/receivables.ts'
import { returnFact } from './offline-return-fact.ts'
import { type ReturnableSale, returnableUpload } from './returned-goods.ts'

/** Rows of the returns that wait for a till's sale; none is read while the company has none. */
export const awaitedRefs = (rows: Rows, saleOfflineId: string): AnyRef[] =>
  companyRef(rows).awaited_returns === 0 ? [] : [awaitedReturnsOf(saleOfflineId)]

type Completed = DataOf<'OfflineSaleCompleted'>

/** A sale that is being recorded, with the accounts that it creates. */
interface NewSale extends Pick<Completed, 'id' | 'offline_id' | 'customer' | 'items' | 'discount'> {
  readonly isCancelled: boolean
  readonly receivables: readonly { readonly id: number; readonly amount: string }[]
}

/** Events of the returns that waited for a sale, in the order of their uploads (UP-101). */
export function awaitedEvents(rows: Rows, sale: NewSale, now: string): NewEvent[] {
  if (companyRef(rows).awaited_returns === 0) return []
  let goods = returnableUpload(sale)
  const open = sale.receivables.map(({ id, amount }) => ({ id, open_cents: toCents(amount) }))
  const events: NewEvent[] = []
  for (const { fingerprint, ...sent } of rows.get(awaitedReturnsOf(sale.offline_id))?.returns ?? []) {
    // The lines were not known when it was uploaded; one that the sale lacks is of its last line.
    const items = sent.items.map((item) => ({ ...item, line: Math.min(item.line, goods.lines.length - 1) }))
    const returned = returnFact(rows, {
      ...{ id: sent.id, now, sent: { ...sent, items }, fingerprint, goods },
      sale: { id: sale.id, customer_id: sale.customer?.id ?? null, isCancelled: sale.isCancelled },
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
