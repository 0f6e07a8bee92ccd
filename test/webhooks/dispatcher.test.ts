import { expect } from 'chai'
import type { Pool } from 'pg'
import { createCustomer } from '#commands/person-commands.ts'
import { switchOffWebhook } from '#commands/webhook-commands.ts'
import { createPool } from '#postgres/pool.ts'
import { type FreeSlots, type LeasedDelivery, leaseDue, readBacklog, releaseLeases } from '#webhooks/delivery-leases.ts'
import { cancelWaiting } from '#webhooks/endpoint-health.ts'
import { startApi, type TestApi } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { vault } from '../support/master-key.ts'
import { until } from '../support/wait.ts'
import { failing, idsOf, silent, useDispatchers } from './harness.ts'
import { addEndpoint, createEndpoints, queue, SECRET, storedDeliveries, type TestEndpoint } from './outbox.ts'

describe('the dispatcher', () => {
  const database = useDatabase('withoutReadModel')
  const tests = useDispatchers(database)

  it('posts the message byte for byte and records the success', async () => {
    const receiver = await tests.receiver()
    receiver.answer = (_received, response) => response.end('obrigado')
    const endpoint = await addEndpoint(tests.pool, receiver.url)
    const [id] = await queue(tests.pool, endpoint)
    tests.dispatcher()
    const [delivery] = await tests.allAre('delivered')
    expect(receiver.received).to.have.length(1)
    expect(receiver.received[0]).to.include({ body: '{"event":"sale.completed","data":{"note":"ação"}}' })
    expect(receiver.received[0]!.headers).to.include({ 'x-service-delivery': id!, 'user-agent': 'Tillbook-Webhooks/1' })
    expect(delivery).to.deep.include({ id, tries: 1, next_attempt_at: null })
    expect(delivery!.attempts).to.have.length(1)
    expect(Object.keys(delivery!.attempts[0]!)).to.deep.equal(['at', 'status', 'duration_ms', 'error', 'response'])
    expect(delivery!.attempts[0]).to.include({ status: 200, error: null, response: 'obrigado' })
    expect(await tests.healthOf(endpoint)).to.include({ failing_since: null, no_response_since: null })
    const [hour] = await tests.hoursOf(endpoint)
    expect(hour).to.include({ attempts: 1, failures: 0, last_failure: null })
    expect(hour!.bucket).to.be.at.least(0)
  })

  it('schedules a failed delivery for a minute later, and does not retry before [HOOK-18]', async () => {
    const receiver = await tests.receiver()
    receiver.answer = failing
    const endpoint = await addEndpoint(tests.pool, receiver.url)
    await queue(tests.pool, endpoint)
    tests.dispatcher()
    const [delivery] = await tests.attempted(1)
    const wait_ms = Date.parse(delivery!.next_attempt_at ?? '') - Date.parse(delivery!.attempts[0]!.at)
    // The test's random value is 0.5: half of the tenth.
    expect(wait_ms).to.be.within(63_000, 73_000)
    expect(delivery).to.include({ status: 'pending', tries: 1 })
    const health = await tests.healthOf(endpoint)
    expect(health!.failing_since).to.be.a('string')
    expect(health!.no_response_since).to.equal(null)
  })

  it('retries under the same id with a fresh signature, then marks it silent [HOOK-18, HOOK-19]', async () => {
    const receiver = await tests.receiver()
    receiver.answer = failing
    const endpoint = await addEndpoint(tests.pool, receiver.url)
    const [id] = await queue(tests.pool, endpoint)
    tests.dispatcher({ retrySeconds: [0.1, 0.2, 1.5] })
    const [delivery] = await tests.allAre('failed')
    expect(idsOf(receiver.received)).to.deep.equal([id, id, id, id])
    const [first, last] = [receiver.received[0]!.headers, receiver.received[3]!.headers]
    expect(Number(last['x-service-timestamp'])).to.be.above(Number(first['x-service-timestamp']))
    expect(last['x-service-signature']).not.to.equal(first['x-service-signature'])
    expect(delivery).to.include({ tries: 4, next_attempt_at: null })
    expect(delivery!.attempts.map(({ error }) => error)).to.deep.equal(Array(4).fill('http_status'))
    const health = await tests.healthOf(endpoint)
    expect(Date.parse(health!.no_response_since ?? '')).to.be.above(Date.parse(health!.failing_since ?? ''))
    const hours = await tests.hoursOf(endpoint)
    const sum = (of: 'attempts' | 'failures') => hours.reduce((total, hour) => total + hour[of], 0)
    expect([sum('attempts'), sum('failures')]).to.deep.equal([4, 4])
    const { at, status, error } = delivery!.attempts[3]!
    expect(hours.map(({ last_failure }) => last_failure)).to.deep.include({ at, status, error, delivery_id: id })
  })

  it('keeps delivering to a silent endpoint, and marks it active again after a success [HOOK-19]', async () => {
    const receiver = await tests.receiver()
    receiver.answer = failing
    const endpoint = await addEndpoint(tests.pool, receiver.url)
    await queue(tests.pool, endpoint)
    const dispatcher = tests.dispatcher({ retrySeconds: [0.01] })
    await tests.allAre('failed')
    const before = await tests.healthOf(endpoint)
    await queue(tests.pool, endpoint)
    dispatcher.wake()
    await until(async () => receiver.received.length === 4)
    await tests.allAre('failed')
    // Since the first failure, not the last one.
    expect(await tests.healthOf(endpoint)).to.deep.equal(before)
    receiver.answer = (_received, response) => response.writeHead(200).end()
    await queue(tests.pool, endpoint)
    dispatcher.wake()
    await tests.allAre('failed', 'delivered')
    expect(await tests.healthOf(endpoint)).to.include({ failing_since: null, no_response_since: null })
  })

  it('ignores failures of the former URL of an endpoint', async () => {
    const receiver = await tests.receiver()
    receiver.answer = failing
    const endpoint = await addEndpoint(tests.pool, receiver.url)
    await queue(tests.pool, endpoint)
    const dispatcher = tests.dispatcher({ retrySeconds: [0.01] })
    await tests.allAre('failed')
    await tests.pool.query(`update read.webhooks set watched_since = date_trunc('milliseconds', clock_timestamp())`)
    await queue(tests.pool, endpoint)
    dispatcher.wake()
    await until(async () => Date.parse((await tests.healthOf(endpoint))!.failing_since ?? '') >= (await watchedSince()))
    await tests.allAre('failed')
    expect(Date.parse((await tests.healthOf(endpoint))!.no_response_since ?? '')).to.be.at.least(await watchedSince())
  })

  const watchedSince = async () => {
    const { rows } = await tests.pool.query<{ watched_since: string }>('select watched_since from read.webhooks')
    return Date.parse(rows[0]!.watched_since)
  }

  it('aborts an attempt that takes too long [HOOK-17]', async () => {
    const receiver = await tests.receiver()
    receiver.answer = silent
    await queue(tests.pool, await addEndpoint(tests.pool, receiver.url))
    tests.dispatcher({ timeout_ms: 150 })
    const [delivery] = await tests.attempted(1)
    expect(delivery!.attempts[0]).to.include({ status: null, error: 'timeout' })
  })

  it('reports an endpoint that is gone, and sends nothing more to it [HOOK-21]', async () => {
    const receiver = await tests.receiver()
    receiver.answer = (_received, response) => response.writeHead(410).end()
    const endpoint = await addEndpoint(tests.pool, receiver.url)
    await queue(tests.pool, endpoint)
    const { gone } = tests.dispatcher()
    await tests.allAre('failed')
    expect(gone.map(({ webhook_id }) => webhook_id)).to.deep.equal([endpoint.id])
    expect(receiver.received).to.have.length(1)
  })

  it('sends a test once, without effect on the endpoint health [HOOK-24]', async () => {
    const receiver = await tests.receiver()
    receiver.answer = (_received, response) => response.writeHead(410).end()
    const endpoint = await addEndpoint(tests.pool, receiver.url)
    await queue(tests.pool, endpoint, 1, { test: true })
    const { gone } = tests.dispatcher({ retrySeconds: [0.01] })
    const [delivery] = await tests.allAre('failed')
    expect(delivery).to.include({ tries: 1 })
    expect(gone).to.deep.equal([])
    expect(await tests.healthOf(endpoint)).to.equal(null)
  })

  it('sends nothing to a disabled endpoint, and cancels its pending deliveries [HOOK-21]', async () => {
    const receiver = await tests.receiver()
    const [on, off] = [await addEndpoint(tests.pool, receiver.url), await addEndpoint(tests.pool, receiver.url)]
    await tests.pool.query('update read.webhooks set enabled = false where id = $1', [off.id])
    const [sent] = await queue(tests.pool, on)
    await queue(tests.pool, off, 3)
    tests.dispatcher()
    await until(() => receiver.received.length > 0)
    expect(await cancelWaiting(tests.pool)).to.equal(3)
    const deliveries = await tests.allAre('delivered', 'cancelled')
    expect(deliveries.filter(({ status }) => status === 'cancelled')).to.have.length(3)
    expect(idsOf(receiver.received)).to.deep.equal([sent])
  })

  it('keeps the newest twenty attempts of a delivery', async () => {
    const receiver = await tests.receiver()
    receiver.answer = failing
    await queue(tests.pool, await addEndpoint(tests.pool, receiver.url))
    tests.dispatcher({ retrySeconds: Array(22).fill(0.001) })
    const [delivery] = await tests.allAre('failed')
    expect(delivery).to.include({ tries: 23 })
    expect(receiver.received).to.have.length(23)
    expect(delivery!.attempts).to.have.length(20)
    const times = delivery!.attempts.map(({ at }) => at)
    expect(times).to.deep.equal(times.toSorted())
  })
})

describe('the dispatcher with several endpoints and processes', () => {
  const database = useDatabase('withoutReadModel')
  const tests = useDispatchers(database)

  it('does not let unresponsive endpoints slow down the others [HOOK-22]', async () => {
    const dead = await tests.receiver()
    dead.answer = silent
    const receiver = await tests.receiver()
    for (let n = 0; n < 40; n++) await queue(tests.pool, await addEndpoint(tests.pool, dead.url), 50)
    const sound = await addEndpoint(tests.pool, receiver.url)
    const ids = await queue(tests.pool, sound, 300)
    tests.dispatcher()
    await until(() => receiver.received.length === 300)
    expect(idsOf(receiver.received)).to.have.members(ids)
    // At most two for each endpoint of unknown health.
    expect(dead.received.length).to.be.at.most(80)
    await dead.close()
  })

  it('shares the work between two processes without duplicates', async () => {
    const receiver = await tests.receiver()
    const ids: string[] = []
    for (let n = 0; n < 4; n++) ids.push(...(await queue(tests.pool, await addEndpoint(tests.pool, receiver.url), 250)))
    const pools = [1, 2].map(() => createPool(database.url, { max: 2, keyLookupsOnly: true, lock_timeout_ms: 500 }))
    const taken = pools.map(countClaims)
    for (const pool of pools) tests.dispatcher({ pool })
    await tests.allAre('delivered')
    expect(idsOf(receiver.received)).to.have.members(ids).and.have.length(1000)
    expect(taken.map((claims) => claims())).to.satisfy((counts: number[]) => counts.every((count) => count > 0))
    tests.closeLater(() => Promise.all(pools.map((pool) => pool.end())))
  })

  it('leaves a delivery to a retry requested during the attempt, and stores the attempt', async () => {
    const receiver = await tests.receiver()
    let respond = () => {}
    receiver.answer = (_received, response) => {
      respond = () => response.writeHead(500).end()
    }
    await queue(tests.pool, await addEndpoint(tests.pool, receiver.url))
    const dispatcher = tests.dispatcher()
    await until(() => receiver.received.length === 1)
    const again = '2100-01-01T00:00:00.000Z'
    await tests.pool.query('update webhook_deliveries set tries = 0, next_attempt_at = $1, leased_until = null', [
      again,
    ])
    respond()
    const [delivery] = await tests.attempted(1)
    expect(delivery).to.include({ status: 'pending', tries: 0, next_attempt_at: again })
    await dispatcher.stop()
  })

  it('reports delivered if a delivery cancelled during the attempt arrived', async () => {
    const receiver = await tests.receiver()
    let respond = () => {}
    receiver.answer = (_received, response) => {
      respond = () => response.writeHead(200).end()
    }
    await queue(tests.pool, await addEndpoint(tests.pool, receiver.url))
    tests.dispatcher()
    await until(() => receiver.received.length === 1)
    await tests.pool.query(`update webhook_deliveries set status = 'cancelled', next_attempt_at = null`)
    respond()
    await tests.allAre('delivered')
  })

  it('continues after a Postgres outage, and records the answers received meanwhile', async () => {
    const receiver = await tests.receiver()
    const endpoint = await addEndpoint(tests.pool, receiver.url)
    const broken = createPool(database.url, { max: 2, keyLookupsOnly: true })
    const outage = breakable(broken)
    let release = () => {}
    receiver.answer = (_received, response) => {
      release = () => response.writeHead(204).end()
    }
    await queue(tests.pool, endpoint)
    const dispatcher = tests.dispatcher({ pool: outage.pool })
    await until(() => receiver.received.length === 1)
    outage.broken = true
    release()
    await until(() => dispatcher.errors.length >= 3)
    outage.broken = false
    await tests.allAre('delivered')
    expect(receiver.received).to.have.length(1)
    receiver.answer = (_received, response) => response.writeHead(204).end()
    await queue(tests.pool, endpoint)
    await tests.allAre('delivered')
    tests.closeLater(() => broken.end())
  })

  it('takes no new deliveries on shutdown, and records those under way', async () => {
    const receiver = await tests.receiver()
    const responses: (() => void)[] = []
    receiver.answer = (_received, response) => responses.push(() => response.writeHead(204).end())
    const endpoint = await addEndpoint(tests.pool, receiver.url)
    await queue(tests.pool, endpoint, 10)
    const dispatcher = tests.dispatcher()
    await until(() => responses.length === 2)
    const stopped = dispatcher.stop()
    for (const respond of responses) respond()
    await stopped
    const deliveries = await storedDeliveries(tests.pool)
    expect(deliveries.filter(({ status }) => status === 'delivered')).to.have.length(2)
    expect(deliveries.filter(({ status, attempts }) => status === 'pending' && attempts.length === 0)).to.have.length(8)
    expect(receiver.received).to.have.length(2)
  })
})

/** Counts the deliveries leased through a pool. */
function countClaims(pool: Pool): () => number {
  let claims = 0
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<{ rows: { id: string | null }[] }>
  const counting = async (...args: unknown[]) => {
    const result = await query(...args)
    if ((args[0] as { name: string }).name.startsWith('take'))
      claims += result.rows.filter(({ id }) => id !== null).length
    return result
  }
  Object.assign(pool, { query: counting })
  return () => claims
}

/** Pool that can simulate an unreachable Postgres. */
function breakable(pool: Pool): { pool: Pool; broken: boolean } {
  const outage = {
    broken: false,
    pool: {
      query: (...args: unknown[]) =>
        outage.broken
          ? Promise.reject(new Error('Connection terminated unexpectedly'))
          : (pool.query as (...args: unknown[]) => unknown).apply(pool, args),
    } as unknown as Pool,
  }
  return outage
}

const ROOM: FreeSlots = { sound: 256, strained: 64, busy: {} }
const LEASE_MS = 20_000

describe('delivery leases', () => {
  const database = useDatabase('withoutReadModel')
  let pool: Pool

  before(async () => {
    pool = createPool(database.url, { max: 2, keyLookupsOnly: true })
    await createEndpoints(pool)
  })
  afterEach(() =>
    pool.query(`delete from webhook_deliveries; delete from webhook_messages; delete from webhook_health; delete from webhook_secrets;
      delete from read.webhooks`),
  )
  after(() => pool.end())

  const taking = () => ({
    pool,
    vault,
    log: (_message: string, error: unknown) => {
      throw error
    },
  })
  const take = async (room: Partial<FreeSlots> = {}) =>
    (await leaseDue(taking(), { ...ROOM, ...room }, LEASE_MS)).claims
  const endpoint = async (
    health?: { success?: string; failing?: string },
    deliveries = 80,
    companyId = 1,
  ): Promise<TestEndpoint> => {
    const added = await addEndpoint(pool, 'http://127.0.0.1/', companyId)
    if (health) {
      await pool.query(
        `insert into webhook_health (company_id, webhook_id, last_success_at, failing_since)
         values ($4, $1, now() + $2::interval, now() + $3::interval)`,
        [added.id, health.success, health.failing, companyId],
      )
    }
    await queue(pool, added, deliveries)
    return added
  }
  const sound = { success: '-1 hour' }
  /** After the endpoint was registered, a moment ago. */
  const failing = { success: '-1 hour', failing: '1 minute' }
  const countOf = (
    claims: readonly Pick<LeasedDelivery, 'company_id' | 'webhook_id'>[],
    { companyId, id }: TestEndpoint,
  ) => claims.filter(({ company_id, webhook_id }) => company_id === companyId && webhook_id === id).length

  it('contain everything that an attempt needs', async () => {
    const added = await endpoint(undefined, 0)
    const [id] = await queue(pool, added, 1, { body: '{"ação":1}' })
    const [claim] = await take()
    expect(claim).to.include({
      id,
      company_id: 1,
      webhook_id: added.id,
      url: added.url,
      secret: SECRET,
      next_secret: null,
    })
    expect(claim).to.include({ body: '{"ação":1}', event: 'sale.completed', tries: 0, failing: false })
    expect(claim!.sequence).to.equal(claim!.revision)
    expect(Date.parse(claim!.leased_until)).to.be.within(Date.now() + LEASE_MS - 5_000, Date.now() + LEASE_MS + 5_000)
  })

  it('contain the message of a test, which has no revision', async () => {
    const added = await endpoint(undefined, 0)
    await queue(pool, added, 1, { test: true, body: '{"test":true}' })
    expect((await take())[0]).to.include({
      sequence: null,
      revision: null,
      event: 'webhook.test',
      body: '{"test":true}',
    })
  })

  it('depend on the health of the endpoint: 64, two if unknown, four if slow, one if failing [HOOK-22]', async () => {
    const [one, unknown, slow, broken] = [
      await endpoint(sound),
      await endpoint(),
      await endpoint(sound),
      await endpoint(failing),
    ]
    const claims = await take({ busy: { [`1/${slow.id}`]: { attempts: 0, slow: true, strained: true } } })
    expect([one, unknown, slow, broken].map((each) => countOf(claims, each))).to.deep.equal([64, 2, 4, 1])
    expect(claims.filter((claim) => claim.failing).map(({ webhook_id }) => webhook_id)).to.deep.equal([broken.id])
  })

  it('count attempts under way', async () => {
    const [some, full] = [await endpoint(sound), await endpoint(failing)]
    const claims = await take({
      busy: {
        [`1/${some.id}`]: { attempts: 62, slow: false, strained: false },
        [`1/${full.id}`]: { attempts: 1, slow: true, strained: true },
      },
    })
    expect([some, full].map((each) => countOf(claims, each))).to.deep.equal([2, 0])
  })

  it('ignore failures from before the endpoint was enabled again', async () => {
    const added = await endpoint({ success: '-2 hours', failing: '-1 hour' })
    expect(countOf(await take(), added)).to.equal(64)
  })

  it('start with the oldest delivery of an endpoint', async () => {
    const added = await endpoint(undefined, 3)
    await pool.query(
      `update webhook_deliveries set next_attempt_at = now() - interval '1 hour' where sequence = (select max(sequence) from webhook_deliveries)`,
    )
    const { rows } = await pool.query<{ id: string }>('select id from webhook_deliveries order by next_attempt_at, id')
    const [first] = await take({ busy: { [`1/${added.id}`]: { attempts: 1, slow: false, strained: false } } })
    expect(first!.id).to.equal(rows[0]!.id)
  })

  it('share the capacity among endpoints, at least one each, longest wait first [HOOK-22]', async () => {
    const many = [await endpoint(sound), await endpoint(sound), await endpoint(sound), await endpoint(sound)]
    const claims = await take({ sound: 10 })
    expect(many.map((each) => countOf(claims, each))).to.deep.equal([2, 2, 2, 2])
    const next = await take({ sound: 3 })
    expect(new Set(next.map(({ webhook_id }) => webhook_id)).size).to.equal(3)
    expect(next).to.have.length(3)
  })

  it('reserve separate capacity for failing endpoints [HOOK-22]', async () => {
    const broken = [await endpoint(failing), await endpoint(failing), await endpoint(failing)]
    const one = await endpoint(sound)
    const claims = await take({ sound: 5, strained: 2 })
    expect(countOf(claims, one)).to.equal(5)
    expect(broken.map((each) => countOf(claims, each)).reduce((sum, count) => sum + count)).to.equal(2)
    expect(countOf(await take({ sound: 0, strained: 0 }), one)).to.equal(0)
  })

  it('exclude deliveries that are leased, not due or of a disabled endpoint, and report the next due time', async () => {
    await endpoint(undefined, 1)
    expect(await take()).to.have.length(1)
    const later = await leaseDue(taking(), ROOM, LEASE_MS)
    expect(later).to.deep.equal({ claims: [], has_more: false, next_due_ms: null })
    await pool.query(`update webhook_deliveries set next_attempt_at = now() + interval '1 minute', leased_until = null`)
    expect((await leaseDue(taking(), ROOM, LEASE_MS)).next_due_ms).to.be.within(45_000, 60_001)
    await pool.query(
      `update webhook_deliveries set next_attempt_at = now() - interval '1 second'; update read.webhooks set enabled = false`,
    )
    expect(await leaseDue(taking(), ROOM, LEASE_MS)).to.deep.equal({ claims: [], has_more: false, next_due_ms: null })
  })

  it('can be taken again after they expire', async () => {
    const [id] = await queue(pool, await endpoint(undefined, 0))
    await take()
    await pool.query(`update webhook_deliveries set leased_until = now() - interval '1 millisecond'`)
    expect((await take()).map((claim) => claim.id)).to.deep.equal([id])
  })

  it('report whether more deliveries may be due', async () => {
    const added = await endpoint(undefined, 2)
    const more = async (room: Partial<FreeSlots> = {}) =>
      (await leaseDue(taking(), { ...ROOM, ...room }, LEASE_MS)).has_more
    expect(await more({ busy: { [`1/${added.id}`]: { attempts: 1, slow: false, strained: false } } })).to.equal(true)
    expect(await more({ sound: 0 })).to.equal(true)
    await queue(pool, await endpoint(sound, 0), 31)
    expect(await more({ busy: { [`1/${added.id}`]: { attempts: 1, slow: false, strained: false } } })).to.equal(true)
    expect(await more()).to.equal(false)
  })

  it('are released for others, except deliveries that were leased again since', async () => {
    await queue(pool, await endpoint(sound, 0), 2)
    const [one, other] = await take()
    expect(await take()).to.deep.equal([])
    await releaseLeases(pool, [one!, { ...other!, leased_until: '2020-01-01T00:00:00Z' }])
    expect((await take()).map(({ id }) => id)).to.deep.equal([one!.id])
  })

  it('are granted to one of several processes only', async () => {
    await Promise.all([endpoint(sound, 200), endpoint(sound, 200)])
    const taken = await Promise.all(Array.from({ length: 8 }, () => take()))
    const ids = taken.flat().map(({ id }) => id)
    expect(new Set(ids).size).to.equal(ids.length)
    expect(ids.length).to.be.at.least(64)
  })

  describe('of several companies', () => {
    const busy = (endpoints: readonly TestEndpoint[], attempts: number, slow = false) =>
      Object.fromEntries(
        endpoints.map(({ companyId, id }) => [`${companyId}/${id}`, { attempts, slow, strained: slow }]),
      )
    async function endpoints(count: number, deliveries: number, health = sound): Promise<TestEndpoint[]> {
      const all: TestEndpoint[] = []
      while (all.length < count) all.push(await endpoint(health, deliveries))
      return all
    }

    it('share the capacity by company, then by endpoint [OPS-144]', async () => {
      const many = await endpoints(9, 20)
      const other = await endpoint(sound, 20, 2)
      const claims = await take({ sound: 20 })
      expect(countOf(claims, other)).to.equal(10)
      expect(many.map((each) => countOf(claims, each))).to.deep.equal(Array(9).fill(1))
    })

    it('free capacity goes to the company with the fewest attempts under way [OPS-144]', async () => {
      const many = await endpoints(8, 20)
      const other = await endpoint(sound, 1, 2)
      const claims = await take({ sound: 1, busy: busy(many, 30) })
      expect(claims.map(({ company_id }) => company_id)).to.deep.equal([other.companyId])
    })

    it('leave capacity for failing endpoints of other companies if those of one have long queues [OPS-144]', async () => {
      const many = await endpoints(17, 5)
      const broken = await endpoint(failing, 1, 2)
      const claims = await take({ strained: 64 - 17 * 2, busy: busy(many, 2, true) })
      expect([claims.length, countOf(claims, broken)]).to.deep.equal([1, 1])
    })

    it('grant one company at most half of the total capacity [OPS-144]', async () => {
      const many = await endpoints(8, 40)
      const other = await endpoint(sound, 20, 2)
      const claims = await take({ busy: busy(many, 31) })
      expect([claims.length, countOf(claims, other)]).to.deep.equal([256 - 8 * 31 + 20, 20])
    })
  })

  it('skip an endpoint at its limit, however many deliveries it has', async () => {
    const waiting = await endpoint(failing, 2_000)
    const one = await endpoint(sound, 3)
    const claims = await take({ busy: { [`1/${waiting.id}`]: { attempts: 1, slow: true, strained: true } } })
    expect(claims).to.have.length(3)
    expect(countOf(claims, one)).to.equal(3)
  })
})

describe('backlog of deliveries', () => {
  const database = useDatabase()
  let api: TestApi

  before(async () => {
    api = await startApi(database.url)
  })
  after(() => api.close())

  it('counts pending deliveries, reports the longest wait, and excludes disabled endpoints', async () => {
    const read = () => readBacklog(api.core.pool)
    expect(await read()).to.deep.equal({ pending: 0, oldest_due_seconds: 0 })
    const company = await api.company()
    const { id } = (await company.post('/webhooks', { url: 'https://erp.example/x', events: ['basic'] })).body.data
    for (const name of ['Ana', 'Bia']) await company.run(createCustomer, { name, person_type: 'PF' }, 'pdv')
    const due = await read()
    expect(due.pending).to.equal(2)
    expect(due.oldest_due_seconds).to.be.within(0, 60)
    const wait = (interval: string) =>
      api.core.pool.query(`update ops.webhook_deliveries set next_attempt_at = now() + $1::interval`, [interval])
    await wait('-1 hour')
    expect((await read()).oldest_due_seconds).to.be.within(3_600, 3_660)
    await wait('1 hour')
    expect(await read()).to.deep.equal({ pending: 2, oldest_due_seconds: 0 })
    await wait('-1 hour')
    await company.run(switchOffWebhook, { id, reason: 'gone' })
    expect((await read()).oldest_due_seconds).to.equal(0)
  })
})

describe('endpoints of API keys', () => {
  const used = useDispatchers(useDatabase('withoutReadModel'))
  const set = (text: string, ...values: unknown[]) => used.pool.query(text, values)

  beforeEach(async () => {
    await set('truncate read.companies, read.api_keys')
    await set(`insert into read.api_keys values (1, 7, null, null, '{"scopes":["sales:read"]}')`)
  })

  /** Endpoint of key 7, with a pending delivery. */
  async function ofKey(url: string) {
    const endpoint = await addEndpoint(used.pool, url)
    await set('update read.webhooks set api_key_id = 7 where id = $1', endpoint.id)
    await queue(used.pool, endpoint)
    return endpoint
  }

  /** Waits for a later delivery to another endpoint, then checks that nothing was sent to this one. */
  async function passedOver(receiver: { url: string; received: readonly unknown[] }): Promise<void> {
    const other = await used.receiver()
    await set(`insert into read.companies values (2, 'api') on conflict do nothing`)
    await queue(used.pool, await addEndpoint(used.pool, other.url, 2))
    used.dispatcher().wake()
    await until(() => other.received.length === 1)
    expect(receiver.received).to.have.length(0)
    const waiting = (await storedDeliveries(used.pool)).filter(({ status }) => status === 'pending')
    for (const { attempts } of waiting) expect(attempts).to.have.length(0)
  }

  for (const [why, pause, end] of [
    ['is revoked', 'update read.api_keys set revoked_at = now()', 'update read.webhooks set api_key_id = null'],
    [
      'expires',
      `update read.api_keys set expires_at = now() - interval '1 second'`,
      'update read.api_keys set expires_at = null',
    ],
    [
      'lost its plan',
      `update read.companies set plan = 'basic' where company_id = 1`,
      `update read.companies set plan = 'api'`,
    ],
  ] as const) {
    it(`pause while the key or company ${why}, and resume from the same point [HOOK-53, HOOK-54]`, async () => {
      const receiver = await used.receiver()
      await ofKey(receiver.url)
      await set(pause)
      await passedOver(receiver)
      await set(end)
      await until(() => receiver.received.length === 1)
      await used.allAre('delivered')
    })
  }

  it('receive no records that the key may not read: pending deliveries are cancelled [HOOK-55]', async () => {
    const receiver = await used.receiver()
    const endpoint = await ofKey(receiver.url)
    await set(`update read.api_keys set doc = '{"scopes":["catalog:read"]}'`)
    await queue(used.pool, endpoint, 1, { test: true })
    used.dispatcher().wake()
    const [kept] = await used.allAre('cancelled', 'delivered')
    expect(kept).to.include({ status: 'cancelled', next_attempt_at: null })
    expect(kept?.attempts[0]).to.include({ status: null, error: 'insufficient_scope' })
    expect(receiver.received.map(({ headers }) => headers['x-service-event'])).to.deep.equal(['webhook.test'])
    expect(await used.healthOf(endpoint)).to.equal(null)
  })
})
