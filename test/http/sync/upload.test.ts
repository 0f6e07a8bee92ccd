import { expect } from 'chai'
import { settleReceivable } from '../../../commands/receivables/receivable-commands.ts'
import { cancelSale } from '../../../commands/sales/cancel-sale.ts'
import { expectProblem } from '../../support/answers.ts'
import { type Json, startApi, type TestApi, type TestCompany } from '../../support/api.ts'
import { useDatabase } from '../../support/database.ts'
import { type Counter, openCounter, upload } from '../../support/offline-sales.ts'
import { expectFailure, openTill, type TestTill } from '../../support/till.ts'

describe('POST /api/sync/sales', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let till: TestTill
  let counter: Counter

  before(async () => {
    api = await startApi(database.url)
  })
  after(() => api.close())
  beforeEach(async () => {
    company = await api.company()
    till = await openTill(api.url, company)
    counter = await openCounter(company)
  })

  const first = async (sale: unknown): Promise<Json> => (await upload(till, [sale])).results[0]

  it('records each sale and tells its id, in the order of the upload', async () => {
    const answer = await upload(till, [counter.sale('a'), counter.sale('b', { status: 'cancelled' })])
    expect(answer).to.include({ success: true, message: '2 vendas processadas: 2 registradas, 0 com erro.' })
    const [a, b] = answer.results
    expect(a).to.deep.equal({ offline_id: 'a', status: 'created', sale_id: a.sale_id })
    expect(b).to.deep.equal({ offline_id: 'b', status: 'created', sale_id: b.sale_id })
    expect(b.sale_id).to.be.greaterThan(a.sale_id)
  })

  it('shows at once in API v1: sale, list, incremental list, stock', async () => {
    const since = (await company.get('/sales')).body.meta.synced_at
    const { sale_id: id } = await first(counter.sale('a', { amount_received: 50, change: 40 }))
    const shown = await company.get(`/sales/${id}`)
    expect(shown.body.data).to.deep.include({
      id,
      external_id: null,
      status: 'completed',
      origin: 'pdv',
      customer: null,
      sold_at: '2026-03-10T11:00:00.000-03:00',
      items: [
        {
          catalog_item_id: counter.product,
          external_id: null,
          description: 'Café 100',
          quantity: '1.000',
          unit_price: '10.00',
          total: '10.00',
        },
      ],
      payments: [{ payment_type_id: counter.cash, name: 'cash', amount: '10.00', surcharge: '0.00', net: '10.00' }],
      total: '10.00',
      change: '40.00',
    })
    for (const query of ['?origin=pdv', `?updated_since=${encodeURIComponent(since)}`]) {
      expect((await company.get(`/sales${query}`)).body.data).to.deep.equal([shown.body.data])
    }
    expect(await counter.stock()).to.equal('99.000')
    const summary = await company.get('/finance/summary?from=2026-03-10&to=2026-03-10')
    expect(summary.body.data.sales).to.deep.include({ count: 1, gross: '10.00' })
  })

  it('records a cancelled sale as cancelled, which moves no stock', async () => {
    const { sale_id: id } = await first(counter.sale('a', { status: 'cancelled' }))
    const { data } = (await company.get(`/sales/${id}`)).body
    expect(data).to.include({ status: 'cancelled', origin: 'pdv', cancelled_at: data.created_at })
    expect(await counter.stock()).to.equal('100.000')
    const summary = await company.get('/finance/summary?from=2026-03-10&to=2026-03-10')
    expect(summary.body.data.sales).to.deep.include({ count: 0, cancelled: { count: 1, amount: '10.00' } })
  })

  it('keeps who uploaded it, through which channel, in the event', async () => {
    const { sale_id: id } = await first(counter.sale('a'))
    const { rows } = await api.core.pool.query(
      `select envelope->>'origin' as origin, envelope->>'actor' as actor from ledger.events where stream = $1 and subject = $2`,
      [`company-${company.id}`, `sale/${id}`],
    )
    expect(rows).to.deep.equal([{ origin: 'pdv', actor: `user/${till.user.id}` }])
  })

  it('tells webhooks of completed and cancelled sales and of receivables, once, from the counter', async () => {
    const hook = await company.post('/webhooks', { url: 'https://erp.example/eventos', events: ['*'] })
    const sales = [counter.onAccount('a'), counter.sale('b', { status: 'cancelled' }), counter.sale('c', { total: 11 })]
    const { results } = await upload(till, sales)
    await upload(till, sales)
    const { rows } = await api.core.pool.query<{ body: string }>(
      `select m.body from webhook_deliveries d join webhook_messages m on m.company_id = d.company_id and m.id = d.message_id
       where d.webhook_id = $1 order by d.sequence`,
      [hook.body.data.id],
    )
    const told = rows.map(({ body }) => JSON.parse(body))
    expect(told.map(({ event }) => event)).to.deep.equal(['sale.completed', 'receivable.created', 'sale.cancelled'])
    for (const { origin } of told) expect(origin).to.equal('pdv')
    const shown = async (n: number) => (await company.get(`/sales/${results[n].sale_id}`)).body.data
    expect([told[0].data, told[2].data]).to.deep.equal([await shown(0), await shown(1)])
    expect([told[1].data]).to.deep.equal((await company.get('/finance/receivables')).body.data)
  })

  it('answers the same sale again with the same id, and records nothing', async () => {
    const { sale_id } = await first(counter.sale('a'))
    const revision = (await company.get('/me')).headers.get('x-ledger-revision')
    const again = await upload(till, [{ ...counter.sale('a'), till_version: '2.1' }])
    expect(again.message).to.equal('1 venda processada: 0 registradas, 1 já enviada antes, 0 com erro.')
    expect(again.results).to.deep.equal([{ offline_id: 'a', status: 'duplicate', sale_id }])
    expect((await company.get('/me')).headers.get('x-ledger-revision')).to.equal(revision)
    expect(await counter.stock()).to.equal('99.000')
  })

  it('records one of equal sales in one upload, and refuses a different one under the same identifier', async () => {
    const other = counter.sale('a', { created_at: '2026-03-10T15:00:00.000Z' })
    const { results } = await upload(till, [counter.sale('a'), counter.sale('a'), other])
    const [created, duplicate, refused] = results
    expect([created.status, duplicate.status, refused.status]).to.deep.equal(['created', 'duplicate', 'error'])
    expect(duplicate.sale_id).to.equal(created.sale_id)
    expect(refused).to.include({ sale_id: null, code: 'duplicate_resource' })
    expect(refused.errors).to.have.all.keys('offline_id')
    expect(await counter.stock()).to.equal('99.000')
  })

  it('knows a sale that another till of the company has uploaded, and nothing of other companies', async () => {
    const { sale_id } = await first(counter.sale('a'))
    const second = await openTill(api.url, company)
    expect((await upload(second, [counter.sale('a')])).results[0]).to.include({ status: 'duplicate', sale_id })
    const others = await api.company()
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

  it('lets one bad sale among 500 stop none of the others', async () => {
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

  it('takes 1,000 sales of 3 items, and knows the first again at the end', async () => {
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

  it('records what is odd with warnings, and tells them again to whoever lost the answer', async () => {
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

  it('copes with stock below zero: goods arrive, a count sets it right, and API v1 sells nothing of it', async () => {
    await first(
      counter.sale('a', {
        items: [{ product_id: counter.product, quantity: 102, price: 10, total: 1020 }],
        total: 1020,
        amount_received: 1020,
        payments: [{ payment_type_id: counter.cash, amount: 1020, status: 'completed' }],
      }),
    )
    const path = `/catalog/items/${counter.product}`
    const sale = {
      items: [{ catalog_item_id: counter.product, quantity: '1' }],
      payments: [{ payment_type_id: counter.cash, amount: '10.00' }],
    }
    expectProblem(await company.post('/sales', sale), 422, 'insufficient_stock')
    expectProblem(await company.call('PATCH', path, { stock_adjustment: '-1' }), 422, 'insufficient_stock')
    expect((await company.call('PATCH', path, { stock_adjustment: '1' })).body.data.stock).to.equal('-1.000')
    expect((await company.call('PATCH', path, { name: 'Café novo' })).body.data.stock).to.equal('-1.000')
    expect((await company.call('PATCH', path, { stock: '3' })).body.data.stock).to.equal('3.000')
    expect((await company.post('/sales', sale)).status).to.equal(201)
  })

  describe('of a sale on account', () => {
    it('makes a receivable of the sale, which only the counter may change', async () => {
      const { sale_id } = await first(counter.onAccount('a'))
      const { body } = await company.get('/finance/receivables')
      expect(body.data).to.have.length(1)
      const [receivable] = body.data
      expect(receivable).to.include({
        origin: 'sale',
        sale_id,
        amount: '10.00',
        due_date: '2026-04-09',
        status: 'pending',
      })
      const path = `/finance/receivables/${receivable.id}`
      expectProblem(await company.call('PATCH', path, { description: 'x' }), 409, 'managed_by_pdv')
      expectProblem(await company.call('DELETE', path), 409, 'managed_by_pdv')
      const key = { 'idempotency-key': 'liquida' }
      expectProblem(await company.post(`${path}/settle`, { payment_method: 'pix' }, key), 409, 'managed_by_pdv')
      const settled = await company.run(settleReceivable, { id: receivable.id, payment_method: 'pix' }, 'pdv')
      expect(settled).to.include({ status: 'settled' })
    })

    it('takes the pending receivable along when the counter cancels the sale, and gives the stock back', async () => {
      const { sale_id: id } = await first(counter.onAccount('a'))
      const [receivable] = (await company.get('/finance/receivables')).body.data
      expectProblem(await company.post(`/sales/${id}/cancel`, {}), 409, 'managed_by_pdv')
      const cancelled = await company.run(cancelSale, { id, reason: 'devolução' }, 'system')
      expect(cancelled).to.include({ status: 'cancelled', cancel_reason: 'devolução' })
      expect((await company.get('/finance/receivables')).body.data).to.deep.equal([])
      const { body } = await company.get('/finance/receivables/deleted')
      expect(body.data.map((record: Json) => record.id)).to.deep.equal([receivable.id])
      expect(await counter.stock()).to.equal('100.000')
    })

    it('refuses to cancel once the receivable is settled, and changes nothing', async () => {
      const { sale_id: id } = await first(counter.onAccount('a'))
      const [receivable] = (await company.get('/finance/receivables')).body.data
      await company.run(settleReceivable, { id: receivable.id, payment_method: 'cash' }, 'pdv')
      const refused = await company.run(cancelSale, { id }, 'pdv').catch((error: Error) => error.message)
      expect(refused).to.include('already_settled')
      expect((await company.get(`/sales/${id}`)).body.data.status).to.equal('completed')
      expect(await counter.stock()).to.equal('99.000')
    })
  })

  describe('refuses the whole upload', () => {
    const noList: [string, unknown][] = [
      ['without sales', {}],
      ['whose sales are no list', { sales: { 0: {} } }],
      ['that is a list', []],
      ['that is null', null],
    ]
    for (const [what, body] of noList) {
      it(`${what} with 422`, async () => {
        expectFailure(await till.post('/sync/sales', body), 422)
      })
    }

    it('with more than 1,000 sales with 422, naming the limit, and records none of them', async () => {
      const sales = Array.from({ length: 1_001 }, (_, n) => counter.sale(`n-${n}`))
      const errors = expectFailure(await till.post('/sync/sales', { sales }), 422)
      expect(errors).to.deep.equal({ sales: ['no máximo 1000 vendas por envio'] })
      expect(await counter.stock()).to.equal('100.000')
    })

    it('of more than 5 MB with 413, and takes one of just 5 MB', async () => {
      const limit = 5 * 1_048_576
      const body = JSON.stringify({ sales: [counter.sale('a')] })
      const ofSize = (bytes: number) => `${' '.repeat(bytes - body.length)}${body}`
      expectFailure(await till.post('/sync/sales', ofSize(limit + 1)), 413)
      expect((await till.post('/sync/sales', ofSize(limit))).status).to.equal(200)
    })

    it('that cannot be read with 422, and without a token with 401', async () => {
      expectFailure(await till.post('/sync/sales', '{"sales": ['), 422)
      expectFailure(await till.call('POST', '/sync/sales', { sales: [] }, { authorization: 'Bearer x' }), 401)
    })
  })

  it('takes an empty upload', async () => {
    expect((await upload(till, [])).message).to.equal('0 vendas processadas: 0 registradas, 0 com erro.')
  })
})
