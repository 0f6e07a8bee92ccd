import { expect } from 'chai'
import { hashEnvelope, streamName } from '#ledger/command.ts'
import type { CatchUpSubscription } from '#ledger/follow/follower.ts'
import type { OutsideStore } from '#ledger/port.ts'
import { createEventStoreDb } from '#ledger/stores/eventstoredb.ts'
import { collect } from '../ledger/event-store-contract.ts'
import { tablesOf } from '../ledger/outside-service.ts'
import { allowNoStrayRejections } from '../ledger/stray-rejections.ts'
import { type Json, type Reply, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { type FakeEventStoreDb, startFakeEventStoreDb } from '../support/fake-eventstoredb/server.ts'
import { until } from '../support/wait.ts'

const STOCK = 500

/** Behaviour of the service while the event store fails: refusals promise nothing, and later answers are correct. */
describe('service during outages of EventStoreDB', function () {
  this.timeout(120_000)
  allowNoStrayRejections()
  const database = useDatabase()
  let server: FakeEventStoreDb
  let store: OutsideStore
  let api: TestApi
  let company: TestCompany
  let item: number
  let cash: number

  before(async () => {
    server = await startFakeEventStoreDb()
    store = createEventStoreDb(server.url)
    api = await startApi(database.url, { store, log: () => {} })
  })
  beforeEach(async () => {
    company = await api.company()
    cash = await company.paymentType('cash')
    item = (await company.post('/catalog/items', { name: 'Café', price: '18.90', stock: String(STOCK) })).body.data.id
  })
  after(async () => {
    await api.close()
    await server.close()
  })

  const sell = (key: string): Promise<Reply> =>
    company.post(
      '/sales',
      {
        items: [{ catalog_item_id: item, quantity: '1' }],
        payments: [{ payment_type_id: cash, amount: '18.90' }],
      },
      { 'idempotency-key': key },
    )
  const keys = (count: number) => Array.from({ length: count }, (_, n) => `venda-${n}`)
  const expectUnavailable = ({ status, body, headers }: Reply) => {
    expect(status).to.equal(503)
    expect(body.error.code).to.equal('unavailable')
    expect(Number(headers.get('retry-after'))).to.be.at.least(1)
  }
  const recovered = () =>
    until(async () => (await api.core.health()).event_store === 'up', { timeout_ms: 30_000, what: 'the recovery' })

  /** Each key has one sale, the one answered first; stock, ledger and a replay agree. */
  async function expectEachOnce(first: ReadonlyMap<string, Reply>): Promise<void> {
    for (const [key, reply] of first) {
      const again = await sell(key)
      expect(again.status).to.equal(201)
      if (reply.status === 201) expect(again.text).to.equal(reply.text)
      else expectUnavailable(reply)
    }
    const sales: Json[] = []
    for (let cursor = ''; ; ) {
      const { body } = await company.get(`/sales?limit=200${cursor}`)
      sales.push(...body.data)
      if (!body.meta.next_cursor) break
      cursor = `&cursor=${body.meta.next_cursor}`
    }
    expect(sales).to.have.length(first.size)
    expect((await company.get(`/catalog/items/${item}`)).body.data.stock).to.equal(`${STOCK - first.size}.000`)
    const events = await collect(store.read(streamName(company.id), 0))
    for (const [revision, { hash, ...rest }] of events.entries()) {
      expect(rest.revision).to.equal(revision)
      expect(hash).to.equal(hashEnvelope(rest))
    }
    expect(events.filter(({ type }) => type === 'SaleCompleted')).to.have.length(first.size)
    const { revision } = (await company.get('/events/verify')).body.data
    expect(revision).to.equal(events.length - 1)
  }

  it('answers every sale once if its append is acknowledged, cut off or never answered', async () => {
    server.faults.push('cut', 'none', 'silence', 'cut', 'cut', 'none', 'cut', 'lost', 'end', 'not leader')
    server.faults.push('none', 'time-out', 'not ready', 'end', 'none', 'not leader', 'time-out')
    const replies = new Map<string, Reply>()
    for (let round = 0; server.faults.length > 0; round++) {
      await recovered()
      const group = keys(20).map((key) => `${key}-${round}`)
      const answers = await Promise.all(group.map(sell))
      for (const [place, key] of group.entries()) replies.set(key, answers[place] as Reply)
    }
    await recovered()
    await expectEachOnce(replies)
  })

  it('refuses writes and serves reads while the server is down, and recovers by itself [OPS-8]', async () => {
    const replies = new Map<string, Reply>()
    const selling = keys(60).map(async (key) => replies.set(key, await sell(key)))
    const length = server.all.length
    await until(() => server.all.length > length, { interval_ms: 1, what: 'the first of the sales' })
    await server.kill()
    await Promise.all(selling)
    expectUnavailable(await sell('enquanto'))
    expect((await company.get(`/catalog/items/${item}`)).status).to.equal(200)
    expect((await company.get('/sales')).status).to.equal(200)
    expect(await api.core.health()).to.deep.include({ event_store: 'down', postgres: 'up' })
    await server.start()
    await recovered()
    replies.set('enquanto', await sell('enquanto'))
    await expectEachOnce(replies)
  })

  it('refuses writes if the server accepts connections but never answers, and locks no ledger', async () => {
    server.freeze()
    const refused = await Promise.all(keys(40).map(sell))
    for (const reply of refused) expectUnavailable(reply)
    expect(await api.core.health()).to.deep.include({ event_store: 'down' })
    expect((await company.get('/sales')).body.data).to.have.length(0)
    const { rows } = await api.core.pool.query('select from ops.ledgers for update skip locked')
    const { rows: all } = await api.core.pool.query('select from ops.ledgers')
    expect(rows.length).to.equal(all.length)
    server.thaw()
    await recovered()
    await expectEachOnce(new Map(keys(40).map((key, place) => [key, refused[place] as Reply])))
  })

  describe('with a second read model that follows', () => {
    const other = useDatabase()
    let follower: CatchUpSubscription | null = null
    let reader: TestApi

    before(async () => {
      reader = await startApi(other.url, { store: createEventStoreDb(server.url), log: () => {} })
      follower = reader.core.follow()
    })
    after(async () => {
      await follower?.stop()
      await reader.close()
    })

    it('resumes after its subscription was cut, frozen or refused, with equal tables', async () => {
      const same = () =>
        until(
          async () => {
            expect(await tablesOf(reader.core.pool, company.id)).to.deep.equal(
              await tablesOf(api.core.pool, company.id),
            )
            return true
          },
          { timeout_ms: 60_000, interval_ms: 200, what: 'the same tables' },
        )
      await sell('a')
      await same()
      server.reset()
      await recovered()
      await sell('b')
      await same()
      await server.kill()
      await server.start()
      await recovered()
      await sell('c')
      await same()
      expect(await tablesOf(api.core.pool, company.id))
        .to.have.property('sales')
        .with.length(3)
    })
  })
})
