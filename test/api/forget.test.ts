import { expect } from 'chai'
import { answerPast } from '#api/read-as-of.ts'
import { personExample, supplierExample } from '#api/v1/person-routes.ts'
import { withPastCompany } from '#integrity/as-of.ts'
import { isRefusal } from '#ledger/command.ts'
import { eraseDuePersons } from '#privacy/erasures.ts'
import { bodyOf } from '../integrity/audit/past.ts'
import { expectProblem } from '../support/answers.ts'
import { type Json, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { fiscalDocument } from '../support/facts.ts'
import { createOutsideStore } from '../support/outside-store.ts'
import { openTill } from '../support/till.ts'
import { OWN_DATABASE, useCompanyPerTest } from '../support/use-api.ts'

const why = { ground: 'holder_request', reason: 'Protocolo 7' }
const NOTHING_LEFT = { name: null, document: null, phone: null, email: null, address: null, notes: null }

const accepted = async (reply: Promise<{ status: number; text: string; body: Json }>): Promise<Json> => {
  const { status, text, body } = await reply
  expect(status, text).to.be.within(200, 204)
  return body?.data
}

/** Customer with all fields, and records that contain the name: a sale, a settled account, and another one. */
async function known(company: TestCompany) {
  const cash = await company.paymentType('cash')
  const customer = await accepted(company.post('/customers', { ...personExample, notes: 'Alérgica' }))
  const { id: customer_id } = customer
  const line = { description: 'Café', quantity: '1', unit_price: '1.00' }
  const sell = () =>
    company.post('/sales', { customer_id, items: [line], payments: [{ payment_type_id: cash, amount: '1.00' }] })
  const sale = await accepted(sell())
  const account = { description: 'Fiado', amount: '5.00', due_date: '2026-12-01', customer_id }
  const receivable = await accepted(company.post('/finance/receivables', account))
  const settle = () =>
    accepted(
      company.post(
        `/finance/receivables/${receivable.id}/settle`,
        { payment_method: 'cash' },
        { 'idempotency-key': 's' },
      ),
    )
  return {
    customer,
    sale,
    receivable,
    settle,
    sell,
    forget: (body: object = why) => company.post(`/customers/${customer_id}/forget`, body),
  }
}

describe('erasure', () => {
  const { api, company } = useCompanyPerTest(OWN_DATABASE)

  const queued_erasures = async (): Promise<Json[]> =>
    (await company.get('/events?types=PersonForgotten&limit=200')).body.data.map(({ data }: Json) => data)

  const expectParity = async () => {
    expect(await api.core.verifyTables(company.id)).to.deep.include({ kind: 'verified', differences: [] })
  }

  it('erasure waits for a balance of store credit, deletion does not [PRIV-4] [CREDIT-3]', async () => {
    const till = await openTill(api.url, company)
    const credit = await company.paymentType('exchange_credit')
    const item = await accepted(company.post('/catalog/items', { name: 'Camisa', price: '8.00', stock: '9' }))
    const { id: customer_id } = await accepted(company.post('/customers', { name: 'Eva' }))
    const sale = {
      ...{
        offline_id: 'v1',
        status: 'completed',
        created_at: new Date(Date.now() - 60_000).toISOString(),
        customer_id,
      },
      items: [{ product_id: item.id, quantity: 1, price: 8, total: 8 }],
      payments: [{ payment_type_id: credit, amount: 8, status: 'completed' }],
      total: 8,
    }
    await till.post('/sync/sales', { sales: [sale] })
    const balance = async () => (await accepted(company.get(`/customers/${customer_id}/credit`))).balance
    expect(await balance()).to.equal('-8.00')
    const refused = await company.post(`/customers/${customer_id}/forget`, why)
    expectProblem(refused, 409, 'retention_required')
    expect(refused.body.error.details.needed_by).to.deep.equal([{ kind: 'store_credit', id: customer_id, until: null }])
    await accepted(company.call('DELETE', `/customers/${customer_id}`))
    expect(await balance()).to.equal('-8.00')
  })

  it('removes the person from all records, and keeps amounts, ids and times [PRIV-1, PRIV-2]', async () => {
    const { customer, sale, receivable, settle, forget } = await known(company)
    const refused = await forget()
    expectProblem(refused, 409, 'retention_required')
    expect(refused.body.error.details).to.deep.equal({
      until: null,
      needed_by: [{ kind: 'receivable', id: receivable.id, until: null }],
      count: 1,
    })
    const settled = await settle()
    const revision = Number((await company.get('/customers')).headers.get('x-ledger-revision'))
    const before = (await company.get(`/customers/${customer.id}`)).body.data
    const forgotten = await accepted(forget())
    expect(forgotten).to.deep.equal({
      ...before,
      ...NOTHING_LEFT,
      forgotten_at: forgotten.updated_at,
      updated_at: forgotten.updated_at,
    })
    expect((await company.get(`/customers/${customer.id}`)).body.data).to.deep.equal(forgotten)
    const named = { ...sale.customer, name: null }
    expect((await company.get(`/sales/${sale.id}`)).body.data).to.deep.equal({ ...sale, customer: named })
    expect((await company.get('/sales')).text).not.to.include('Maria')
    const account = (await company.get(`/finance/receivables/${receivable.id}`)).body.data
    expect(account).to.deep.equal({ ...settled, customer_name: null })
    for (const search of ['q=maria', 'name=silva', `document=${personExample.document}`])
      expect((await company.get(`/customers?${search}`)).body.data, search).to.deep.equal([])
    expect((await company.get('/customers?q=cli-001')).body.data).to.deep.equal([forgotten])
    expect(
      (await company.get(`/customers?updated_since=${encodeURIComponent(forgotten.updated_at)}`)).body.data,
    ).to.deep.equal([forgotten])
    expect(await accepted(forget())).to.deep.equal(forgotten)
    await expectParity()
    const then = await withPastCompany(api.core, company.id, { revision }, async (asOf) => ({
      customer: bodyOf(await answerPast(asOf, `/customers/${customer.id}`)),
      sale: bodyOf(await answerPast(asOf, `/sales/${sale.id}`)),
    }))
    if (isRefusal(then)) throw new Error(JSON.stringify(then))
    expect(JSON.parse(then.customer).data).to.deep.equal({ ...before, ...NOTHING_LEFT })
    expect(JSON.parse(then.sale).data).to.deep.equal({ ...sale, customer: named })
  })

  it('covers suppliers and orders, and deleted persons, who stay in the list of deleted records [PRIV-1]', async () => {
    const supplier = await accepted(company.post('/suppliers', supplierExample))
    const account = { description: 'Farinha', amount: '5.00', due_date: '2026-12-01', supplier_id: supplier.id }
    const payable = await accepted(company.post('/finance/payables', account))
    expectProblem(await company.post(`/suppliers/${supplier.id}/forget`, why), 409, 'retention_required')
    await accepted(company.call('DELETE', `/finance/payables/${payable.id}`))
    await accepted(company.call('DELETE', `/suppliers/${supplier.id}`))
    const deleted = (await company.get('/suppliers/deleted')).body.data
    const reply = await company.post(`/suppliers/${supplier.id}/forget`, why)
    expect([reply.status, reply.text]).to.deep.equal([204, ''])
    expect((await company.get('/suppliers/deleted')).body.data).to.deep.equal(deleted)
    const { rows } = await api.core.pool.query(
      `select doc::text from payables where company_id = $1 union all select doc::text from suppliers where company_id = $1`,
      [company.id],
    )
    expect(JSON.stringify(rows)).not.to.match(/Grão|bomgrao/)
    expectProblem(
      await company.call('PUT', `/suppliers/by-external/${supplierExample.external_id}`, { name: 'Outro' }),
      409,
      'person_forgotten',
    )
    expectProblem(await company.post('/suppliers/999999/forget', why), 404, 'not_found')
    expectProblem(await company.post('/suppliers/1/forget', { ground: 'restored_backup' }), 422, 'validation_failed')
    await expectParity()
  })

  it('waits for the legal retention, and runs once on the due day, on any process [PRIV-4, PRIV-5]', async () => {
    const { customer, sale, settle, forget } = await known(company)
    await settle()
    await accepted(company.call('PUT', `/sales/${sale.id}/fiscal-document`, fiscalDocument))
    expectProblem(await forget(), 409, 'retention_required')
    const queued = await forget({ ...why, queue: true })
    expect([queued.status, queued.body.data.forgetting_due_on]).to.deep.equal([202, '2031-03-11'])
    const { name, document, address } = customer
    expect(queued.body.data).to.deep.include({ name, document, address, phone: null, email: null, notes: null })
    expectProblem(
      await company.call('PATCH', `/customers/${customer.id}`, { phone: '11999990000' }),
      409,
      'person_forgotten',
    )
    await expectParity()
    const { pool, writer } = api.core
    const errors: unknown[] = []
    const sweep = () => eraseDuePersons({ pool, writer, retentionYears: 5, onError: (error) => errors.push(error) })
    await sweep()
    expect(await queued_erasures()).to.have.length(1)
    // Simulates five years.
    await pool.query('update queued_erasures set due_on = current_date - 1 where company_id = $1', [company.id])
    await sweep()
    expect((await company.get(`/customers/${customer.id}`)).body.data.forgetting_due_on).to.equal('2031-03-11')
    await pool.query('update queued_erasures set due_on = current_date - 1 where company_id = $1', [company.id])
    await pool.query(`update sales set documented_at = '2001-01-01' where company_id = $1`, [company.id])
    await Promise.all([sweep(), sweep(), sweep()])
    expect(await queued_erasures()).to.have.length(2)
    expect((await company.get(`/customers/${customer.id}`)).body.data).to.deep.include({
      ...NOTHING_LEFT,
      forgetting_due_on: null,
    })
    expect(errors).to.deep.equal([])
  })

  it('keeps contacts until accounts are settled, then erases them [PRIV-100]', async () => {
    const { customer, sale, settle, forget } = await known(company)
    await accepted(company.call('PUT', `/sales/${sale.id}/fiscal-document`, fiscalDocument))
    const { phone, email, notes } = customer
    const queued = await forget({ ...why, queue: true })
    expect(queued.status).to.equal(202)
    expect(queued.body.data).to.deep.include({ phone, email, notes, forgetting_due_on: '2031-03-11' })
    const { pool, writer } = api.core
    const onError = (error: unknown) => {
      throw error
    }
    const swept = async () => {
      await eraseDuePersons({ pool, writer, retentionYears: 5, onError })
      return (await company.get(`/customers/${customer.id}`)).body.data
    }
    expect(await swept()).to.deep.include({ phone, email, notes })
    await settle()
    const { name, document } = customer
    const rest = { name, document, phone: null, email: null, notes: null, forgetting_due_on: '2031-03-11' }
    for (let times = 0; times < 2; times++) expect(await swept()).to.deep.include(rest)
    expect(await queued_erasures()).to.have.length(1)
    await expectParity()
  })

  it('runs once for concurrent requests, and no concurrent sale keeps the name [PRIV-2, PRIV-6]', async () => {
    const { settle, sell, forget } = await known(company)
    await settle()
    const calls = Array.from({ length: 24 }, (_, n) => (n % 2 === 0 ? forget() : sell()))
    const statuses = (await Promise.all(calls)).map(({ status }) => status)
    expect(statuses.filter((_, n) => n % 2 === 0)).to.deep.equal(Array(12).fill(200))
    expect(statuses).to.include(409)
    expect(await queued_erasures()).to.have.length(1)
    expect((await company.get('/sales?limit=200')).text).not.to.include('Maria')
    await expectParity()
  })
})

describe('erasure with an event store outside Postgres', () => {
  const database = useDatabase()
  const store = createOutsideStore()
  let api: TestApi
  before(async () => {
    api = await startApi(database.url, { store, log: () => {} })
  })
  after(() => api.close())

  it('is completed by catch-up if its process dies between append and COMMIT [PRIV-2]', async () => {
    const company = await api.company()
    const { customer, sale, settle } = await known(company)
    await settle()
    const append = store.append
    store.append = async (...args) => {
      await append.apply(store, args)
      store.down = true
      throw new Error('the process died')
    }
    const path = `/customers/${customer.id}/forget`
    expectProblem(await company.post(path, why, { 'idempotency-key': 'f' }), 503, 'unavailable')
    store.append = append
    expect((await company.get(`/customers/${customer.id}`)).body.data.name).to.equal(customer.name)
    store.down = false
    const again = await company.post(path, why, { 'idempotency-key': 'f' })
    expect(again.body.data).to.deep.include(NOTHING_LEFT)
    expect((await company.get(`/sales/${sale.id}`)).body.data.customer.name).to.equal(null)
    const { rows } = await api.core.pool.query(
      `select part, wrapped from person_keys where company_id = $1 and subject = $2 order by part`,
      [company.id, `customer/${customer.id}`],
    )
    expect(rows).to.deep.equal([
      { part: 'contact', wrapped: null },
      { part: 'identity', wrapped: null },
    ])
    expect(await api.core.verifyTables(company.id)).to.deep.include({ kind: 'verified', differences: [] })
  })

  it('covers all persons in an erased test company, in catch-up too, and no later records [KIT-36, KIT-37]', async () => {
    const tester = await api.company({ test: true })
    await tester.post('/customers', { name: 'Ana', external_id: 'ana' })
    const append = store.append
    store.append = async (...args) => {
      await append.apply(store, args)
      store.down = true
      throw new Error('the process died')
    }
    expectProblem(await tester.post('/test/reset', undefined, { 'idempotency-key': 'r' }), 503, 'unavailable')
    store.append = append
    store.down = false
    const again = await tester.post('/test/reset', undefined, { 'idempotency-key': 'r' })
    expect([again.status, again.headers.get('idempotent-replayed')]).to.deep.equal([200, 'true'])
    await tester.post('/customers', { name: 'Bia', external_id: 'ana' })
    const { rows } = await api.core.pool.query(
      `select subject, wrapped is null as gone from person_keys where company_id = $1 and part = 'identity' order by subject`,
      [tester.id],
    )
    expect(rows).to.deep.equal([
      { subject: 'customer/1', gone: true },
      { subject: 'customer/2', gone: false },
    ])
    expect((await tester.get('/customers')).body.data.map(({ name }: Json) => name)).to.deep.equal(['Bia'])
    expect(await api.core.verifyTables(tester.id)).to.deep.include({ kind: 'verified', differences: [] })
  })
})
