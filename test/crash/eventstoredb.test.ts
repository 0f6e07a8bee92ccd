import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { createPool } from '#postgres/pool.ts'
import { tillbook } from '../cli/tillbook.ts'
import { tablesOf } from '../ledger/outside-service.ts'
import { type Json, type Reply, send } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { type FakeEventStoreDb, startFakeEventStoreDb } from '../support/fake-eventstoredb/server.ts'
import { copyKeys } from '../support/person-keys.ts'
import { type Service, startService } from '../support/process.ts'
import { until } from '../support/wait.ts'

const ROUNDS = 2
const SALES = 40
const STOCK = 1000

/** The service as a separate process with its ledgers in EventStoreDB, killed while it sells. */
describe('killed service on EventStoreDB', function () {
  this.timeout(240_000)
  const database = useDatabase()
  const lost = useDatabase('withoutReadModel')
  let server: FakeEventStoreDb
  let dataDir: string
  let service: Service | null = null
  let pools: Pool[]

  before(async () => {
    server = await startFakeEventStoreDb()
    dataDir = await mkdtemp(join(tmpdir(), 'tillbook-crash-'))
    pools = [database.url, lost.url].map((url) => createPool(url, { max: 1 }))
  })
  after(async () => {
    await service?.kill()
    await Promise.all(pools.map((pool) => pool.end()))
    await server.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  const settings = (databaseUrl: string): Record<string, string> => ({
    DATABASE_URL: databaseUrl,
    EVENTSTORE_URL: server.url,
    DATA_DIR: dataDir,
    SEED_DEMO: 'true',
    QUOTA_PER_MINUTE: '100000',
    LOG_LEVEL: 'error',
  })
  const start = async () => {
    service = await startService(settings(database.url))
    return service
  }
  let key = ''
  const call = (method: string, path: string, body?: Json, headers: Record<string, string> = {}): Promise<Reply> =>
    send(`${service?.url}/api/v1${path}`, method, body, { authorization: `Bearer ${key}`, ...headers })

  it('records every sale once, acknowledged or not, after a kill under load [OPS-5]', async () => {
    await start()
    key = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8')).companies[0].api_key
    const { body: types } = await call('GET', '/sales/payment-types')
    const cash = types.data.find(({ kind }: Json) => kind === 'cash').id
    const made = await call('POST', '/catalog/items', { name: 'Erva', price: '18.90', stock: String(STOCK) })
    const item = made.body.data.id
    const sold = (await call('GET', '/sales?limit=200')).body.data.length
    const sell = (round: number, n: number) =>
      call(
        'POST',
        '/sales',
        {
          items: [{ catalog_item_id: item, quantity: '1' }],
          payments: [{ payment_type_id: cash, amount: '18.90' }],
        },
        { 'idempotency-key': `rodada-${round}-${n}` },
      )
    for (let round = 0; round < ROUNDS; round++) {
      const acknowledged = new Map<number, Reply>()
      // The append succeeds, and the service is killed before it learns the outcome.
      server.faults.push(...Array.from({ length: round }, () => 'none' as const), 'silence')
      const selling = Promise.allSettled(
        Array.from({ length: SALES }, async (_, n) => {
          const reply = await sell(round, n)
          if (reply.status === 201) acknowledged.set(n, reply)
        }),
      )
      await until(() => server.faults.length === 0, { interval_ms: 1, what: 'the append without an answer' })
      await service?.kill()
      await selling
      await start()
      for (let n = 0; n < SALES; n++) {
        const again = await sell(round, n)
        expect(again.status, again.text).to.equal(201)
        const before = acknowledged.get(n)
        if (before) expect(again.text).to.equal(before.text)
      }
    }
    expect((await call('GET', `/catalog/items/${item}`)).body.data.stock).to.equal(`${STOCK - ROUNDS * SALES}.000`)
    const sales = (await call('GET', '/sales?limit=200')).body
    expect(sales.data).to.have.length(sold + ROUNDS * SALES)
    expect(sales.meta.next_cursor).to.equal(null)
    const { body: verified } = await call('GET', '/events/verify')
    expect(verified.data ?? verified).to.include({ valid: true, first_error: null })
  })

  it('shuts down cleanly, also after a readiness check', async () => {
    await until(async () => (await fetch(`${service?.url}/health/ready`)).ok)
    expect(await service?.stop()).to.equal(0)
  })

  it('refuses an empty Postgres without its event store, and restores everything with it', async () => {
    await server.kill()
    const failure = await startService(settings(lost.url)).catch((error: Error) => error)
    expect(failure).to.be.instanceOf(Error).with.property('message').that.includes('the event store cannot be reached')
    await server.start()
    await copyKeys(database.url, lost.url)
    service = await startService(settings(lost.url))
    const [kept, rebuilt] = pools as [Pool, Pool]
    const { rows } = await kept.query('select company_id from companies order by 1')
    expect(rows).to.have.length.above(1)
    for (const { company_id } of rows)
      expect(await tablesOf(rebuilt, company_id)).to.deep.equal(await tablesOf(kept, company_id))
    expect((await rebuilt.query('select from ops.demo_companies')).rows).to.have.length(0)
    const created = await tillbook(
      settings(lost.url),
      ...['company', 'create', '--name', 'Nova', '--cnpj', '11222333000181', '--json'],
    )
    expect(created.code, created.stderr).to.equal(0)
    expect(JSON.parse(created.stdout).id).to.be.above(rows.at(-1).company_id)
  })
})
