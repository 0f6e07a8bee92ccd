import { expect } from 'chai'
import { settleReceivable } from '#commands/receivables-payables.ts'
import { countRefusedSales } from '#queries/offline-sale-queries.ts'
import { fullReader } from '#queries/reader.ts'
import { expectProblem } from '../support/answers.ts'
import { FOREIGN_IDS, type Json, type TestCompany } from '../support/api.ts'
import { type Counter, openCounter, upload } from '../support/offline-sales.ts'
import { openTill, type TestTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

describe('uploaded sales', () => {
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

  it('appear in API v1 at once: sale, list, incremental list, stock', async () => {
    const since = (await company.get('/sales')).body.meta.synced_at
    const { sale_id: id } = await first(counter.sale('a', { amount_received: 50, change: 40 }))
    const shown = await company.get(`/sales/${id}`)
    expect(shown.body.data).to.deep.include({
      id,
      external_id: null,
      offline_id: 'a',
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
          discount: '0.00',
          discount_share: '0.00',
          returned: '0.000',
        },
      ],
      payments: [{ payment_type_id: counter.cash, name: 'cash', amount: '10.00', surcharge: '0.00', net: '10.00' }],
      subtotal: '10.00',
      discount: '0.00',
      total: '10.00',
      change: '40.00',
    })
    for (const query of ['?offline_id=a', '?origin=pdv', `?updated_since=${encodeURIComponent(since)}`]) {
      expect((await company.get(`/sales${query}`)).body.data).to.deep.equal([shown.body.data])
    }
    expect(await counter.stock()).to.equal('99.000')
    const summary = await company.get('/finance/summary?from=2026-03-10&to=2026-03-10')
    expect(summary.body.data.sales).to.deep.include({ count: 1, gross: '10.00' })
  })

  it("are found by the till's identifier, which is unique per company [HTTP-9]", async () => {
    await first(counter.sale('a'))
    await counter.sell()
    expect((await company.get('/sales?offline_id=b')).body.data).to.deep.equal([])
    const other = await api.company()
    expect((await other.get('/sales?offline_id=a')).body.data).to.deep.equal([])
    const [{ offline_id }, { offline_id: none }] = (await company.get('/sales')).body.data
    expect([offline_id, none]).to.deep.equal(['a', null])
    expectProblem(await company.get('/sales?offline_id='), 422, 'validation_failed')
  })

  it('are cancelled by an upload as cancelled, and answered accordingly [UP-16]', async () => {
    const hook = await company.post('/webhooks', { url: 'https://erp.example/eventos', events: ['sale.cancelled'] })
    const created = await first(counter.onAccount('a'))
    const cancelled = { ...counter.onAccount('a'), status: 'cancelled' }
    const { results, message, summary } = await upload(till, [cancelled])
    expect(results).to.deep.equal([{ ...created, status: 'cancelled' }])
    expect(message).to.equal('1 venda processada: 0 registradas, 1 cancelada, 0 com erro.')
    expect(summary).to.deep.equal({ total_processed: 1, success_count: 1, error_count: 0 })
    for (const sale of [cancelled, counter.onAccount('a')])
      expect(await first(sale)).to.deep.equal({ ...created, status: 'duplicate' })
    const { data } = (await company.get(`/sales/${created.sale_id}`)).body
    expect(data).to.include({ status: 'cancelled', cancel_reason: null })
    expect(await counter.stock()).to.equal('100.000')
    expect((await company.get('/finance/receivables')).body.data).to.deep.equal([])
    const deliveries = 'select from webhook_deliveries where company_id = $1 and webhook_id = $2'
    const { rowCount } = await api.core.pool.query(deliveries, [company.id, hook.body.data.id])
    expect(rowCount).to.equal(1)
  })

  it('are cancelled once by concurrent uploads; all others answer `duplicate` [UP-4, UP-16]', async () => {
    const created = await first(counter.sale('a'))
    const cancelled = counter.sale('a', { status: 'cancelled' })
    const answers: Json[] = await Promise.all(Array.from({ length: 8 }, () => first(cancelled)))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal(['cancelled', ...Array(7).fill('duplicate')])
    for (const { sale_id } of answers) expect(sale_id).to.equal(created.sale_id)
    const [once, twice] = (
      await upload(till, [counter.sale('b'), cancelled, counter.sale('b', { status: 'cancelled' })])
    ).results.slice(1)
    expect([once.status, twice.status]).to.deep.equal(['duplicate', 'cancelled'])
    expect(await counter.stock()).to.equal('100.000')
  })

  it('have the text of a numeric identifier', async () => {
    const sale = { ...counter.sale('a'), offline_id: 4711 }
    const { sale_id } = await first(sale)
    expect(await first({ ...sale, offline_id: '4711' })).to.include({ status: 'duplicate', sale_id })
    expect((await company.get('/sales?offline_id=4711')).body.data).to.have.length(1)
    expect(await first({ ...sale, offline_id: 4712, total: 'x' })).to.include({ offline_id: '4712', status: 'error' })
  })

  it('show the user of the till as the seller [UP-36]', async () => {
    const { results } = await upload(till, [counter.sale('a'), counter.sale('b', { status: 'cancelled' })])
    const seller = { user_id: till.user.id, name: till.user.name }
    for (const { sale_id } of results)
      expect((await company.get(`/sales/${sale_id}`)).body.data.seller).to.deep.equal(seller)
    const { sales } = (await company.get('/finance/summary?from=2026-03-01&to=2026-03-31')).body.data
    expect(sales.by_seller).to.deep.equal([{ seller, count: 1, gross: '10.00', returned: '0.00', net: '10.00' }])
  })

  it('an upload does not cancel a sale with received money [UP-12, UP-16]', async () => {
    await first(counter.onAccount('a'))
    const [receivable] = (await company.get('/finance/receivables')).body.data
    await company.run(settleReceivable, { id: receivable.id, payment_method: 'cash' }, 'pdv')
    const refused = await first({ ...counter.onAccount('a'), status: 'cancelled' })
    expect(refused).to.include({ status: 'error', code: 'already_settled', sale_id: null })
    expect(refused.errors).to.have.all.keys('status')
    expect(await countRefusedSales(fullReader(api.core.pool, company.id))).to.equal(1)
    expect(await counter.stock()).to.equal('99.000')
  })

  it("have the till's customer; another company's or a missing one is omitted with a warning [UP-18]", async () => {
    const own = (await company.post('/customers', { name: 'Ana' })).body.data.id
    const foreign = (await (await api.company({ idsFrom: FOREIGN_IDS })).post('/customers', { name: 'Bia' })).body.data
      .id
    const created_at = new Date().toISOString()
    const { results } = await upload(till, [
      counter.sale('a', { customer_id: own, created_at }),
      counter.sale('b', { customer_id: foreign, created_at }),
      counter.sale('c', { customer_id: 'balcão', created_at }),
    ])
    expect(results.map(({ warnings = [] }: Json) => warnings.map(({ code }: Json) => code))).to.deep.equal([
      [],
      ['customer_unknown'],
      ['customer_unknown'],
    ])
    const { data } = (await company.get('/sales')).body
    expect(data.map(({ customer }: Json) => customer?.id ?? null)).to.deep.equal([own, null, null])
    expect((await company.get(`/sales?customer_id=${own}`)).body.data).to.have.length(1)
  })

  it('uploaded as cancelled are cancelled in API v1, and move no stock [UP-16]', async () => {
    const { sale_id: id } = await first(counter.sale('a', { status: 'cancelled' }))
    const { data } = (await company.get(`/sales/${id}`)).body
    expect(data).to.include({ status: 'cancelled', origin: 'pdv', cancelled_at: data.created_at })
    expect(await counter.stock()).to.equal('100.000')
    const summary = await company.get('/finance/summary?from=2026-03-10&to=2026-03-10')
    expect(summary.body.data.sales).to.deep.include({ count: 0, cancelled: { count: 1, amount: '10.00' } })
  })

  it('are delivered to webhooks once, with their receivables, as counter sales', async () => {
    const hook = await company.post('/webhooks', { url: 'https://erp.example/eventos', events: ['basic'] })
    const sales = [counter.onAccount('a'), counter.sale('b', { status: 'cancelled' }), counter.sale('c', { total: 11 })]
    const { results } = await upload(till, sales)
    await upload(till, sales)
    const { rows } = await api.core.pool.query<{ body: string }>(
      `select m.body from webhook_deliveries d join webhook_messages m on m.company_id = d.company_id and m.id = d.message_id
       where d.company_id = $2 and d.webhook_id = $1 order by d.sequence`,
      [hook.body.data.id, company.id],
    )
    const told = rows.map(({ body }) => JSON.parse(body))
    expect(told.map(({ event }) => event)).to.deep.equal(['sale.completed', 'receivable.created', 'sale.cancelled'])
    for (const { origin } of told) expect(origin).to.equal('pdv')
    const shown = async (n: number) => (await company.get(`/sales/${results[n].sale_id}`)).body.data
    expect([told[0].data, told[2].data]).to.deep.equal([await shown(0), await shown(1)])
    expect([told[1].data]).to.deep.equal((await company.get('/finance/receivables')).body.data)
  })

  it('warns of a Pix that another sale has, also of the same upload [SALE-785]', async () => {
    const pix = await company.paymentType('pix')
    const paidBy = (end_to_end_id: string) => ({
      payments: [{ payment_type_id: pix, amount: 10, status: 'completed', end_to_end_id }],
    })
    const payments = [{ payment_type_id: pix, amount: '20.00', end_to_end_id: 'E1' }]
    const sold = await counter.sell({ payments })
    const uploads = [counter.sale('a', paidBy('E1')), counter.sale('b', paidBy('E2')), counter.sale('c', paidBy('E2'))]
    const { results } = await upload(till, uploads)
    const of = (found: string, sale_id: number) => [
      { code: 'payment_already_used', message: `O pagamento ${found} já está na venda ${sale_id}.`, sale_id },
    ]
    const usedIn = ({ warnings = [] }: Json) => warnings.filter(({ code }: Json) => code === 'payment_already_used')
    const shown = results.map(usedIn)
    expect(shown).to.deep.equal([of('E1', sold.id), [], of('E2', results[1].sale_id)])
    const { warnings } = (await company.get(`/sales/${results[2].sale_id}`)).body.data
    expect(warnings).to.deep.equal([{ code: 'payment_already_used', sale_id: results[1].sale_id }])
    const again = (await upload(till, uploads)).results.map(usedIn)
    expect(again).to.deep.equal(shown)
  })
})
