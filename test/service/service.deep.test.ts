import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { createCustomer } from '#commands/person-commands.ts'
import { invoke } from '#ledger/command.ts'
import { asSystem, runList } from '#ledger/write/run.ts'
import { Unavailable } from '#lib/errors.ts'
import { createKeyedSemaphore, type KeyedSemaphore } from '#lib/fair-sharing.ts'
import { createHealthCheck } from '#service/interfaces.ts'
import { describeServiceOn } from '../ledger/outside-service.ts'
import { expectProblem } from '../support/answers.ts'
import { send, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { serverPid, stopLeftOver } from '../support/find-embedded.ts'
import { createOutsideStore, type FaultyStore } from '../support/outside-store.ts'
import { startService } from '../support/process.ts'
import { programOf, TEST_SETTINGS } from '../support/program.ts'
import { expectFailure, openTill, type TestTill } from '../support/till.ts'
import { until } from '../support/wait.ts'
import { bytesOf, openWire, type Wire } from '../support/wire.ts'
import { createFleet, type Fleet } from './fleet.ts'

describe('start and stop of a process', function () {
  this.timeout(120_000)
  const database = useDatabase()
  let fleet: Fleet

  beforeEach(() => {
    fleet = createFleet(database.url)
  })
  afterEach(() => fleet.close())

  it('reports a port that is in use, and ends', async () => {
    const other = createServer((_request, response) => response.writeHead(404).end())
    await new Promise<void>((done) => other.listen(0, done))
    const { port } = other.address() as AddressInfo
    const failure = await fleet.start('api', { PORT: String(port) }).catch((error: Error) => error)
    other.close().closeAllConnections()
    expect(failure).to.be.instanceOf(Error)
    const { message, cause } = failure as Error
    expect(message).to.include(`cannot listen on port ${port}`)
    expect(String(cause)).to.include('ended with 1')
  })

  it('keeps idle connections longer than load balancers do', async () => {
    const service = await fleet.start('api')
    const answer = await fetch(`${service.url}/health/live`)
    expect(answer.headers.get('keep-alive')).to.equal('timeout=65')
  })

  it('shuts down cleanly on a repeated signal, as Ctrl+C sends it through npm [OPS-6]', async () => {
    const service = await fleet.start('api', { LOG_LEVEL: 'info' })
    process.kill(service.pid, 'SIGINT')
    expect(await service.stop('SIGINT')).to.equal(0)
    expect(service.output()).to.include('"msg":"stopped"')
  })
})

describe('service with the embedded Postgres', function () {
  this.timeout(240_000)
  const STARTING = { timeout_ms: 120_000 }
  let dataDir: string
  let env: Record<string, string>

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'tillbook-owner-'))
    await chmod(dataDir, 0o755)
    env = { DATA_DIR: dataDir, SEED_DEMO: 'false', LOG_LEVEL: 'warn' }
  })
  afterEach(async () => {
    await stopLeftOver(dataDir)
    await rm(dataDir, { recursive: true })
  })

  it('a second service on the folder names the process that uses it, and exits with 1 [OPS-151]', async () => {
    const owner = await startService(env, STARTING)
    const failure: Error = await startService(env, STARTING).then(
      () => expect.fail('a second service has started'),
      (error) => error,
    )
    expect(failure.message).to.include(
      `${await realpath(dataDir)} is in use by a tillbook service (process ${owner.pid})`,
    )
    expect(failure.message).to.include('DATABASE_URL')
    expect(String(failure.cause)).to.include('ended with 1')
    expect((await fetch(`${owner.url}/health/ready`)).status).to.equal(200)
    expect(await owner.stop()).to.equal(0)
    expect(await serverPid(dataDir)).to.equal(undefined)
  })

  it('leaves no Postgres running if it is stopped during its start [OPS-151]', async () => {
    const { PATH = '', HOME = '' } = process.env
    const child = spawn(process.execPath, programOf('src/start.ts'), {
      env: { PATH, HOME, ...TEST_SETTINGS, ...env, PORT: '0' },
      stdio: 'ignore',
    })
    const ended = once(child, 'exit')
    await until(() => serverPid(dataDir), { ...STARTING, interval_ms: 1, what: 'the start of Postgres' })
    child.kill('SIGTERM')
    expect(await ended).to.deep.equal([0, null])
    expect(await serverPid(dataDir)).to.equal(undefined)
  })
})

describe('readiness of a role', () => {
  const health = async () => ({ postgres: 'up', event_store: 'down' }) as const
  const ledgersAhead = async () => 0
  const missingKeys = async () => []

  it('requires the event store, except in a process that only delivers [OPS-7]', async () => {
    expect(await createHealthCheck(['dispatcher'], { health, ledgersAhead, missingKeys })()).to.deep.equal({
      parts: { postgres: 'up' },
    })
    for (const roles of [['api'], ['projector'], ['projector', 'dispatcher']] as const) {
      const parts = { postgres: 'up', event_store: 'down' }
      expect(await createHealthCheck(roles, { health, ledgersAhead, missingKeys })()).to.deep.equal({ parts })
    }
  })

  it('health counts companies that lack keys, and does not depend on them [LEDGER-51]', async () => {
    const found = await createHealthCheck(['dispatcher'], { health, ledgersAhead, missingKeys: async () => [3, 4] })()
    expect(found).to.deep.equal({ parts: { postgres: 'up' }, read_only_without_keys: 2 })
  })

  it('reports stores that the provider refused, and does not depend on them [PAY-83]', async () => {
    const check = createHealthCheck(['dispatcher'], { health, ledgersAhead, missingKeys }, undefined, async () => 2)
    expect(await check()).to.deep.equal({ parts: { postgres: 'up' }, store_connections_refused: 2 })
  })

  it('reports ledgers ahead of the clock, and does not depend on them [LEDGER-20]', async () => {
    expect(
      await createHealthCheck(['dispatcher'], { health, ledgersAhead: async () => 2, missingKeys })(),
    ).to.deep.equal({
      parts: { postgres: 'up' },
      ledgers_ahead_of_clock: 2,
    })
  })
})

const CONNECTIONS = 4
/** More than a company may have queued, and than the whole queue holds. */
const BATCHES = 12
const CUSTOMERS = 500

describe('company beside one that saturates the service', function () {
  this.timeout(30_000)
  const database = useDatabase()
  let api: TestApi
  let greedy: TestCompany
  let other: TestCompany
  let till: TestTill
  let greedyTill: TestTill
  const wires: Wire[] = []
  const largeCalls = createKeyedSemaphore({ running: Number.POSITIVE_INFINITY, runningOfKey: 1, waiting: 2 })
  /** Large requests that were admitted. */
  let entered = 0
  const counted: KeyedSemaphore = Object.create(largeCalls, {
    acquire: {
      async value(...asked: Parameters<KeyedSemaphore['acquire']>) {
        const leave = await largeCalls.acquire(...asked)
        if (leave) entered += 1
        return leave
      },
    },
  })

  before(async () => {
    api = await startApi(database.url, {
      queryConnections: CONNECTIONS,
      log: () => {},
      largeCalls: counted,
    })
    greedy = await api.company()
    other = await api.company()
    till = await openTill(api.url, other)
    greedyTill = await openTill(api.url, greedy)
  })
  after(() => api.close())
  afterEach(() => {
    for (const wire of wires.splice(0)) wire.close()
  })

  /** Runs `work` while another session holds the locks of a statement. */
  async function whileHeld(statement: string, work: (release: () => Promise<void>) => Promise<void>): Promise<void> {
    const holder = await api.core.pool.connect()
    let isHeld = true
    const release = async () => {
      if (isHeld) await holder.query('rollback')
      isHeld = false
    }
    try {
      await holder.query('begin')
      await holder.query(statement)
      await work(release)
    } finally {
      await release()
      holder.release(true)
    }
  }
  const create = (company: TestCompany, name = 'Ana') => company.post('/customers', { name })
  const refused = (reply: Awaited<ReturnType<typeof create>>) => {
    expect(expectProblem(reply, 503, 'unavailable')).to.deep.equal({ reason: 'share_taken' })
    expect(reply.headers.get('retry-after')).to.equal('1')
  }

  it('writes and reads at full speed while all writes of the other one are queued [OPS-60]', async () => {
    const batch = (_: unknown, n: number) => {
      const customers = Array.from({ length: CUSTOMERS }, (_, m) =>
        invoke(createCustomer, { name: `Cliente ${n} ${m}` }),
      )
      return runList(api.core.writer, asSystem(greedy.id), customers).then(
        () => 'done',
        (error: unknown) => (error instanceof Unavailable ? 'unavailable' : error),
      )
    }
    await whileHeld(`select 1 from ops.ledgers where company_id = ${greedy.id} for update`, async (release) => {
      const first = batch(null, -1)
      await until(async () => {
        const { rows } = await api.core.pool.query(
          `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%ledgers%' and datname = current_database()`,
        )
        return rows.length > 0
      })
      const waiting = Array.from({ length: BATCHES }, batch)
      refused(await create(greedy))
      for (let n = 0; n < 5; n++) {
        expect((await create(other, `Bia ${n}`)).status).to.equal(201)
        expect((await other.get('/customers')).body.data).to.have.length(n + 1)
      }
      await release()
      const outcomes = await Promise.all([first, ...waiting])
      expect(outcomes.filter((outcome) => outcome === 'done').length, 'accepted ones are done').to.be.at.least(5)
      expect(outcomes.filter((outcome) => outcome === 'unavailable').length).to.be.at.least(5)
    })
    expect((await create(greedy)).status).to.equal(201)
  })

  it('reads at once while reads of the other one hold all connections of its share', async () => {
    let answered = 0
    let reads: Promise<unknown>[] = []
    await whileHeld('lock table read.suppliers in access exclusive mode', async (release) => {
      reads = Array.from({ length: CONNECTIONS * 3 }, () => greedy.get('/suppliers').then(() => (answered += 1)))
      await until(() => api.core.shared.queries?.used === CONNECTIONS * 3 - CONNECTIONS / 2)
      expect((await other.get('/customers')).status).to.equal(200)
      expect((await other.get('/me')).status).to.equal(200)
      expect((await till.get('/sync/config')).status).to.equal(200)
      expect((await create(other, 'Carla')).status).to.equal(201)
      expect(answered).to.equal(0)
      await release()
    })
    await Promise.all(reads)
    expect(answered).to.equal(CONNECTIONS * 3)
  })

  it('sends large lists while lists of the other one are in transit, which queue or are refused [OPS-63]', async () => {
    const items = Array.from({ length: 300 }, (_, n) => ({
      external_id: `c-${n}`,
      name: `Cliente com um nome comprido ${n}`,
      notes: 'x'.repeat(50),
    }))
    const sendBatch = (company: TestCompany) => company.post('/customers/batch', { items })
    const headers = [
      ['Authorization', `Bearer ${greedy.key}`],
      ['Content-Type', 'application/json'],
      ['Content-Length', '900000'],
    ] as const
    const wire = await openWire(api.url)
    wires.push(wire)
    wire.write(bytesOf({ method: 'POST', path: '/api/v1/customers/batch', headers, body: '{' }))
    await until(() => entered === 1)
    const waiting = sendBatch(greedy)
    await until(() => largeCalls.used === 1)
    refused(await sendBatch(greedy))
    const upload = { sales: items }
    expectFailure(await greedyTill.post('/sync/sales', upload), 503, /demais/)
    expect((await till.post('/sync/sales', upload)).status).to.equal(200)
    expect((await sendBatch(other)).status).to.equal(200)
    expect((await create(greedy, 'Pequena')).status, 'what is small waits for nothing').to.equal(201)
    wire.close()
    expect((await waiting).status).to.equal(200)
    expect((await sendBatch(greedy)).status).to.equal(200)
  })
})

const shared = createOutsideStore()
describeServiceOn('the stand-in for a store outside Postgres', () => shared)

describe('service with an unreachable event store', () => {
  const database = useDatabase()
  let api: TestApi
  let store: FaultyStore
  let company: TestCompany
  const logged: string[] = []

  before(async () => {
    store = createOutsideStore()
    api = await startApi(database.url, { store, log: (message) => logged.push(message) })
    company = await api.company()
  })
  beforeEach(() => {
    store.down = false
  })
  after(() => api.close())

  const ready = () => send(`${api.url}/health/ready`, 'GET')

  it('an outage refuses writes with 503, serves reads, and ends by itself [HTTP-13, OPS-7, OPS-8]', async () => {
    const before = await company.post('/customers', { name: 'Ana' })
    store.down = true
    const refused = await company.post('/customers', { name: 'Bia' }, { 'idempotency-key': 'bia' })
    expectProblem(refused, 503, 'unavailable')
    expect(refused.headers.get('retry-after')).to.match(/^\d+$/)
    expect((await company.get(`/customers/${before.body.data.id}`)).status).to.equal(200)
    const down = await ready()
    expect(down.status).to.equal(503)
    expect(down.body).to.deep.equal({ status: 'not_ready', parts: { postgres: 'up', event_store: 'down' } })
    store.down = false
    expect((await ready()).body).to.deep.equal({ status: 'ready', parts: { postgres: 'up', event_store: 'up' } })
    const accepted = await company.post('/customers', { name: 'Bia' }, { 'idempotency-key': 'bia' })
    expect(accepted.status).to.equal(201)
    expect((await company.get('/customers')).body.data).to.have.length(2)
  })

  it('starts, serves reads, and accepts writes once the store is reachable [OPS-7]', async () => {
    await company.post('/customers', { name: 'Caio' })
    store.down = true
    const other = await startApi(database.url, { store, log: (message) => logged.push(message) })
    try {
      const call = (method: string, body?: object) =>
        send(`${other.url}/api/v1/customers`, method, body, { authorization: `Bearer ${company.key}` })
      expect((await call('GET')).status).to.equal(200)
      expectProblem(await call('POST', { name: 'Davi' }), 503, 'unavailable')
      expect(logged).to.include('event store: catch-up failed, will retry')
      store.down = false
      await until(async () => (await send(`${other.url}/health/ready`, 'GET')).status === 200, { what: 'readiness' })
      expect((await call('POST', { name: 'Davi' })).status).to.equal(201)
    } finally {
      await other.close()
    }
  })
})
