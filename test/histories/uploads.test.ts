import { expect } from 'chai'
import fc from 'fast-check'
import { fromCents, lineTotal, toCents } from '#domain/money.ts'
import type { Json } from '../support/api.ts'
import { openCounter, upload } from '../support/offline-sales.ts'
import { explore, TITLE } from '../support/random.ts'
import { openTill } from '../support/till.ts'
import { OWN_DATABASE, useApi } from '../support/use-api.ts'

/** A sale as a till may compute it; payments and cash amounts are generated independently. */
interface Sold {
  readonly lines: readonly { readonly thousandths: number; readonly price: number; readonly off: number }[]
  readonly discount: number
  readonly card: number
  readonly given: number
  readonly isNet: boolean
  readonly says: 'all' | 'cash' | 'nothing'
  readonly isCancelled: boolean
}

const line = fc.record({
  thousandths: fc.integer({ min: 1, max: 9_999 }),
  price: fc.integer({ min: 1, max: 2_000 }),
  // Discounts, rounding and truncation differences, or none.
  off: fc.constantFrom(-150, -2, -1, 0, 0, 1),
})
const sold: fc.Arbitrary<Sold> = fc.record({
  lines: fc.array(line, { minLength: 1, maxLength: 4 }),
  discount: fc.constantFrom(-1, 0, 0, 1, 250),
  card: fc.constantFrom(0, 0, 300, 1_000_000),
  given: fc.nat({ max: 5_000 }),
  isNet: fc.boolean(),
  says: fc.constantFrom('all', 'cash', 'nothing'),
  isCancelled: fc.constantFrom(false, false, false, true),
})

/** Sales by number, each sent several times, unchanged or cancelled meanwhile, in portions. */
const history = fc.record({
  sales: fc.array(sold, { minLength: 1, maxLength: 8 }),
  sent: fc.array(fc.record({ sale: fc.nat({ max: 7 }), isCancelled: fc.constantFrom(false, false, true) }), {
    maxLength: 12,
  }),
  portion: fc.integer({ min: 1, max: 6 }),
})

interface Ways {
  readonly product: number
  readonly cash: number
  readonly card: number
}

function saleOf(offline_id: string, sold: Sold, { product, cash, card }: Ways) {
  const items = sold.lines.map(({ thousandths, price, off }) => ({
    product_id: product,
    quantity: thousandths / 1000,
    price: price / 100,
    total: Math.max(lineTotal(thousandths, price) + off, 0) / 100,
  }))
  const sum = items.reduce((cents, { total }) => cents + Math.round(total * 100), 0)
  const total = Math.max(sum - sold.discount, 0)
  const byCard = Math.min(sold.card, total)
  const inCash = total - byCard
  const change = inCash > 0 ? sold.given : 0
  const received = { all: total + change, cash: inCash + change, nothing: null }[sold.says]
  return {
    offline_id,
    status: sold.isCancelled ? 'cancelled' : 'completed',
    created_at: '2026-03-10T14:00:00.000Z',
    items,
    total: total / 100,
    payments: [
      { payment_type_id: card, amount: byCard / 100, status: 'completed' },
      { payment_type_id: cash, amount: (inCash + (sold.isNet ? 0 : change)) / 100, status: 'completed' },
    ],
    amount_received: received === null ? null : received / 100,
    change: change / 100,
  }
}

describe(`any sequence of valid uploads (${TITLE})`, () => {
  const api = useApi(OWN_DATABASE)

  const sumOf = (amounts: readonly string[]) => amounts.reduce((cents, amount) => cents + toCents(amount), 0)

  /** Replays a history in a new company, and compares all views with the uploads. */
  async function play({ sales, sent, portion }: typeof history extends fc.Arbitrary<infer H> ? H : never) {
    const company = await api.company()
    const till = await openTill(api.url, company)
    const { product, cash, stock } = await openCounter(company)
    const ways = { product, cash, card: await company.paymentType('card') }
    const first = sales.map((each, n) => saleOf(`s${n}`, each, ways))
    const again = sent.map(({ sale, isCancelled }) => {
      const known = first[sale % first.length] as (typeof first)[number]
      return isCancelled ? { ...known, status: 'cancelled' } : known
    })
    const all = [...first, ...again]
    for (let start = 0; start < all.length; start += portion) {
      const { results } = await upload(till, all.slice(start, start + portion))
      // By the random upload: new, cancelled by its repetition, or repeated unchanged.
      for (const { status, errors } of results)
        expect(status, JSON.stringify(errors)).to.be.oneOf(['created', 'cancelled', 'duplicate'])
    }
    const shown: Json[] = (await company.get('/sales?limit=200')).body.data
    expect(shown.map(({ offline_id }) => offline_id)).to.deep.equal(first.map(({ offline_id }) => offline_id))
    for (const [n, sale] of shown.entries()) {
      const told = first[n] as (typeof first)[number]
      expect(sale.total).to.equal(told.total.toFixed(2))
      expect(sale.change).to.equal(told.change.toFixed(2))
      expect(sumOf(sale.items.map(({ total }: Json) => total))).to.equal(toCents(sale.subtotal))
      expect(toCents(sale.subtotal) - toCents(sale.discount) + toCents(sale.delivery_fee)).to.equal(toCents(sale.total))
      const charged = sale.payments.flatMap(({ net, surcharge }: Json) => [net, surcharge])
      expect(sumOf(charged)).to.equal(toCents(sale.total))
      const isCancelled =
        told.status === 'cancelled' ||
        again.some((each) => each.offline_id === told.offline_id && each.status === 'cancelled')
      expect(sale.status).to.equal(isCancelled ? 'cancelled' : 'completed')
    }
    const [done, cancelled] = ['completed', 'cancelled'].map((status) => shown.filter((sale) => sale.status === status))
    const totalOf = (some: readonly Json[] = []) => fromCents(sumOf(some.map(({ total }) => total)))
    const { body } = await company.get('/finance/summary?from=2026-03-10&to=2026-03-10')
    expect(body.data.sales).to.deep.include({
      count: done?.length,
      gross: totalOf(done),
      cancelled: { count: cancelled?.length, amount: totalOf(cancelled) },
    })
    const taken = (done ?? [])
      .flatMap(({ items }) => items)
      .reduce((sum, { quantity }) => sum + Math.round(quantity * 1000), 0)
    expect(await stock()).to.equal(((100_000 - taken) / 1000).toFixed(3))
  }

  it('is recorded once, adds up, and gives equal tables and ledger [UP-4, UP-7, UP-16, UP-21]', async () => {
    await explore(fc.asyncProperty(history, play), 12)
    const { parity } = await api.core.rebuild()
    expect(parity?.filter(({ equal }) => !equal)).to.deep.equal([])
  })
})
