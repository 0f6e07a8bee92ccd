import { expect } from 'chai'
import { createCustomer } from '#commands/person-commands.ts'
import { invoke } from '#ledger/command.ts'
import { asSystem, runList } from '#ledger/write/run.ts'
import { Unavailable } from '#lib/errors.ts'
import { createKeyedSemaphore, type KeyedSemaphore } from '#lib/fair-sharing.ts'
import { expectProblem } from '../support/answers.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { expectFailure, openTill, type TestTill } from '../support/till.ts'
import { until } from '../support/wait.ts'
import { bytesOf, openWire, type Wire } from '../support/wire.ts'

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
