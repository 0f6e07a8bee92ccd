import { expect } from 'chai'
import { expectProblem } from '../support/answers.ts'
import { FOREIGN_IDS, type Json, type TestCompany } from '../support/api.ts'
import { type Counter, openCounter, upload } from '../support/offline-sales.ts'
import { expectFailure, openTill, type TestTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

describe('POST /api/sync/sales', () => {
  const api = useApi()
  let company: TestCompany
  let till: TestTill
  let counter: Counter

  beforeEach(async () => {
    company = await api.company()
    till = await openTill(api.url, company)
    counter = await openCounter(company)
  })

  const first = async (sale: unknown): Promise<Json> => (await upload(till, [sale])).results[0]

  it('records each sale and returns its id, in the order of the upload [UP-1]', async () => {
    const created_at = new Date().toISOString()
    const cancelled = counter.sale('b', { status: 'cancelled', created_at })
    const answer = await upload(till, [counter.sale('a', { created_at }), cancelled])
    expect(answer).to.include({ success: true, message: '2 vendas processadas: 2 registradas, 0 com erro.' })
    const [a, b] = answer.results
    expect(a).to.deep.equal({ offline_id: 'a', status: 'created', sale_id: a.sale_id })
    expect(b).to.deep.equal({ offline_id: 'b', status: 'created', sale_id: b.sale_id })
    expect(b.sale_id).to.be.greaterThan(a.sale_id)
  })

  it('stores user and channel in the event [LEDGER-3]', async () => {
    const { sale_id: id } = await first(counter.sale('a'))
    const { rows } = await api.core.pool.query(
      `select envelope->>'origin' as origin, envelope->>'actor' as actor from ledger.events where stream = $1 and subject = $2`,
      [`company-${company.id}`, `sale/${id}`],
    )
    expect(rows).to.deep.equal([{ origin: 'pdv', actor: `user/${till.user.id}` }])
  })

  it('records equal sales in one upload once, and refuses a different one under the same identifier [UP-5]', async () => {
    const other = counter.sale('a', { created_at: '2026-03-10T15:00:00.000Z' })
    const { results } = await upload(till, [counter.sale('a'), counter.sale('a'), other])
    const [created, duplicate, refused] = results
    expect([created.status, duplicate.status, refused.status]).to.deep.equal(['created', 'duplicate', 'error'])
    expect(duplicate.sale_id).to.equal(created.sale_id)
    expect(refused).to.include({ sale_id: null, code: 'duplicate_resource' })
    expect(refused.errors).to.have.all.keys('offline_id')
    expect(await counter.stock()).to.equal('99.000')
  })

  it('recognises a sale uploaded by another till of the company, and none of other companies [UP-4]', async () => {
    const { sale_id } = await first(counter.sale('a'))
    const second = await openTill(api.url, company)
    expect((await upload(second, [counter.sale('a')])).results[0]).to.include({ status: 'duplicate', sale_id })
    const others = await api.company({ idsFrom: FOREIGN_IDS })
    const stranger = await openTill(api.url, others)
    const own = await openCounter(others)
    const result = (await upload(stranger, [own.sale('a')])).results[0]
    expect(result.status).to.equal('created')
    expect(result.sale_id).not.to.equal(sale_id)
    expectProblem(await company.get(`/sales/${result.sale_id}`), 404, 'not_found')
    const foreign = (await upload(till, [own.sale('b')])).results[0]
    expect(foreign).to.include({ status: 'error', sale_id: null })
    expect(foreign.errors).to.have.all.keys('items[0].product_id', 'payments[0].payment_type_id')
    expect(await own.stock()).to.equal('99.000')
  })

  it('records the other sales beside invalid ones [UP-1]', async () => {
    const missing = [{ product_id: 900_000_001, quantity: 1, price: 10, total: 10 }]
    const { results, summary } = await upload(till, [
      counter.sale('a'),
      counter.sale('b', { total: 11 }),
      counter.sale('c', { items: missing }),
      null,
      counter.sale('e'),
    ])
    expect(summary).to.deep.equal({ total_processed: 5, success_count: 2, error_count: 3 })
    expect(results.map(({ status, offline_id }: Json) => [status, offline_id])).to.deep.equal([
      ['created', 'a'],
      ['error', 'b'],
      ['error', 'c'],
      ['error', null],
      ['created', 'e'],
    ])
    expect(results[1].errors).to.deep.equal({
      total: ['a soma dos itens é 10.00'],
      change: ['o valor recebido menos o troco deve ser o total da venda'],
    })
    expect(await counter.stock()).to.equal('98.000')
  })

  it('accepts 1,000 sales of 3 items, and recognises the first again at the end [UP-1]', async () => {
    const items = [1, 2, 3].map((quantity) => ({ product_id: counter.product, quantity, price: 1, total: quantity }))
    const money = {
      total: 6,
      amount_received: 6,
      payments: [{ payment_type_id: counter.cash, amount: 6, status: 'completed' }],
    }
    const sales = Array.from({ length: 999 }, (_, n) => counter.sale(`n-${n}`, { items, ...money }))
    const { results, summary } = await upload(till, [...sales, sales[0]])
    expect(summary).to.deep.equal({ total_processed: 1_000, success_count: 1_000, error_count: 0 })
    expect(results.map((result: Json) => result.offline_id)).to.deep.equal([
      ...sales.map((sale) => sale.offline_id),
      'n-0',
    ])
    expect(new Set(results.map((result: Json) => result.sale_id)).size).to.equal(999)
    expect(results.at(-1)).to.include({ status: 'duplicate', sale_id: results[0].sale_id })
    expect(await counter.stock()).to.equal(`${100 - 999 * 6}.000`)
  })

  it('records odd sales with warnings, which a repeated upload gets again [UP-6]', async () => {
    const inFiveYears = new Date(Date.now() + 5 * 365 * 86_400_000).toISOString()
    const line = { product_id: counter.product, quantity: 101, price: 9.5, total: 959.5 }
    const money = { total: 959.5, amount_received: 959.5 }
    const payments = [{ payment_type_id: counter.cash, amount: 959.5, status: 'pending' }]
    const sale = counter.sale('a', { items: [line], ...money, payments, created_at: inFiveYears })
    const { warnings, ...created } = await first(sale)
    expect(created.status).to.equal('created')
    expect(warnings.map(({ message, ...rest }: Json) => rest)).to.deep.equal([
      { code: 'price_differs', product_id: counter.product, price: 9.5, catalog_price: 10 },
      { code: 'negative_stock', product_id: counter.product, stock: -1 },
      { code: 'payment_pending' },
      { code: 'created_at_in_future' },
    ])
    for (const { message } of warnings) expect(message).to.match(/^[A-ZÀ-Ú].*\.$/)
    expect(await first(sale)).to.deep.equal({ ...created, status: 'duplicate', warnings })
    expect(await counter.stock()).to.equal('-1.000')
  })

  it('refuses an upload of more than 5 MB with 413, and accepts one of exactly 5 MB [SYNC-40]', async () => {
    const limit = 5 * 1_048_576
    const body = JSON.stringify({ sales: [counter.sale('a')] })
    const ofSize = (bytes: number) => `${' '.repeat(bytes - body.length)}${body}`
    const errors = expectFailure(await till.post('/sync/sales', ofSize(limit + 1)), 413)
    expect(errors).to.deep.equal({ body: ['deve ter no máximo 5242880 bytes'] })
    expect((await till.post('/sync/sales', ofSize(limit))).status).to.equal(200)
  })

  it('accepts an empty upload', async () => {
    expect((await upload(till, [])).message).to.equal('0 vendas processadas: 0 registradas, 0 com erro.')
  })
})
