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

  it('records each sale and returns its id, in the order of the upload [UP-1, UP-3]', async () => {
    const answer = await upload(till, [counter.sale('a'), counter.sale('b', { status: 'cancelled' })])
    expect(answer).to.include({ success: true, message: '2 vendas processadas: 2 registradas, 0 com erro.' })
    const [a, b] = answer.results
    expect(a).to.deep.equal({ offline_id: 'a', status: 'created', sale_id: a.sale_id })
    expect(b).to.deep.equal({ offline_id: 'b', status: 'created', sale_id: b.sale_id })
    expect(b.sale_id).to.be.greaterThan(a.sale_id)
  })

  it('stores user and channel in the event [UP-13, LEDGER-3]', async () => {
    const { sale_id: id } = await first(counter.sale('a'))
    const { rows } = await api.core.pool.query(
      `select envelope->>'origin' as origin, envelope->>'actor' as actor from ledger.events where stream = $1 and subject = $2`,
      [`company-${company.id}`, `sale/${id}`],
    )
    expect(rows).to.deep.equal([{ origin: 'pdv', actor: `user/${till.user.id}` }])
  })

  it('answers a repeated sale with the same id, and records nothing [UP-3, UP-4]', async () => {
    const { sale_id } = await first(counter.sale('a'))
    const revision = (await company.get('/me')).headers.get('x-ledger-revision')
    const again = await upload(till, [{ ...counter.sale('a'), till_version: '2.1' }])
    expect(again.message).to.equal('1 venda processada: 0 registradas, 1 já enviada antes, 0 com erro.')
    expect(again.results).to.deep.equal([{ offline_id: 'a', status: 'duplicate', sale_id }])
    expect((await company.get('/me')).headers.get('x-ledger-revision')).to.equal(revision)
    expect(await counter.stock()).to.equal('99.000')
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

  it('records 499 sales beside an invalid one [UP-1, UP-3]', async () => {
    const sales: unknown[] = Array.from({ length: 500 }, (_, n) => counter.sale(`n-${n}`))
    sales[100] = counter.sale('n-100', { total: 11 })
    sales[200] = counter.sale('n-200', { items: [{ product_id: 900_000_001, quantity: 1, price: 10, total: 10 }] })
    sales[300] = null
    const { results, summary } = await upload(till, sales)
    expect(summary).to.deep.equal({ total_processed: 500, success_count: 497, error_count: 3 })
    expect(
      [results[100], results[200], results[300]].map(({ status, offline_id }) => [status, offline_id]),
    ).to.deep.equal([
      ['error', 'n-100'],
      ['error', 'n-200'],
      ['error', null],
    ])
    expect(results[100].errors).to.deep.equal({
      total: ['a soma dos itens é 10.00'],
      change: ['o valor recebido menos o troco deve ser o total da venda'],
    })
    expect(results[499]).to.include({ status: 'created', offline_id: 'n-499' })
    expect(await counter.stock()).to.equal('-397.000')
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
    const line = { product_id: counter.product, quantity: 101, price: 9.5, total: 959.5 }
    const money = { total: 959.5, amount_received: 959.5 }
    const payments = [{ payment_type_id: counter.cash, amount: 959.5, status: 'pending' }]
    const sale = counter.sale('a', { items: [line], ...money, payments, created_at: '2999-01-01T00:00:00.000Z' })
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

  describe('refuses the whole upload', () => {
    const noList: [string, unknown][] = [
      ['without sales', {}],
      ['with sales that are no list', { sales: { 0: {} } }],
      ['that is a list', []],
      ['that is null', null],
    ]
    for (const [what, body] of noList) {
      it(`${what} with 422 [UP-1]`, async () => {
        expectFailure(await till.post('/sync/sales', body), 422)
      })
    }

    it('with more than 1,000 sales with 422, naming the limit, and records none of them [UP-1]', async () => {
      const sales = Array.from({ length: 1_001 }, (_, n) => counter.sale(`n-${n}`))
      const errors = expectFailure(await till.post('/sync/sales', { sales }), 422)
      expect(errors).to.deep.equal({ sales: ['no máximo 1000 vendas por envio'] })
      expect(await counter.stock()).to.equal('100.000')
    })

    it('of more than 5 MB with 413, and accepts one of exactly 5 MB [SYNC-4]', async () => {
      const limit = 5 * 1_048_576
      const body = JSON.stringify({ sales: [counter.sale('a')] })
      const ofSize = (bytes: number) => `${' '.repeat(bytes - body.length)}${body}`
      expectFailure(await till.post('/sync/sales', ofSize(limit + 1)), 413)
      expect((await till.post('/sync/sales', ofSize(limit))).status).to.equal(200)
    })

    it('with an unreadable body with 422, and without a token with 401 [SYNC-3]', async () => {
      expectFailure(await till.post('/sync/sales', '{"sales": ['), 422)
      expectFailure(await till.call('POST', '/sync/sales', { sales: [] }, { authorization: 'Bearer x' }), 401)
    })
  })

  it('accepts an empty upload', async () => {
    expect((await upload(till, [])).message).to.equal('0 vendas processadas: 0 registradas, 0 com erro.')
  })
})
