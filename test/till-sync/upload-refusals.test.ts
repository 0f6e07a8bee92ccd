import { expect } from 'chai'
import { MAX_OPEN, resolveRefusedSale } from '#privacy/refused-sales.ts'
import { listRefusedSales } from '#queries/offline-sale-queries.ts'
import { fullReader } from '#queries/reader.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { type Counter, openCounter, upload } from '../support/offline-sales.ts'
import { purgeTables } from '../support/purge.ts'
import { openTill, type TestTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

describe('refused sales of uploads', () => {
  const api = useApi()
  let company: TestCompany
  let till: TestTill
  let counter: Counter

  beforeEach(async () => {
    company = await api.company()
    till = await openTill(api.url, company)
    counter = await openCounter(company)
  })

  const open = (page = {}) => listRefusedSales(fullReader(api.core.pool, company.id), page)
  const settle = (id: number) => resolveRefusedSale(api.core.pool, company.id, id, { userId: till.user.id, note: null })
  const wrong = (offlineId: string) => counter.sale(offlineId, { total: 11 })

  it('are stored as sent, with sender, time and reason [UP-14]', async () => {
    const sale = { ...wrong('a'), note: 'à vista "ok" \u2028' }
    const { results } = await upload(till, [sale])
    const { total, sales } = await open()
    expect(total).to.equal(1)
    const [{ id, first_refused_at, last_refused_at, ...kept }] = sales as [(typeof sales)[number]]
    expect(id).to.be.a('number')
    expect(kept).to.deep.equal({
      offline_id: 'a',
      user: { id: till.user.id, name: till.user.name },
      times: 1,
      code: 'validation_failed',
      message: results[0].message,
      errors: results[0].errors,
      payload: sale,
    })
    expect(first_refused_at).to.equal(last_refused_at)
    expect(Math.abs(Date.now() - Date.parse(first_refused_at))).to.be.below(60_000)
  })

  it('stores a refused sale once for any number of uploads [UP-14]', async () => {
    await upload(till, [wrong('a'), wrong('a'), wrong('b')])
    await Promise.all(Array.from({ length: 8 }, () => upload(till, [wrong('b'), wrong('a')])))
    const { sales } = await open()
    expect(sales.map(({ offline_id, times }) => [offline_id, times])).to.have.deep.members([
      ['a', 10],
      ['b', 9],
    ])
  })

  it('are listed in pages, for their company only', async () => {
    await upload(till, [wrong('a'), wrong('b'), wrong('c')])
    const [a, b] = (await open({ limit: 2 })).sales
    expect((await open({ after: b?.id ?? 0 })).sales).to.have.length(1)
    expect(await listRefusedSales(fullReader(api.core.pool, company.id + 1))).to.deep.equal({ total: 0, sales: [] })
    expect(await resolveRefusedSale(api.core.pool, company.id + 1, a?.id ?? 0, { userId: 1, note: null })).to.equal(
      false,
    )
  })

  it('disappear once they are resolved, also if the till uploads them again [UP-14]', async () => {
    await upload(till, [wrong('a')])
    const { id } = (await open()).sales[0] as { id: number }
    expect(await settle(id)).to.equal(true)
    expect(await settle(id)).to.equal(false)
    await upload(till, [wrong('a')])
    expect(await open()).to.deep.equal({ total: 0, sales: [] })
  })

  it('are resolved by an upload of the corrected sale [UP-14]', async () => {
    await upload(till, [wrong('a'), wrong('b')])
    await upload(till, [counter.sale('a')])
    expect((await open()).sales.map(({ offline_id }) => offline_id)).to.deep.equal(['b'])
  })

  it('stay if another sale has their identifier, until a person resolves them', async () => {
    const other = counter.sale('a', { created_at: '2026-03-10T18:00:00.000Z' })
    await upload(till, [counter.sale('a'), other])
    await upload(till, [counter.sale('a')])
    const { sales } = await open()
    expect(sales).to.have.length(1)
    expect(sales[0]).to.deep.include({ code: 'duplicate_resource', payload: other })
  })

  it('are not reopened by repeated uploads long after, and are purged once the till has stopped', async () => {
    const age = (column: string) =>
      api.core.pool.query(
        `update ops.refused_sales set ${column} = ${column} - interval '91 days' where company_id = $1`,
        [company.id],
      )
    const kept = async () =>
      (await api.core.pool.query('select from ops.refused_sales where company_id = $1', [company.id])).rowCount
    await upload(till, [wrong('a')])
    await settle((await open()).sales[0]?.id ?? 0)
    await age('resolved_at')
    await upload(till, [wrong('a')])
    expect([await kept(), (await open()).total]).to.deep.equal([1, 0])
    await age('last_refused_at')
    await purgeTables(api.core.pool, 'refused_sales')
    await upload(till, [wrong('b')])
    expect([await kept(), (await open()).total]).to.deep.equal([1, 1])
  })

  it('result from odd values at any position of a sale, and never fail the upload [UP-761]', async () => {
    const odd = [
      null,
      true,
      '',
      ' ',
      '10.00',
      -1,
      0,
      1e-7,
      1.005,
      1e21,
      Number.MAX_VALUE,
      2 ** 53,
      [],
      {},
      [[]],
      'ã\u0000',
      '\ud800',
    ]
    const refused = ['9999-12-31T23:59:59.999Z', '1989-12-31T23:59:59.999Z', '2026-02-30T00:00:00Z', '2026-03-10']
    const moments = ['1990-01-01T00:00:00.000Z', ...refused]
    const whole = counter.onAccount('odd')
    const [item, payment] = [whole.items[0] ?? {}, whole.payments[0] ?? {}]
    const mutated = (part: object, put: (changed: object) => object) =>
      Object.keys(part).flatMap((field) =>
        odd.map((value) => ({ what: `${field} ${JSON.stringify(value)}`, sale: put({ ...part, [field]: value }) })),
      )
    const cases = [
      ...mutated(whole, (changed) => changed),
      ...mutated(item, (changed) => ({ ...whole, items: [changed] })),
      ...mutated(payment, (changed) => ({ ...whole, payments: [changed] })),
      ...moments.map((created_at) => ({ what: created_at, sale: { ...whole, created_at } })),
    ]
    const sales = cases.map(({ sale }: Json, n) =>
      sale.offline_id === 'odd' ? { ...sale, offline_id: `odd-${n}` } : sale,
    )
    const { results } = await upload(till, sales)
    const recorded = results.flatMap(({ status }: Json, n: number) => (status === 'created' ? [cases[n]?.what] : []))
    // Fields that the till may omit, zeros, and names that are or look like numbers.
    const names = ['offline_id "10.00"', 'offline_id -1', 'offline_id 0']
    const zero = ['change 0', 'change 1e-7']
    const absent = ['amount_received null', 'change null']
    // A sale on account receives no cash, and 0.05 below quantity × price is a discount.
    const facts = ['amount_received 0', 'amount_received 1e-7', 'quantity 1.005']
    expect(recorded).to.have.members([...absent, ...zero, ...facts, ...names, '1990-01-01T00:00:00.000Z'])
    expect(results.filter(({ status }: Json) => status === 'error')).to.have.length(sales.length - recorded.length)
    for (const { sale_id } of results) {
      if (sale_id) expect((await company.get(`/sales/${sale_id}`)).status).to.equal(200)
    }
  })

  it('may be any JSON, with bounded size', async () => {
    const deep = JSON.parse(`${'['.repeat(62)}${']'.repeat(62)}`)
    const odd = [
      null,
      true,
      1e300,
      'texto \ud800\u0000',
      [],
      {},
      { offline_id: '\u0000\udc00' },
      { offline_id: 'x'.repeat(9_999) },
      deep,
    ]
    const { results } = await upload(till, [...odd, { offline_id: 'grande', padding: 'x'.repeat(70_000) }])
    for (const result of results) expect(result).to.include({ status: 'error', sale_id: null })
    const { sales } = await open()
    expect(sales).to.have.length(odd.length + 1)
    expect(sales.find(({ offline_id }) => offline_id === 'grande')?.payload).to.equal(null)
  })

  it('are stored up to a number, and counted on beyond it', async () => {
    await upload(
      till,
      Array.from({ length: MAX_OPEN }, (_, n) => wrong(`n-${n}`)),
    )
    await upload(till, [wrong('mais um')])
    const { total } = await open()
    expect(total).to.equal(MAX_OPEN)
    await upload(till, [wrong('n-0')])
    expect((await open({ limit: MAX_OPEN })).sales.find(({ offline_id }) => offline_id === 'n-0')?.times).to.equal(2)
  })
})
