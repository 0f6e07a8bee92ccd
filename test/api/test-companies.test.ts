import { expect } from 'chai'
import { beforeEach } from 'mocha'
import type { ReadAnswer } from '#api/api-route.ts'
import { readAsOf } from '#api/read-as-of.ts'
import { CreateStoreInput, createStore } from '#commands/store-commands.ts'
import type { PaymentProvider } from '#payments/provider-port.ts'
import { accountAt, withTestsAt } from '#payments/store-connections.ts'
import { listProductsForTill } from '#queries/products-for-till.ts'
import { findStore, type StoreAccess } from '#queries/store-queries.ts'
import { expectProblem } from '../support/answers.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'

const DAY_MS = 86_400_000

describe('test company', () => {
  const api = useApi()
  let tester: TestCompany
  beforeEach(async () => {
    tester = await api.company({ test: true })
  })

  const made = async (path: string, body: object, headers?: Record<string, string>): Promise<Json> => {
    const reply = await tester.post(path, body, headers)
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data
  }
  const dayAfter = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)

  it('is marked as such, and a real one as real [KIT-30]', async () => {
    expect((await tester.get('/me')).body.data.company.test).to.equal(true)
    expect((await (await api.company()).get('/me')).body.data.company.test).to.equal(false)
  })

  it('follows its moved clock at once, in cached lists too [KIT-34]', async () => {
    const account = { description: 'Aluguel', amount: '10.00', due_date: dayAfter(20) }
    const { id } = await made('/finance/receivables', account)
    const overdue = async () =>
      (await tester.get('/finance/receivables')).body.data.map(({ is_overdue }: Json) => is_overdue)
    expect(await overdue()).to.deep.equal([false])
    const { body } = await tester.post('/test/clock', { advance_days: 40 })
    expect(Date.parse(body.data.now) - Date.now()).to.be.within(40 * DAY_MS - 60_000, 40 * DAY_MS)
    expect((await tester.get('/test/clock')).body.data.today).to.equal(body.data.today)
    expect(await overdue()).to.deep.equal([true])
    expect((await tester.get(`/finance/receivables/${id}`)).body.data.is_overdue).to.equal(true)
    const [first] = (await tester.get('/events?types=TestClockMoved')).body.data
    expect(Date.parse(first.recorded_at)).to.be.at.most(Date.now() + 60_000)
    // Without a time, an account is settled at company time.
    const settled = await tester.post(
      `/finance/receivables/${id}/settle`,
      { payment_method: 'pix' },
      { 'idempotency-key': 'a' },
    )
    expect(settled.body.data.paid_at.slice(0, 10)).to.equal(body.data.today)
    await tester.post('/test/reset')
    expect(Date.parse((await tester.get('/test/clock')).body.data.now)).to.be.closeTo(Date.now(), 60_000)
  })

  it('moves the retries of deliveries forward by the same time', async () => {
    const { core, id } = tester
    await core.pool.query(
      `insert into ops.webhook_deliveries (company_id, id, webhook_id, message_id, event, replay, status, attempts, tries, next_attempt_at, created_at)
       select $1, gen_random_uuid(), 1, gen_random_uuid(), 'x', false, 'pending', '[]', 1, now() + wait, now()
       from unnest(array['6 hours', '40 hours', '5 seconds']::interval[]) as wait`,
      [id],
    )
    await tester.post('/test/clock', { advance_days: 1 })
    const { rows } = await core.pool.query(
      `select round(extract(epoch from next_attempt_at - now()) / 3600)::int as hours from ops.webhook_deliveries where company_id = $1 order by 1`,
      [id],
    )
    expect(rows.map(({ hours }) => hours)).to.deep.equal([0, 0, 16])
  })

  it('is erased: mirrors are notified, and no id is reused [KIT-36, KIT-37, KIT-38]', async () => {
    const other = await api.company({ test: true })
    await other.post('/customers', { name: 'Bia' })
    const person = { name: 'Ana Souza', external_id: 'ana' }
    const first = await made('/customers', person, { 'idempotency-key': 'k' })
    await made('/catalog/items', { name: 'Pão', price: '1.00', stock: '5', external_id: 'pao' })
    const { synced_at } = (await tester.get('/customers')).body.meta
    const revision = Number((await tester.get('/customers')).headers.get('x-ledger-revision'))
    const reset = await tester.post('/test/reset')
    expect(reset.body.data).to.deep.include({ id: tester.id, test: true })

    for (const path of ['/customers', '/catalog/items', '/customers/deleted'])
      expect((await tester.get(path)).body.data, path).to.deep.equal([])
    for (const path of [`/customers?updated_since=${synced_at}`, `/customers/deleted?since=${synced_at}`]) {
      const refused = await tester.get(path.replaceAll('+', '%2B'))
      expectProblem(refused, 410, 'test_data_erased')
      expect(refused.body.error.details).to.deep.equal({ erased_at: reset.body.data.erased_at })
    }
    // Start of the next round: nothing has happened since.
    const since = (await tester.get('/customers')).body.meta.synced_at
    expect((await tester.get(`/customers?updated_since=${since}`.replaceAll('+', '%2B'))).status).to.equal(200)

    const before = await readAsOf(api.core, tester.id, { revision }, '/customers')
    expect(before).to.have.property('refused', 'validation_failed')
    expect(JSON.stringify(before)).to.include('foram apagados na revisão')
    const after = await readAsOf(api.core, tester.id, { revision: revision + 1 }, '/customers')
    expect(JSON.parse(String((after as ReadAnswer).body)).data).to.deep.equal([])
    const again = await tester.post('/customers', person, { 'idempotency-key': 'k' })
    expect(again.headers.get('idempotent-replayed')).to.equal(null)
    expect(again.body.data.id).to.equal(first.id + 1)
    // Earlier personal data in the ledger is no longer readable.
    const named = (await tester.get('/events?types=CustomerCreated&opened=true')).body.data
    expect(named.map(({ opened, data }: Json) => (opened ?? data).name ?? null)).to.deep.equal([null, 'Ana Souza'])

    expect((await other.get('/customers')).body.data).to.have.length(1)
    const { core, id } = tester
    expect(await core.verifyTables(id)).to.deep.include({ kind: 'verified', differences: [] })
    expect((await tester.get('/events/verify')).body.data.valid).to.equal(true)
  })

  it('marks its sales in the ledger, so that no receipt passes for one of a real sale [KIT-42]', async () => {
    await made('/catalog/items', { name: 'Pão', price: '1.00', external_id: 'pao' })
    const payment_type_id = await tester.paymentType('cash')
    const items = [{ catalog_item_external_id: 'pao', quantity: '1' }]
    const sale = await made('/sales', { items, payments: [{ payment_type_id, amount: '1.00' }] })
    expect(sale).not.to.have.property('test')
    const [sold] = (await tester.get('/events?types=SaleCompleted')).body.data
    expect(sold.data.test).to.equal(true)
  })

  it('has sandbox stores only, with a token of no real account [KIT-40]', async () => {
    const input = CreateStoreInput.parse({ alias: `loja-${tester.id}`, commission_percentage: '1', sandbox: false })
    expect(await tester.run(createStore, input)).to.include({ sandbox: true })
    const { pool, vault } = tester.core
    const store = await findStore(pool, vault, input.alias)
    const asked: string[] = []
    const at = (name: string): PaymentProvider =>
      ({ getPaymentMethods: async () => void asked.push(name) }) as unknown as PaymentProvider
    const provider = withTestsAt(at('sandbox'), at('provider'))
    await provider.getPaymentMethods(accountAt(store as StoreAccess))
    await provider.getPaymentMethods({ accessToken: 'TEST-a', sandbox: true })
    expect([...asked, store?.accessToken]).to.deep.equal(['sandbox', 'provider', `TEST-${input.alias}`])
  })

  it('makes a till delete every product that it may have, and no new one', async () => {
    for (const name of ['Pão', 'Café']) await made('/catalog/items', { name, price: '1.00' })
    await tester.post('/test/reset')
    await made('/catalog/items', { name: 'Bolo', price: '1.00' })
    const { pool } = tester.core
    const read = (since: string) => listProductsForTill(pool, tester.id, since, () => true)
    expect((await read('2020-01-01T00:00:00.000Z'))?.deleted).to.equal('1,2')
    expect((await read(new Date(Date.now() + 60_000).toISOString()))?.deleted).to.equal('')
  })
})
