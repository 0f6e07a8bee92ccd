import { expect } from 'chai'
import fc from 'fast-check'
import { addDays, dateInZone } from '#domain/instant.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { event } from '#events/catalogue.ts'
import { salesByDay, salesToday } from '#queries/sales/totals.ts'
import { useDatabase } from '../../support/database.ts'
import { saleCompleted } from '../../support/facts.ts'
import { COMPANY_ID } from '../../support/given.ts'
import { explore } from '../../support/random.ts'
import { OTHER_COMPANY_ID, openShop, type Shop } from '../../support/shop.ts'
import { emptyLedgers } from '../../support/tamper.ts'

const SAO_PAULO = 'America/Sao_Paulo'

describe('sales on the start page', () => {
  const database = useDatabase()
  let shop: Shop
  let id = 0

  beforeEach(async () => {
    shop = await openShop(database.url)
  })
  afterEach(async () => {
    await emptyLedgers(shop.core.pool)
    await shop.core.pool.query('delete from ops.ledgers; delete from read.companies; delete from read.sales')
    await shop.core.close()
  })

  async function sell(sold_at: string, total: string, { cancelled = false, companyId = COMPANY_ID } = {}) {
    const sale = saleCompleted({ id: ++id, external_id: null, sold_at, total })
    const gone = event('SaleCancelled', { id, reason: null, restock: [] })
    await shop.record(cancelled ? [sale, gone] : [sale], companyId)
  }
  const today = (day: string, timezone = SAO_PAULO) => salesToday(shop.core.pool, COMPANY_ID, { timezone, today: day })
  const byDay = (day: string, days = 30, timezone = SAO_PAULO) =>
    salesByDay(shop.core.pool, COMPANY_ID, { timezone, today: day }, days)

  it('of today are counted and added up, cancelled ones apart, with the average to the cent [PANEL-19]', async () => {
    await sell('2026-03-10T12:00:00.000Z', '10.00')
    await sell('2026-03-10T13:00:00.000Z', '0.01')
    await sell('2026-03-10T14:00:00.000Z', '20.00')
    await sell('2026-03-10T14:00:00.000Z', '99.00', { cancelled: true })
    await sell('2026-03-10T14:00:00.000Z', '500.00', { companyId: OTHER_COMPANY_ID })
    expect(await today('2026-03-10')).to.deep.equal({
      count: 3,
      gross: '30.01',
      average: '10.00',
      cancelled: { count: 1, amount: '99.00' },
      revision: 5,
    })
  })

  it('have an average that is rounded half up', async () => {
    await sell('2026-03-10T12:00:00.000Z', '0.01')
    await sell('2026-03-10T12:00:00.000Z', '0.02')
    expect(await today('2026-03-10')).to.include({ gross: '0.03', average: '0.02' })
  })

  it('are none, without an average, where nothing was sold, or all of it was cancelled', async () => {
    const none = { count: 0, gross: '0.00', average: null, cancelled: { count: 0, amount: '0.00' }, revision: 0 }
    expect(await today('2026-03-10')).to.deep.equal(none)
    await sell('2026-03-10T12:00:00.000Z', '5.00', { cancelled: true })
    const cancelled = { count: 1, amount: '5.00' }
    expect(await today('2026-03-10')).to.deep.equal({ ...none, cancelled, revision: 2 })
  })

  it('are of the company’s own day, from its midnight to the next [PANEL-19]', async () => {
    await sell('2026-03-10T02:59:59.999Z', '1.00')
    await sell('2026-03-10T03:00:00.000Z', '2.00')
    await sell('2026-03-11T02:59:59.999Z', '4.00')
    await sell('2026-03-11T03:00:00.000Z', '8.00')
    expect(await today('2026-03-10')).to.include({ count: 2, gross: '6.00' })
    expect((await byDay('2026-03-11', 3)).map(({ gross }) => gross)).to.deep.equal(['1.00', '6.00', '8.00'])
    expect(await today('2026-03-10', 'UTC')).to.include({ count: 2, gross: '3.00' })
  })

  it('of the last days are told for each, also where nothing was sold, with today as the last', async () => {
    await sell('2026-02-09T15:00:00.000Z', '1.00')
    await sell('2026-02-10T15:00:00.000Z', '2.00')
    await sell('2026-03-11T15:00:00.000Z', '3.00')
    await sell('2026-03-11T15:00:00.000Z', '4.00', { cancelled: true })
    await sell('2026-03-11T15:00:00.000Z', '5.00', { companyId: OTHER_COMPANY_ID })
    await sell('2026-03-12T15:00:00.000Z', '6.00')
    const days = await byDay('2026-03-11')
    expect(days).to.have.length(30)
    expect(days[0]).to.deep.equal({ day: '2026-02-10', count: 1, gross: '2.00' })
    expect(days.at(-1)).to.deep.equal({ day: '2026-03-11', count: 1, gross: '3.00' })
    for (const [n, { day, count, gross }] of days.entries()) {
      expect(day).to.equal(addDays('2026-02-10', n))
      if (n > 0 && n < 29) expect([count, gross]).to.deep.equal([0, '0.00'])
    }
  })

  it('fall on days that are longer, shorter, or not there at all, where clocks are changed', async () => {
    // São Paulo had no midnight on 2018-11-04, and 2018-02-17 had 25 hours; Apia had no 2011-12-30.
    await sell('2018-11-04T02:59:59.999Z', '1.00')
    await sell('2018-11-04T03:00:00.000Z', '2.00')
    expect((await byDay('2018-11-04', 2)).map(({ gross }) => gross)).to.deep.equal(['1.00', '2.00'])
    await sell('2018-02-18T02:30:00.000Z', '4.00')
    expect((await byDay('2018-02-18', 2)).map(({ gross }) => gross)).to.deep.equal(['4.00', '0.00'])
    await sell('2011-12-30T09:59:59.999Z', '8.00')
    await sell('2011-12-30T10:00:00.000Z', '16.00')
    const apia = await byDay('2011-12-31', 3, 'Pacific/Apia')
    expect(apia.map(({ gross }) => gross)).to.deep.equal(['8.00', '0.00', '16.00'])
  })

  it('equal what one adds up by the days of the zone', async () => {
    const zones = [SAO_PAULO, 'America/New_York', 'Pacific/Kiritimati', 'Asia/Kathmandu', 'America/Noronha']
    const sale = fc.record({
      hours: fc.integer({ min: 0, max: 24 * 6 }),
      ms: fc.constantFrom(-1, 0, 1, 1_800_000, 2_700_000),
      cents: fc.integer({ min: 1, max: 9_999_999 }),
      cancelled: fc.boolean(),
    })
    await explore(
      fc.asyncProperty(fc.array(sale, { maxLength: 25 }), async (sales) => {
        await shop.core.pool.query('delete from read.sales')
        const sold = sales.map(({ hours, ms, cents, cancelled }) => ({
          sold_at: new Date(Date.parse('2026-03-06T00:00:00.000Z') + hours * 3_600_000 + ms).toISOString(),
          total: fromCents(cents),
          cancelled,
        }))
        for (const { sold_at, total, cancelled } of sold) await sell(sold_at, total, { cancelled })
        for (const timezone of zones) {
          const on = (day: string) =>
            sold.filter((each) => !each.cancelled && dateInZone(each.sold_at, timezone) === day)
          for (const { day, count, gross } of await byDay('2026-03-12', 8, timezone)) {
            const expected = on(day)
            expect(count, `${day} ${timezone}`).to.equal(expected.length)
            expect(gross).to.equal(fromCents(expected.reduce((sum, { total }) => sum + toCents(total), 0)))
            expect(await today(day, timezone)).to.include({ count, gross })
          }
        }
      }),
      12,
    )
  })
})
