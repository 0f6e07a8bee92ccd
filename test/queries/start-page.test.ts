import { expect } from 'chai'
import fc from 'fast-check'
import { addDays, dateInZone, startOfDay } from '#domain/instant.ts'
import { fromCents } from '#domain/money.ts'
import { event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/command.ts'
import { refreshAllSalesRollups, refreshSalesRollups } from '#projections/sales-rollups.ts'
import { openAccounts } from '#queries/finance-summary.ts'
import { lowStock } from '#queries/item-queries.ts'
import { fullReader } from '#queries/reader.ts'
import { salesSums } from '#queries/sales-sums.ts'
import { useDatabase } from '../support/database.ts'
import {
  itemCreated,
  offlineSaleCompleted,
  payableCreated,
  paymentTypeCreated,
  receivableCreated,
  receivablePaid,
  returnedLine,
  saleCompleted,
  saleReturned,
} from '../support/facts.ts'
import { COMPANY_ID } from '../support/given.ts'
import { explore } from '../support/random.ts'
import { OTHER_COMPANY_ID, openTwoCompanies, type TwoCompanies } from '../support/two-companies.ts'

const NONE = { count: 0, amount: '0.00' }

describe('other parts of the start page', () => {
  const database = useDatabase()
  let shop: TwoCompanies

  before(async () => {
    shop = await openTwoCompanies(database.url)
  })
  after(() => shop.core.close())

  describe('open accounts', () => {
    const calendar = (today: string) => ({ timezone: 'America/Sao_Paulo', today })
    const open = (today: string) => openAccounts(fullReader(shop.core.pool, COMPANY_ID), calendar(today))

    it('are zero before any exist', async () => {
      const none = { pending: NONE, overdue: NONE, due_soon: NONE }
      expect(await open('2026-03-10')).to.deep.equal({ receivables: none, payables: none })
    })

    it('are the pending ones, overdue from the day after the due date, without settled and deleted ones', async () => {
      const due = (due_date: string, amount: string) => ({ due_date, amount })
      await shop.record([
        receivableCreated({ id: 1, ...due('2026-03-09', '10.00') }),
        receivableCreated({ id: 2, ...due('2026-03-10', '0.05') }),
        receivableCreated({ id: 3, ...due('2026-03-01', '7.00') }),
        receivableCreated({ id: 4, ...due('2026-03-01', '9.00') }),
        payableCreated({ id: 1, ...due('2027-01-01', '9999999999.99') }),
        payableCreated({ id: 2, ...due('2027-01-01', '9999999999.99') }),
      ])
      await shop.record([event('ReceivableDeleted', { id: 3 }), receivablePaid(4, { amount: '9.00' })])
      await shop.record([receivableCreated({ id: 5, ...due('2026-03-01', '77.00') })], OTHER_COMPANY_ID)
      const payables = { pending: { count: 2, amount: '19999999999.98' }, overdue: NONE, due_soon: NONE }
      const pending = { count: 2, amount: '10.05' }
      expect(await open('2026-03-09')).to.deep.equal({
        receivables: { pending, overdue: NONE, due_soon: pending },
        payables,
      })
      const overdue = { count: 1, amount: '10.00' }
      expect(await open('2026-03-10')).to.deep.equal({
        receivables: { pending, overdue, due_soon: { count: 1, amount: '0.05' } },
        payables,
      })
      expect(await open('2026-03-11')).to.deep.equal({
        receivables: { pending, overdue: pending, due_soon: NONE },
        payables,
      })
    })
  })

  describe('low stock', () => {
    const product = (id: number, stock: string | null, name = `Produto ${id}`, rest: object = {}): NewEvent =>
      itemCreated({ id, name, stock, ...rest })
    const short = (limit = 20) => lowStock(fullReader(shop.core.pool, COMPANY_ID), limit)

    it('is empty for an empty catalog', async () => {
      expect(await short()).to.deep.equal({ out: 0, low: 0, items: [] })
    })

    it('lists items at or below their minimum, or out of stock, lowest stock first', async () => {
      await shop.record([
        product(1, '5.001', 'Açúcar', { min_stock: '5.000' }),
        product(2, '5.000', 'Zinco', { unit: 'KG', min_stock: '5.000' }),
        product(3, '0.000', 'Banana'),
        product(4, '-2.500'),
        product(5, null),
        product(6, null, 'Entrega', { type: 'service' }),
        product(7, '0.001', 'Produto 7', { min_stock: '0.001' }),
        product(11, '0.001'),
        product(8, '0.000', 'Abacate'),
        product(9, '-9.000'),
      ])
      await shop.record([event('CatalogItemDeactivated', { id: 9 })])
      await shop.record([product(10, '0.000')], OTHER_COMPANY_ID)
      const { out, low, items } = await short()
      expect([out, low]).to.deep.equal([3, 5])
      expect(items.map(({ id }) => id)).to.deep.equal([4, 8, 3, 7, 2])
      expect(items[0]).to.have.all.keys('id', 'name', 'unit', 'stock')
      expect(items.at(-1)).to.deep.equal({ id: 2, name: 'Zinco', unit: 'KG', stock: '5.000' })
    })

    it('counts all, those without stock among those that run out, and lists up to the requested number', async () => {
      const { out, low, items } = await short(2)
      expect([out, low]).to.deep.equal([3, 5])
      expect(items.map(({ id }) => id)).to.deep.equal([4, 8])
    })
  })
})

const SAO_PAULO = 'America/Sao_Paulo'

describe('sums of sales on the start page', () => {
  const database = useDatabase()
  let shop: TwoCompanies
  let id = 0

  before(async () => {
    shop = await openTwoCompanies(database.url)
    await shop.record([
      paymentTypeCreated({ id: 1, name: 'Dinheiro', kind: 'cash' }),
      paymentTypeCreated({ id: 2, name: 'Pix', kind: 'pix' }),
      itemCreated({ id: 10, name: 'Café', cost: '3.33', stock: null }),
      itemCreated({ id: 11, name: 'Chá', cost: null, stock: null }),
    ])
  })
  after(() => shop.core.close())
  beforeEach(async () => {
    const { pool } = shop.core
    await pool.query('delete from sales; delete from sales_sums; delete from rollup_states')
    await zone(SAO_PAULO)
  })

  const zone = (timezone: string) => shop.core.pool.query('update companies set timezone = $1', [timezone])
  const grow = () => refreshSalesRollups(shop.core.pool, COMPANY_ID)
  const line = (catalog_item_id: number | null, quantity: string, total: string) => ({
    catalog_item_id,
    external_id: null,
    description: 'Bolo',
    quantity,
    unit_price: total,
    total,
    moves_stock: false,
  })
  const paid = (payment_type_id: number, amount: string) => ({
    payment_type_id,
    name: '?',
    amount,
    surcharge: '0.00',
    net: amount,
  })

  async function sell(
    sold_at: string,
    total: string,
    more: Parameters<typeof saleCompleted>[0] & { to?: number } = {},
  ) {
    const { to = COMPANY_ID, ...fields } = more
    const payments = [paid(1, total)]
    const items = [line(null, '1.000', total)]
    await shop.record([saleCompleted({ id: ++id, sold_at, total, items, payments, ...fields })], to)
    return id
  }
  const cancel = (sale: number) => shop.record([event('SaleCancelled', { id: sale, reason: null, restock: [] })])

  async function byDay(last: string, days: number, timezone = SAO_PAULO) {
    const bounds = Array.from({ length: days + 1 }, (_, n) => startOfDay(addDays(last, n + 1 - days), timezone))
    const before = { from: '2000-01-01T00:00:00.000Z', to: bounds[0]!, bounds: [] }
    return salesSums(fullReader(shop.core.pool, COMPANY_ID), { bounds, before })
  }
  const centsOf = async (...asked: Parameters<typeof byDay>) =>
    (await byDay(...asked)).bars.map(({ cents }) => Number(cents))
  /** Result of `projections verify` for the rollup. */
  async function differences() {
    const { readModel } = await import('#projections/index.ts')
    const grown = readModel.projections.find((each) => each.grown)?.grown
    const { rows } = await shop.core.pool.query(grown?.differences('read') ?? '', [COMPANY_ID, 20])
    return rows
  }

  it('take sales at both ends of the calendar, before and after a cancellation [PANEL-121]', async () => {
    const ends = ['1900-01-01T00:00:00.000Z', '9999-12-31T23:30:00.000Z', '9999-12-31T23:59:59.999Z']
    await grow()
    for (const at of ends) await sell(at, '3.00')
    const sold = [await sell('2026-03-10T14:00:00.000Z', '7.00'), await sell(ends[1] as string, '7.00')]
    await grow()
    expect(await centsOf('2026-03-10', 1)).to.deep.equal([700])
    for (const sale of sold) await cancel(sale)
    await grow()
    expect(await centsOf('2026-03-10', 1)).to.deep.equal([0])
    expect(await differences()).to.deep.equal([])
  })

  it('sums items, margin, payments, channel and seller [PANEL-121] [PANEL-123] [PANEL-420]', async () => {
    const at = '2026-03-10T14:10:00.000Z'
    await sell(at, '20.00', {
      items: [line(10, '1.500', '20.00')],
      payments: [paid(1, '5.00'), { ...paid(1, '50.00'), net: '15.00' }],
      change: '35.00',
    })
    await sell(at, '7.00', {
      items: [line(10, '1.000', '4.00'), line(11, '1.000', '3.00')],
      payments: [paid(2, '7.00')],
    })
    await cancel(await sell(at, '99.00'))
    await sell(at, '500.00', { to: OTHER_COMPANY_ID })
    await grow()
    const { bars, ...rest } = await byDay('2026-03-10', 1)
    // Each line here is of one unit, or weighed.
    expect(bars).to.deep.equal([{ count: 2, cents: 2700n, units: 3n, known_cents: 2000n, cost_cents: 500n }])
    const none = { count: 0, amount: '0.00' }
    expect(rest).to.deep.equal({
      sold: { count: 3, amount: '126.00' },
      cancelled: { count: 1, amount: '99.00' },
      returned: none,
      net: '27.00',
      ways: [
        {
          key: '1',
          name: 'Dinheiro',
          is_cash: true,
          sold: { count: 2, amount: '119.00' },
          cancelled: { count: 1, amount: '99.00' },
          returned: none,
          net: '20.00',
        },
        {
          key: '2',
          name: 'Pix',
          is_cash: false,
          sold: { count: 1, amount: '7.00' },
          cancelled: none,
          returned: none,
          net: '7.00',
        },
      ],
      before: { count: 0, cents: 0n, units: 0n, known_cents: 0n, cost_cents: 0n },
      returned_costs: { units: 0n, cents: 0n, known_cents: 0n, cost_cents: 0n },
      returned_costs_before: { units: 0n, cents: 0n, known_cents: 0n, cost_cents: 0n },
      bars_before: [],
      items: [
        { key: '10', name: 'Café', unit: null, count: 2, cents: 2400n, quantity: 2500n },
        { key: '11', name: 'Chá', unit: null, count: 1, cents: 300n, quantity: 1000n },
      ],
      origins: [{ key: 'api', name: null, count: 2, cents: 2700n }],
      sellers: [{ key: 'none', name: null, count: 2, cents: 2700n }],
      first_sold_at: '2026-03-10T14:10:00.000Z',
      is_complete: true,
    })
  })

  it('take returns from channel, seller and margin, and keep the cost of goods that are lost [PANEL-123]', async () => {
    const sale = await sell('2026-03-10T14:10:00.000Z', '20.00', { items: [line(10, '2.000', '20.00')] })
    const back = (revision: number, restock: boolean) =>
      saleReturned({
        ...{ id: revision, sale_id: sale, returned_at: '2026-03-11T14:10:00.000Z', total: '5.00' },
        items: [{ ...returnedLine, catalog_item_id: 10, quantity: '0.500', amount: '5.00', restock }],
        refunds: [{ payment_type_id: 1, name: '?', amount: '5.00' }],
      })
    await shop.record([back(501, true), back(502, false)])
    await grow()
    const { returned_costs, returned_costs_before, origins, sellers, items } = await byDay('2026-03-11', 1)
    expect(returned_costs).to.deep.equal({ units: 2n, cents: 1000n, known_cents: 1000n, cost_cents: 167n })
    expect(returned_costs_before).to.include({ cents: 0n })
    for (const figures of [origins, sellers, items]) expect(figures.map(({ cents }) => cents)).to.deep.equal([-1000n])
  })

  it('takes goods of an order back from item and margin, its money once [RETURN-785]', async () => {
    const sale = await sell('2026-03-10T14:10:00.000Z', '20.00', { items: [line(10, '2.000', '20.00')] })
    const refunded = event('SaleRefunded', {
      ...{ id: sale, order_id: 1, provider_payment_id: 'p1', amount: '8.00', refunded: '8.00' },
    })
    const goods = { ...returnedLine, catalog_item_id: 10, amount: '10.00' }
    await shop.record([refunded, event('SaleRestocked', { id: sale, order_id: 1, items: [goods] })])
    await grow()
    const figures = await byDay(dateInZone(new Date().toISOString(), SAO_PAULO), 2)
    expect(figures.returned_costs).to.deep.equal({ units: 1n, cents: 800n, known_cents: 800n, cost_cents: 333n })
    expect(figures.returned).to.deep.equal({ count: 1, amount: '8.00' })
    expect(figures.items).to.have.length(1)
    expect(figures.items[0]).to.include({ key: '10', cents: -1000n, quantity: -1000n })
    for (const named of [figures.origins, figures.sellers])
      expect(named.map(({ cents }) => cents)).to.deep.equal([-800n])
    await cancel(sale)
    await grow()
    const { items, returned, returned_costs } = await byDay(dateInZone(new Date().toISOString(), SAO_PAULO), 2)
    expect([items, returned.count, returned_costs.units]).to.deep.equal([[], 0, 0n])
  })

  for (const [what, lines, discount, cents] of [
    ['three equal lines', [[10, '30.00']], '3.00', { '10': 2700 }],
    [
      'a rest of one cent',
      [
        [10, '10.00'],
        [11, '10.00'],
        [null, '10.00'],
      ],
      '1.00',
      { '10': 966, '11': 967 },
    ],
    [
      'uneven lines',
      [
        [10, '10.00'],
        [11, '9.99'],
        [10, '0.01'],
      ],
      '1.01',
      { '10': 950, '11': 949 },
    ],
  ] as const)
    it(`deduct the discount of a whole sale from its items, to the cent: ${what} [SALE-30] [PANEL-123]`, async () => {
      const sum = lines.reduce((cents, [, total]) => cents + Math.round(Number(total) * 100), 0)
      const total = fromCents(sum - Math.round(Number(discount) * 100))
      const payment = { ...paid(1, total), status: 'completed' as const }
      const items = lines.map(([item, amount]) => ({ ...line(item, '1.000', amount), discount: '0.00' }))
      const sold_at = '2026-03-10T14:10:00.000Z'
      const offline_id = `pdv-${++id}`
      await shop.record([
        offlineSaleCompleted({ id, offline_id, sold_at, items, discount, total, payments: [payment] }),
      ])
      await sell(sold_at, '12.00', { items: [line(11, '1.000', '7.00')], subtotal: '7.00', delivery_fee: '5.00' })
      await grow()
      const { bars, items: found } = await byDay('2026-03-10', 1)
      const adHoc = lines.some(([item]) => item === null) ? 967 : 0
      expect(Object.fromEntries(found.map(({ key, cents }) => [key, Number(cents)]))).to.deep.equal({
        ...cents,
        '11': ('11' in cents ? cents['11'] : 0) + 700,
      })
      const products = found.reduce((before, { cents }) => before + Number(cents), adHoc)
      expect(products + 500).to.equal(Number(bars[0]?.cents))
      expect(await differences()).to.deep.equal([])
    })

  it('sums past sales, and compares to the time of day [PANEL-121]', async () => {
    const [first] = [await sell('2026-03-10T14:59:59.999Z', '1.00'), await sell('2026-03-10T15:00:00.000Z', '2.00')]
    await refreshAllSalesRollups(shop.core.pool, { onError: (error) => expect.fail(String(error)) })
    await sell('2026-03-10T14:30:00.000Z', '4.00')
    expect(await byDay('2026-03-10', 1)).to.deep.include({ is_complete: false })
    await cancel(first!)
    await grow()
    const ask = (to: string) =>
      salesSums(fullReader(shop.core.pool, COMPANY_ID), {
        bounds: ['2026-03-11T03:00:00.000Z', '2026-03-12T03:00:00.000Z'],
        before: {
          from: '2026-03-10T03:00:00.000Z',
          to,
          bounds: ['2026-03-10T03:00:00.000Z', '2026-03-10T15:00:00.000Z', '2026-03-11T03:00:00.000Z'],
        },
      })
    expect((await ask('2026-03-10T14:30:00.000Z')).before).to.include({ count: 0, cents: 0n, units: 0n })
    expect((await ask('2026-03-10T14:30:00.001Z')).before).to.include({ count: 1, cents: 400n, units: 1n })
    const { before, bars_before } = await ask('2026-03-10T15:00:00.001Z')
    expect(before).to.include({ count: 2, cents: 600n, units: 2n })
    expect(bars_before).to.deep.equal([400n, 200n])
    expect(await centsOf('2026-03-10', 1)).to.deep.equal([600])
    expect((await byDay('2026-03-10', 1)).cancelled).to.deep.equal({ count: 1, amount: '1.00' })
  })

  it('are rebuilt after times of the ledger went back, and after the company was erased [PANEL-121]', async () => {
    await sell('2026-03-10T15:00:00.000Z', '2.00')
    await grow()
    const { pool } = shop.core
    await pool.query(`update sales set changed_at = changed_at - interval '1 hour', status = 'cancelled'`)
    await pool.query('update rollup_states set revision = revision - 1')
    await pool.query(
      `update companies set clock_corrections = (select json_build_array(json_build_object('revision', revision + 1, 'recorded_at', changed_at)) from rollup_states) where company_id = $1`,
      [COMPANY_ID],
    )
    await grow()
    expect(await centsOf('2026-03-10', 1)).to.deep.equal([0])
    await pool.query(`update companies set clock_corrections = '[]'`)
    await pool.query('delete from sales; delete from rollup_states; delete from sales_sums')
    await grow()
    expect(await byDay('2026-03-10', 1)).to.deep.include({ is_complete: true, items: [] })
  })

  it('are verified, and wrong sums are reported without their values', async () => {
    await sell('2026-03-10T15:00:00.000Z', '2.00')
    await sell('2026-03-11T15:00:00.000Z', '3.00')
    await grow()
    expect(await differences()).to.deep.equal([])
    await shop.core.pool.query(`update sales_sums set cents = cents + 1 where kind = 'seller' and span < '2026-03-11'`)
    await shop.core.pool.query(`delete from sales_sums where kind = 'payment' and span > '2026-03-11'`)
    const found = await differences()
    expect(found).to.have.length(2)
    expect(found.map(({ found, fields }) => [found, fields])).to.have.deep.members([
      ['changed', ['cents']],
      ['missing', []],
    ])
    // A sale that is not summed yet is not a difference.
    await sell('2026-03-10T15:01:00.000Z', '2.00')
    await sell('2026-03-11T15:01:00.000Z', '2.00')
    expect(await differences()).to.deep.equal([])
  })

  it('use day and month rollups of items for finished periods, and rebuild them [PANEL-121]', async () => {
    const coffee = (sold_at: string, total: string) => sell(sold_at, total, { items: [line(10, '1.000', total)] })
    const [from, to] = ['2026-01-10', '2026-06-20']
    const edge = startOfDay(from, SAO_PAULO)
    const early = await coffee(new Date(Date.parse(edge) - 1).toISOString(), '100.00')
    for (let day = from; day <= to; day = addDays(day, 9)) {
      await coffee(startOfDay(day, SAO_PAULO), '1.00')
      await coffee(new Date(Date.parse(startOfDay(addDays(day, 1), SAO_PAULO)) - 1).toISOString(), '0.10')
    }
    const items = async () => (await byDay(to, 162)).items.map(({ cents, count }) => ({ cents, count }))
    await grow()
    const kinds = await shop.core.pool.query(`select kind, count(*) from sales_sums where kind like 'item%' group by 1`)
    expect(new Set(kinds.rows.map(({ kind }) => kind))).to.deep.equal(new Set(['item', 'item_day', 'item_month']))
    expect(await items()).to.deep.equal([{ cents: 1980n, count: 36 }])
    const late = await coffee('2026-03-05T15:00:00.000Z', '5.00')
    await grow()
    expect(await items()).to.deep.equal([{ cents: 2480n, count: 37 }])
    await cancel(late)
    await cancel(early)
    await grow()
    expect(await items()).to.deep.equal([{ cents: 1980n, count: 36 }])
    expect(await differences()).to.deep.equal([])
    await shop.core.pool.query(
      `update sales_sums set cents = cents + 1 where kind = 'item_month' and span < '2026-04-01'`,
    )
    const found = await differences()
    expect(found.map(({ found, fields }) => [found, fields])).to.deep.include(['changed', ['cents']])
    expect(found.every(({ key }) => key.kind === 'item_month')).to.equal(true)
  })

  it('fall on longer, shorter and skipped days at clock changes', async () => {
    // São Paulo had no midnight on 2018-11-04, and 25 hours on 2018-02-17; Apia had no 2011-12-30.
    await sell('2018-11-04T02:59:59.999Z', '1.00')
    await sell('2018-11-04T03:00:00.000Z', '2.00')
    await sell('2018-02-18T02:30:00.000Z', '4.00')
    await grow()
    expect(await centsOf('2018-11-04', 2)).to.deep.equal([100, 200])
    expect(await centsOf('2018-02-18', 2)).to.deep.equal([400, 0])
    await sell('2011-12-30T09:59:59.999Z', '8.00')
    await sell('2011-12-30T10:00:00.000Z', '16.00')
    await zone('Pacific/Apia')
    await grow()
    const end = startOfDay('2012-01-01', 'Pacific/Apia')
    const bounds = [startOfDay('2011-12-29', 'Pacific/Apia'), startOfDay('2011-12-31', 'Pacific/Apia'), end]
    const { bars } = await salesSums(fullReader(shop.core.pool, COMPANY_ID), {
      bounds,
      before: { from: end, to: end, bounds: [] },
    })
    expect(bars.map(({ cents }) => cents)).to.deep.equal([800n, 1600n])
  })

  it('equal sums by local days, at any progress of the rollup [PANEL-121]', async () => {
    const zones = [SAO_PAULO, 'Pacific/Kiritimati', 'Asia/Kathmandu']
    const sale = fc.record({
      hours: fc.integer({ min: 0, max: 24 * 6 }),
      ms: fc.constantFrom(-1, 0, 1, 1_800_000, 2_700_000),
      cents: fc.integer({ min: 1, max: 9_999_999 }),
      cancelled: fc.boolean(),
      grows: fc.boolean(),
    })
    await explore(
      fc.asyncProperty(fc.array(sale, { maxLength: 15 }), fc.constantFrom(...zones), async (sales, timezone) => {
        await shop.core.pool.query('delete from sales')
        await zone(timezone)
        await grow()
        const ids: number[] = []
        for (const { hours, ms, cents, grows } of sales) {
          const sold_at = new Date(Date.parse('2026-03-06T00:00:00.000Z') + hours * 3_600_000 + ms).toISOString()
          const total = fromCents(cents)
          ids.push(await sell(sold_at, total, { items: [line(10, '1.000', total)] }))
          if (grows) await grow()
        }
        for (const [place, { cancelled }] of sales.entries()) if (cancelled) await cancel(ids[place]!)
        await grow()
        const { bars, items, is_complete } = await byDay('2026-03-12', 8, timezone)
        const expected = bars.map((_, n) => {
          const day = addDays('2026-03-12', n - 7)
          const on = sales.filter(
            ({ hours, ms, cancelled }) =>
              !cancelled &&
              dateInZone(
                new Date(Date.parse('2026-03-06T00:00:00.000Z') + hours * 3_600_000 + ms).toISOString(),
                timezone,
              ) === day,
          )
          return { count: on.length, cents: on.reduce((sum, { cents }) => sum + BigInt(cents), 0n) }
        })
        expect(bars.map(({ count, cents }) => ({ count, cents }))).to.deep.equal(expected)
        const total = (figures: readonly { cents: bigint }[]) => figures.reduce((sum, { cents }) => sum + cents, 0n)
        expect(total(items)).to.equal(total(expected))
        expect(is_complete).to.equal(true)
        expect(await differences()).to.deep.equal([])
        await shop.core.pool.query('delete from sales_sums; delete from rollup_states')
      }),
      4,
    )
  })
})
