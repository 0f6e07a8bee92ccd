import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { verifyLedger } from '#audit/verify.ts'
import { times } from '../service/fleet.ts'
import { send, startApi, type TestCompany } from '../support/api.ts'
import { type Service, startService } from '../support/process.ts'
import { DEPTH } from '../support/random.ts'
import { until } from '../support/wait.ts'
import { type ReplicatedPostgres, startReplicated } from './replicated-postgres.ts'

const WRITERS = 24
/** Answers before the primary is killed, and after the service was started on its standby. */
const ANSWERS = 400 * DEPTH
const PATIENCE = { timeout_ms: 120_000 }

describe('a failover to a synchronous standby', function () {
  this.timeout(300_000)
  let postgres: ReplicatedPostgres
  let service: Service | undefined

  before(async function () {
    const started = await startReplicated()
    if (typeof started === 'string') {
      console.log(`      skipped: ${started}`)
      this.skip()
    }
    postgres = started
  })
  after(async () => {
    await service?.kill()
    await postgres?.stop()
  })

  const start = (databaseUrl: string): Promise<Service> =>
    startService({
      DATABASE_URL: databaseUrl,
      // Both are as durable as any.
      ALLOW_UNDURABLE_POSTGRES: 'false',
      QUOTA_PER_MINUTE: '1000000',
      QUOTA_PER_DAY: '1000000',
      LOG_LEVEL: 'silent',
    })

  it('loses no write that was acknowledged, and does none twice, with 24 writers under way [OPS-39]', async () => {
    const office = await startApi(postgres.primary)
    const company = await office.company()
    await office.close()
    service = await start(postgres.primary)
    const load = startWriters(company, () => service?.url ?? '')
    await until(() => load.acknowledged.size >= ANSWERS, PATIENCE)
    await postgres.killPrimary()
    const killed = performance.now()
    await service.kill()
    await postgres.promote()
    service = await start(postgres.standby)
    const away_ms = Math.round(performance.now() - killed)
    const before = load.acknowledged.size
    await until(() => load.acknowledged.size >= before + ANSWERS, PATIENCE)
    await load.stop()

    const after = await startApi(postgres.standby)
    const { rows } = await after.core.pool.query<{ id: number; name: string }>(
      `select id, doc->>'name' as name from customers where company_id = $1`,
      [company.id],
    )
    const { valid } = await verifyLedger(after.core, company.id)
    await after.close()
    const kept = new Map(rows.map(({ id, name }) => [id, name]))
    const missing = [...load.acknowledged].filter(([id, name]) => kept.get(id) !== name)
    const figures = `${load.acknowledged.size} acknowledged, ${missing.length} missing`
    console.log(`      ${figures}, another primary after ${away_ms} ms`)
    expect(missing).to.deep.equal([])
    expect(new Set(kept.values()).size, 'nothing twice').to.equal(kept.size)
    expect(kept.size).to.equal(load.acknowledged.size)
    expect(valid).to.equal(true)
  })
})

/** Callers who repeat what was not answered under its Idempotency-Key, wherever the service then is. */
function startWriters({ key }: TestCompany, baseUrl: () => string) {
  const acknowledged = new Map<number, string>()
  let running = true

  async function write(writer: number): Promise<void> {
    for (let n = 0; running; n++) {
      const name = `Cliente ${writer}-${n}`
      const headers = { authorization: `Bearer ${key}`, 'idempotency-key': randomUUID() }
      for (;;) {
        const url = `${baseUrl()}/api/v1/customers`
        const reply = await send(url, 'POST', { name, person_type: 'PF' }, headers).catch(() => null)
        if (reply?.status === 201) {
          acknowledged.set(reply.body.data.id, name)
          break
        }
        if (reply && reply.status !== 503) throw new Error(`${reply.status} ${JSON.stringify(reply.body)}`)
        await pause(50)
      }
    }
  }

  const working = Promise.all(times(WRITERS, write))
  return {
    acknowledged,
    async stop() {
      running = false
      await working
    },
  }
}
