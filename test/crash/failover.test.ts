import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { verifyLedger } from '#integrity/verify.ts'
import { lookUpReplay } from '#ledger/write/idempotency.ts'
import { createPool } from '#postgres/pool.ts'
import { times } from '../service/fleet.ts'
import { send, startApi, type TestCompany } from '../support/api.ts'
import { type Service, startService } from '../support/process.ts'
import { DEPTH } from '../support/random.ts'
import { administer } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { type Cutter, startCutter } from './cutter.ts'
import { type ReplicatedPostgres, startReplicated } from './replicated-postgres.ts'

const WRITERS = 24
/** Number of failovers in deep runs; other runs fail over once, and once more without load. */
const FAILOVERS = DEPTH > 10 ? DEPTH : 1
/** Number of answers before and after each failover. */
const ANSWERS = 200
const PATIENCE = { timeout_ms: 60_000 }

/** Faults of a primary. */
const FAULTS = ['frozen', 'cut off', 'killed'] as const

describe('failover to a synchronous replica', function () {
  this.timeout(60_000 + FAILOVERS * 30_000)
  let postgres: ReplicatedPostgres
  let service: Service | undefined
  let company: TestCompany
  /** Proxies by the URL of the server behind them. */
  const ways = new Map<string, Cutter>()

  before(async function () {
    const started = await startReplicated()
    if (typeof started === 'string') {
      console.log(`      skipped: ${started}`)
      this.skip()
    }
    postgres = started
    for (const url of [postgres.primary, postgres.standby])
      ways.set(url, await startCutter('127.0.0.1', Number(new URL(url).port)))
    const office = await startApi(postgres.primary)
    company = await office.company()
    await office.close()
    // The replica comes first: the service must find the primary itself.
    const hosts = [postgres.standby, postgres.primary].map((url) => `127.0.0.1:${ways.get(url)?.port}`)
    service = await startService({
      DATABASE_URL: `postgres://tillbook@${hosts}/postgres?target_session_attrs=read-write`,
      // Both servers commit durably.
      ALLOW_UNDURABLE_POSTGRES: 'false',
      QUOTA_PER_MINUTE: '1000000',
      QUOTA_PER_DAY: '1000000',
      LOG_LEVEL: 'silent',
    })
  })
  after(async () => {
    await service?.kill()
    for (const way of ways.values()) await way.close()
    await postgres?.stop()
  })

  const create = (name: string, key: string) => {
    const headers = { authorization: `Bearer ${company.key}`, 'idempotency-key': key }
    return send(`${service?.url}/api/v1/customers`, 'POST', { name, person_type: 'PF' }, headers)
  }

  async function strike(fault: (typeof FAULTS)[number]): Promise<void> {
    if (fault === 'killed') await postgres.killPrimary()
    else if (fault === 'frozen') await postgres.freeze('primary')
    else (ways.get(postgres.primary) as Cutter).isSilent = true
  }

  /** The former primary is reachable again, accepts writes, and waits for no replica. */
  async function returnAsPrimary(): Promise<void> {
    const former = postgres.standby
    await administer(former, async (client) => {
      await client.query(`alter system set synchronous_standby_names = ''`)
      await client.query('select pg_reload_conf()')
    })
    const way = ways.get(former) as Cutter
    way.isSilent = false
    way.cutAll()
  }

  it(`loses and repeats no acknowledged write under 24 writers [OPS-39] [OPS-113]`, async () => {
    const load = startWriters(create)
    const refused: { fault: string; since_fault_ms: number; since_promotion_ms: number }[] = []
    for (const n of times(FAILOVERS, (each) => each)) {
      const fault = FAULTS[n % FAULTS.length] as (typeof FAULTS)[number]
      const before = load.acknowledged.size
      await until(() => load.acknowledged.size >= before + ANSWERS, {
        ...PATIENCE,
        what: `writes before failover ${n}`,
      })
      const struck = performance.now()
      await strike(fault)
      await postgres.promote()
      const promoted = performance.now()
      const answered = await load.nextAfter(promoted)
      refused.push({ fault, since_fault_ms: answered - struck, since_promotion_ms: answered - promoted })
      if (fault === 'cut off') await returnAsPrimary()
      const after = load.acknowledged.size
      await until(() => load.acknowledged.size >= after + ANSWERS, { ...PATIENCE, what: `writes after failover ${n}` })
      await postgres.rejoin(n % 2 === 0 ? 'pg_rewind' : 'pg_basebackup')
      for (const way of ways.values()) way.isSilent = false
    }
    await load.stop()
    report(refused)
    await expectAllKept(load.acknowledged)
  })

  it('never writes to a former primary that returns, even if the new one is down [OPS-114]', async () => {
    await strike('cut off')
    await postgres.promote()
    await until(async () => (await create('Depois', randomUUID())).status === 201, PATIENCE)
    const countOnFormer = () =>
      administer(postgres.standby, async (client) => {
        const { rows } = await client.query('select revision from ops.ledgers where company_id = $1', [company.id])
        return rows[0].revision
      })
    await returnAsPrimary()
    const before = await countOnFormer()
    const current = ways.get(postgres.primary) as Cutter
    current.fateOf = () => 'cut'
    current.cutAll()
    const key = randomUUID()
    for (const _ of times(5, () => null)) expect((await create('Nunca lá', key)).status).to.equal(503)
    expect(await countOnFormer()).to.equal(before)
    current.fateOf = () => 'pass'
    await until(async () => (await create('Nunca lá', key)).status === 201, PATIENCE)
    expect(await countOnFormer()).to.equal(before)
    await postgres.rejoin('pg_rewind')
  })

  it('acknowledges nothing that no replica has, even if the wait is cancelled [OPS-110] [OPS-111]', async () => {
    const former = randomUUID()
    expect((await create('Antes', former)).status).to.equal(201)
    await postgres.freeze('standby')
    const key = randomUUID()
    let answered: number | null = null
    const writing = create('Esperando', key).then(({ status }) => (answered = status))
    const cancel = await until(() => waitingAtCommit('tillbook'), { what: 'a COMMIT that waits' })
    await administer(postgres.primary, (client) => client.query('select pg_cancel_backend($1)', [cancel]))
    // The retry finds it in the ledger and waits again.
    const isOther = async () => ((await waitingAtCommit('tillbook')) ?? cancel) !== cancel
    await until(isOther, { what: 'a COMMIT that waits for what the first one wrote' })
    const { rows } = await administer(postgres.primary, (client) =>
      client.query('select key, request_hash from ops.idempotent_answers where key like $1', [`% ${former}`]),
    )
    const pool = createPool(postgres.primary, { max: 1, application_name: 'repeating' })
    const replaying = lookUpReplay(pool, {
      companyId: company.id,
      actor: rows[0].key.split(' ')[0],
      idempotency: { key: former, requestHash: rows[0].request_hash },
    })
    await until(() => waitingAtCommit('repeating'), { what: 'the answer to a repetition, which waits' })
    expect(answered).to.equal(null)
    await postgres.freeze('standby', 'SIGCONT')
    expect(await writing).to.equal(201)
    expect(await replaying).to.include({ outcome: 'created', replayed: true })
    await pool.end()
    expect((await create('Esperando', key)).body.data.name).to.equal('Esperando')
    const { rowCount } = await administer(postgres.primary, (client) =>
      client.query(`select from read.customers where company_id = $1 and doc->>'name' = 'Esperando'`, [company.id]),
    )
    expect(rowCount).to.equal(1)
  })

  /** Backend process id of a session that waits for the replica. */
  const waitingAtCommit = (application: string): Promise<number | undefined> =>
    administer(postgres.primary, async (client) => {
      const { rows } = await client.query(
        `select pid from pg_stat_activity where wait_event = 'SyncRep' and application_name = $1`,
        [application],
      )
      return rows[0]?.pid
    })

  async function expectAllKept(acknowledged: ReadonlyMap<number, string>): Promise<void> {
    const after = await startApi(postgres.primary)
    const { rows } = await after.core.pool.query<{ id: number; name: string }>(
      `select id, doc->>'name' as name from customers where company_id = $1`,
      [company.id],
    )
    const { valid } = await verifyLedger(after.core, company.id)
    await after.close()
    const kept = new Map(rows.map(({ id, name }) => [id, name]))
    const missing = [...acknowledged].filter(([id, name]) => kept.get(id) !== name)
    console.log(`      ${acknowledged.size} acknowledged, ${missing.length} missing`)
    expect(missing).to.deep.equal([])
    expect(new Set(kept.values()).size, 'nothing twice').to.equal(kept.size)
    expect(kept.size).to.equal(acknowledged.size)
    expect(valid).to.equal(true)
  }
})

/** Prints for each fault how long no write was acknowledged. */
function report(refused: readonly { fault: string; since_fault_ms: number; since_promotion_ms: number }[]): void {
  const figures = (name: string, values: readonly number[]) => {
    const sorted = [...values].sort((a, b) => a - b).map(Math.round)
    return `${name} median ${sorted[sorted.length >> 1]} ms, max ${sorted.at(-1)} ms`
  }
  for (const fault of new Set(refused.map((each) => each.fault))) {
    const of = refused.filter((each) => each.fault === fault)
    const sinceFault = figures(
      '',
      of.map((each) => each.since_fault_ms),
    )
    const sincePromotion = figures(
      '',
      of.map((each) => each.since_promotion_ms),
    )
    console.log(
      `      primary ${fault}, ${of.length} times: refused${sinceFault}; since the promotion${sincePromotion}`,
    )
  }
}

/** Clients that repeat unanswered requests under their Idempotency-Key. */
function startWriters(create: (name: string, key: string) => ReturnType<typeof send>) {
  const acknowledged = new Map<number, string>()
  let running = true
  /** Time of the last answer, and of its request. */
  let newest = { sent: 0, at: 0 }

  async function write(writer: number): Promise<void> {
    for (let n = 0; running; n++) {
      const name = `Cliente ${writer}-${n}`
      const key = randomUUID()
      for (;;) {
        const sent = performance.now()
        const reply = await create(name, key).catch(() => null)
        if (reply?.status === 201) {
          newest = { sent, at: performance.now() }
          acknowledged.set(reply.body.data.id, name)
          break
        }
        if (reply && reply.status !== 503) throw new Error(`${reply.status} ${JSON.stringify(reply.body)}`)
        await pause(50)
      }
    }
  }

  const working = Promise.all(times(WRITERS, write))
  working.catch(() => {})
  return {
    acknowledged,
    /** Time of the first acknowledged write after a given time. */
    async nextAfter(moment: number): Promise<number> {
      await Promise.race([
        working,
        until(() => newest.at > moment, { ...PATIENCE, interval_ms: 2, what: 'a write after the promotion' }),
      ])
      return newest.at
    },
    async stop() {
      running = false
      await working
    },
  }
}
