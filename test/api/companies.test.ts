import { expect } from 'chai'
import fc from 'fast-check'
import { beforeEach } from 'mocha'
import { v7 as uuidv7 } from 'uuid'
import type { ReadAnswer } from '#api/api-route.ts'
import { readPast } from '#api/read-as-of.ts'
import { updateCompany } from '#commands/company-commands.ts'
import { CreateStoreInput, createStore } from '#commands/store-commands.ts'
import { inZone } from '#domain/instant.ts'
import type { PaymentProvider } from '#payments/provider-port.ts'
import { accountAt, withTestsAt } from '#payments/store-connections.ts'
import { findStore, type StoreAccess } from '#queries/company-queries.ts'
import { listProductsForTill } from '#queries/till-downloads.ts'
import { SIDES, settle } from '../support/accounts.ts'
import { expectProblem, LOCAL_TIME, recordText } from '../support/answers.ts'
import type { Json, Reply, TestCompany } from '../support/api.ts'
import { contract } from '../support/contract.ts'
import { useApi, useCompany } from '../support/use-api.ts'

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

  it('is marked as such, and a real one as real [KIT-32]', async () => {
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

  it('is erased: mirrors are notified, and no id is reused [KIT-36, KIT-37, HTTP-15]', async () => {
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

    const before = await readPast(api.core, tester.id, { revision }, '/customers')
    expect(before).to.have.property('refused', 'validation_failed')
    expect(JSON.stringify(before)).to.include('foram apagados na revisão')
    const after = await readPast(api.core, tester.id, { revision: revision + 1 }, '/customers')
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

/** Offsets -02:00, -05:00 with and without daylight saving time, +01:00 with it, and +05:45. */
const ZONES = ['America/Noronha', 'America/Rio_Branco', 'America/New_York', 'Europe/Lisbon', 'Asia/Kathmandu'] as const
const FIRST = 'America/Sao_Paulo'

/** Text of a caller that looks like a member; it must stay unchanged. */
const QUOTED = '"created_at":"2026-07-01T12:00:00.000-03:00"'
const INSTANT_AS_ID = '2026-07-01T12:00:00.000-03:00'

const utc = (instant: string) => new Date(instant).toISOString()

/** All members of a value, at any depth: [name, value]. */
function membersOf(value: Json): [string, Json][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries<Json>(value).flatMap(([name, member]) => [[name, member], ...membersOf(member)])
}

const instantsOf = (body: Json) =>
  membersOf(body).filter(([name, value]) => name !== 'external_id' && LOCAL_TIME.test(value))

/** Body without offsets, `synced_at` (follows the ledger) and `server_time` (follows the clock). */
const meaning = (body: Json) =>
  JSON.parse(JSON.stringify(body), (name, value) => {
    if (name === 'synced_at' || name === 'server_time') return null
    return name !== 'external_id' && LOCAL_TIME.test(value) ? utc(value) : value
  })

function expectZone(reply: Reply, zone: string, what: string): void {
  // Reads are 200, creations 201.
  expect(reply.status, what).to.be.oneOf([200, 201])
  for (const [name, shown] of instantsOf(reply.body))
    expect(shown, `${what}: ${name}`).to.equal(inZone(utc(shown), zone))
}

describe('instants after a change of the time zone', () => {
  const { api, company } = useCompany()
  let paths: string[]
  let customer: string
  let zone: string = FIRST

  const move = async (timezone: string) => {
    await company.run(updateCompany, { timezone })
    zone = timezone
  }
  const create = async (path: string, body: object) => {
    const reply = await company.post(path, body)
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data
  }

  /** Records of every kind with instants, in summer and winter. */
  before('fill the company', async () => {
    const cash = await company.paymentType('cash')
    const { id } = await create('/customers', { name: QUOTED, external_id: INSTANT_AS_ID })
    customer = `/customers/${id}`
    const gone = await create('/customers', { name: 'Sai' })
    await company.call('DELETE', `/customers/${gone.id}`)
    const supplier = await create('/suppliers', { name: 'Moinho' })
    const category = await create('/catalog/categories', { name: QUOTED, external_id: INSTANT_AS_ID })
    const item = await create('/catalog/items', { name: 'Café', price: '10.00', stock: '9', category_id: category.id })
    const sell = (sold_at: string) =>
      create('/sales', {
        sold_at,
        items: [{ catalog_item_id: item.id, quantity: '1' }],
        payments: [{ payment_type_id: cash, amount: '10.00' }],
      })
    const sale = await sell('2026-07-01T12:00:00Z')
    const cancelled = await sell('2026-01-10T23:59:59.999-03:00')
    await company.post(`/sales/${cancelled.id}/cancel`, { reason: QUOTED })
    const accounts = await Promise.all(
      SIDES.map(async (side) => {
        const account = await create(side.path, { description: 'Aluguel', amount: '1.00', due_date: '2026-12-01' })
        await settle(company, side, account.id, { payment_method: 'pix', paid_at: '2026-07-15T02:30:00Z' })
        return `${side.path}/${account.id}`
      }),
    )
    const { alias } = await company.run(createStore, { alias: 'loja', commission_percentage: '5.00', sandbox: true })
    const order = await create('/orders', {
      store_alias: alias,
      customer: { name: 'Ana' },
      items: [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }],
    })
    const webhook = await create('/webhooks', { url: 'https://erp.example/', events: ['basic'] })
    await company.post(`/webhooks/${webhook.id}/test`)
    paths = [
      '/me',
      '/customers',
      '/customers?updated_since=2020-01-01T00:00:00Z',
      '/customers/deleted',
      customer,
      `/suppliers/${supplier.id}`,
      '/catalog/categories',
      `/catalog/categories/${category.id}`,
      '/catalog/items',
      `/catalog/items/${item.id}`,
      '/sales',
      `/sales/${sale.id}`,
      `/sales/${cancelled.id}`,
      ...SIDES.map(({ path }) => path),
      ...accounts,
      '/orders',
      `/orders/${order.id}`,
      '/webhooks',
      `/webhooks/${webhook.id}`,
      `/webhooks/${webhook.id}/deliveries`,
    ]
  })

  const readAll = async () =>
    new Map(await Promise.all(paths.map(async (path) => [path, await company.get(path)] as const)))
  const lastMessage = async () => {
    const { rows } = await api.core.pool.query<{ body: string }>(
      'select body from webhook_messages where company_id = $1 and revision is not null order by revision desc limit 1',
      [company.id],
    )
    return JSON.parse(rows[0]?.body ?? '')
  }
  /** Change of the customer: afterwards it has instants in the old and the new zone. */
  const touch = () => company.call('PATCH', customer, { notes: uuidv7() })

  it('times have the offset of the current zone, and stay the same instants [VAL-3] [ACCT-7]', async () => {
    const zones = fc.array(fc.constantFrom(...ZONES, FIRST), { minLength: 1, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(zones, async (moves) => {
        await touch()
        const before = await readAll()
        for (const each of moves) await move(each)
        for (const [path, reply] of await readAll()) {
          expectZone(reply, zone, path)
          expect(instantsOf(reply.body), path).not.to.deep.equal([])
          expect(meaning(reply.body), path).to.deep.equal(meaning(before.get(path)?.body))
        }
      }),
      { numRuns: 8 },
    )
  })

  it('have the same bytes in responses to commands, batches, GET, and in webhooks [VAL-5] [HOOK-9]', async () => {
    await move('America/Noronha')
    await touch()
    await move('America/New_York')
    const { external_id, name } = (await touch()).body.data
    const batch = await company.post('/customers/batch', { items: [{ external_id, name, notes: 'outra' }] })
    expectZone(batch, zone, 'batch')
    expect(batch.text).to.include(recordText(await company.get(customer)))
    const changed = await touch()
    expectZone(changed, zone, 'PATCH')
    const shown = recordText(await company.get(customer))
    expect(recordText(changed)).to.equal(shown)
    const { event, ...told } = await lastMessage()
    expect(event).to.equal('customer.updated')
    expect(told.occurred_at).to.equal(JSON.parse(shown).updated_at)
    expect(JSON.stringify(told.data)).to.equal(shown)
  })

  it('stay unchanged in stored responses and as of earlier revisions [IDEM-2] [ASOF-1]', async () => {
    await move('America/Rio_Branco')
    const ask = () => company.post('/suppliers', { name: 'Uma vez' }, { 'idempotency-key': 'uma-vez' })
    const first = await ask()
    const path = `/suppliers/${first.body.data.id}`
    const then = Number(first.headers.get('x-ledger-revision'))
    await move('Asia/Kathmandu')
    const again = await ask()
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
    expect(again.text).to.equal(first.text)
    const past = await readPast(api.core, company.id, { revision: then }, path)
    expect(past).to.include({ body: first.text })
    const now = await company.get(path)
    expectZone(now, zone, path)
    expect(now.text).not.to.equal(first.text)
  })

  it('do not change their records, and cursors continue [LIST-4] [LIST-3]', async () => {
    const page = (await company.get('/sales?limit=1')).body
    const changes = (await company.get('/sales?limit=1&updated_since=2020-01-01T00:00:00Z')).body
    await touch()
    const { synced_at } = (await company.get('/customers?limit=1')).body.meta
    await move('Europe/Lisbon')
    await move('America/Noronha')
    for (const path of ['/sales', '/orders', '/finance/payables', '/suppliers']) {
      const since = encodeURIComponent(synced_at)
      expect((await company.get(`${path}?updated_since=${since}`)).body.data, path).to.deep.equal([])
    }
    for (const [{ meta }, more] of [
      [page, ''],
      [changes, '&updated_since=2020-01-01T00:00:00Z'],
    ]) {
      const next = await company.get(`/sales?limit=1${more}&cursor=${meta.next_cursor}`)
      expect(next.body.data).to.have.length(1)
      expectZone(next, zone, 'the next page')
    }
  })

  it('are recognised by member names, not in texts', () => {
    const instants = new Set<string>()
    const visit = (node: Json): void => {
      if (typeof node !== 'object' || node === null) return
      for (const [name, field] of Object.entries<Json>(node.properties ?? {})) {
        const kinds = [field, ...(field.oneOf ?? [])]
        if (kinds.some(({ pattern }) => pattern?.endsWith('[+-]\\d{2}:\\d{2}$'))) instants.add(name)
        else if (/_at$|(^|_)since$/.test(name) && kinds.some(({ type }) => [type].flat().includes('string')))
          expect(JSON.stringify(field), name).to.include('"format":"date-time"')
      }
      Object.values(node).forEach(visit)
    }
    visit(contract)
    expect(instants).to.include('stock_updated_at')
    // Computed on request: server time, attempts of a delivery, time of a test company.
    const others = [...instants].filter((name) => !/_at$|(^|_)since$/.test(name))
    expect(others).to.have.members(['server_time', 'at', 'now'])
  })
})
