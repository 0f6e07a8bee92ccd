import { expect } from 'chai'
import type { Pool } from 'pg'
import { createPool } from '../../src/postgres/pool.ts'
import { cancelWaiting } from '../../src/webhooks/watch.ts'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { useDispatchers } from './harness.ts'
import { addAddress, queue, type StoredDelivery, storedDeliveries, type TestAddress } from './outbox.ts'
import type { Answer } from './receiver.ts'

const failing: Answer = (_received, response) => response.writeHead(500).end()
const silent: Answer = () => {}

describe('the dispatcher', () => {
  const database = useDatabase()
  const tests = useDispatchers(database)

  const allAre = async (...statuses: StoredDelivery['status'][]) => {
    const text = 'select 1 from webhook_deliveries where status <> all($1) limit 1'
    const done = async () => (await tests.pool.query(text, [statuses])).rowCount === 0
    await until(done, { what: `${statuses} for all deliveries`, timeout_ms: 18_000 })
    return storedDeliveries(tests.pool)
  }
  const attempted = (count: number) =>
    until(async () => {
      const deliveries = await storedDeliveries(tests.pool)
      return deliveries.every(({ attempts }) => attempts.length === count) && deliveries
    })
  const healthOf = async ({ id }: TestAddress) => {
    const { rows } = await tests.pool.query<
      Record<'last_success_at' | 'failing_since' | 'no_response_since', string | null>
    >('select last_success_at, failing_since, no_response_since from webhook_health where webhook_id = $1', [id])
    return rows[0] ?? null
  }
  const idsOf = (received: readonly { headers: Readonly<Record<string, string>> }[]) =>
    received.map(({ headers }) => headers['x-service-delivery'])

  it('posts the message byte for byte and records the success', async () => {
    const receiver = await tests.receiver()
    receiver.answer = (_received, response) => response.end('obrigado')
    const address = await addAddress(tests.pool, receiver.url)
    const [id] = await queue(tests.pool, address)
    tests.dispatcher()
    const [delivery] = await allAre('delivered')
    expect(receiver.received).to.have.length(1)
    expect(receiver.received[0]).to.include({ body: '{"event":"sale.completed","data":{"note":"ação"}}' })
    expect(receiver.received[0]!.headers).to.include({ 'x-service-delivery': id!, 'user-agent': 'Tillbook-Webhooks/1' })
    expect(delivery).to.deep.include({ id, tries: 1, next_attempt_at: null })
    expect(delivery!.attempts).to.have.length(1)
    expect(Object.keys(delivery!.attempts[0]!)).to.deep.equal(['at', 'status', 'duration_ms', 'error', 'response'])
    expect(delivery!.attempts[0]).to.include({ status: 200, error: null, response: 'obrigado' })
    expect(await healthOf(address)).to.include({ failing_since: null, no_response_since: null })
  })

  it('sends a thousand to several addresses, each once', async () => {
    const receiver = await tests.receiver()
    const ids: string[] = []
    for (let n = 0; n < 5; n++) ids.push(...(await queue(tests.pool, await addAddress(tests.pool, receiver.url), 200)))
    tests.dispatcher()
    await allAre('delivered')
    expect(idsOf(receiver.received)).to.have.members(ids)
  })

  it('schedules a failed delivery for a minute later, and leaves it alone until then', async () => {
    const receiver = await tests.receiver()
    receiver.answer = failing
    const address = await addAddress(tests.pool, receiver.url)
    await queue(tests.pool, address)
    tests.dispatcher()
    const [delivery] = await attempted(1)
    const wait_ms = Date.parse(delivery!.next_attempt_at ?? '') - Date.parse(delivery!.attempts[0]!.at)
    // The test's randomness is in the middle: half of a tenth.
    expect(wait_ms).to.be.within(63_000, 73_000)
    expect(delivery).to.include({ status: 'pending', tries: 1 })
    const health = await healthOf(address)
    expect(health!.failing_since).to.be.a('string')
    expect(health!.no_response_since).to.equal(null)
  })

  it('retries under the same id with a fresh timestamp, gives up in the end, and calls the address silent', async () => {
    const receiver = await tests.receiver()
    receiver.answer = failing
    const address = await addAddress(tests.pool, receiver.url)
    const [id] = await queue(tests.pool, address)
    tests.dispatcher({ retrySeconds: [0.1, 0.2, 1.5] })
    const [delivery] = await allAre('failed')
    expect(idsOf(receiver.received)).to.deep.equal([id, id, id, id])
    const [first, last] = [receiver.received[0]!.headers, receiver.received[3]!.headers]
    expect(Number(last['x-service-timestamp'])).to.be.above(Number(first['x-service-timestamp']))
    expect(last['x-service-signature']).not.to.equal(first['x-service-signature'])
    expect(delivery).to.include({ tries: 4, next_attempt_at: null })
    expect(delivery!.attempts.map(({ error }) => error)).to.deep.equal(Array(4).fill('http_status'))
    const health = await healthOf(address)
    expect(Date.parse(health!.no_response_since ?? '')).to.be.above(Date.parse(health!.failing_since ?? ''))
  })

  it('goes on delivering to a silent address, and calls it active again after a success', async () => {
    const receiver = await tests.receiver()
    receiver.answer = failing
    const address = await addAddress(tests.pool, receiver.url)
    await queue(tests.pool, address)
    const dispatcher = tests.dispatcher({ retrySeconds: [0.01] })
    await allAre('failed')
    const before = await healthOf(address)
    await queue(tests.pool, address)
    dispatcher.wake()
    await until(async () => receiver.received.length === 4)
    await allAre('failed')
    // Since the first time, not since the last one.
    expect(await healthOf(address)).to.deep.equal(before)
    receiver.answer = (_received, response) => response.writeHead(200).end()
    await queue(tests.pool, address)
    dispatcher.wake()
    await allAre('failed', 'delivered')
    expect(await healthOf(address)).to.include({ failing_since: null, no_response_since: null })
  })

  it('does not hold against an address what its former URL did', async () => {
    const receiver = await tests.receiver()
    receiver.answer = failing
    const address = await addAddress(tests.pool, receiver.url)
    await queue(tests.pool, address)
    const dispatcher = tests.dispatcher({ retrySeconds: [0.01] })
    await allAre('failed')
    await tests.pool.query(`update read.webhooks set watched_since = date_trunc('milliseconds', clock_timestamp())`)
    await queue(tests.pool, address)
    dispatcher.wake()
    await until(async () => Date.parse((await healthOf(address))!.failing_since ?? '') >= (await watchedSince()))
    await allAre('failed')
    expect(Date.parse((await healthOf(address))!.no_response_since ?? '')).to.be.at.least(await watchedSince())
  })

  const watchedSince = async () => {
    const { rows } = await tests.pool.query<{ watched_since: string }>('select watched_since from read.webhooks')
    return Date.parse(rows[0]!.watched_since)
  }

  it('gives up an attempt that takes too long', async () => {
    const receiver = await tests.receiver()
    receiver.answer = silent
    await queue(tests.pool, await addAddress(tests.pool, receiver.url))
    tests.dispatcher({ timeout_ms: 150 })
    const [delivery] = await attempted(1)
    expect(delivery!.attempts[0]).to.include({ status: null, error: 'timeout' })
  })

  it('tells of an address that is gone, and does not ask it again', async () => {
    const receiver = await tests.receiver()
    receiver.answer = (_received, response) => response.writeHead(410).end()
    const address = await addAddress(tests.pool, receiver.url)
    await queue(tests.pool, address)
    const { gone } = tests.dispatcher()
    await allAre('failed')
    expect(gone.map(({ webhook_id }) => webhook_id)).to.deep.equal([address.id])
    expect(receiver.received).to.have.length(1)
  })

  it('sends a test once, and judges nobody by it', async () => {
    const receiver = await tests.receiver()
    receiver.answer = (_received, response) => response.writeHead(410).end()
    const address = await addAddress(tests.pool, receiver.url)
    await queue(tests.pool, address, 1, { test: true })
    const { gone } = tests.dispatcher({ retrySeconds: [0.01] })
    const [delivery] = await allAre('failed')
    expect(delivery).to.include({ tries: 1 })
    expect(gone).to.deep.equal([])
    expect(await healthOf(address)).to.equal(null)
  })

  it('sends nothing to an address that is off, and what waits for it is cancelled', async () => {
    const receiver = await tests.receiver()
    const [on, off] = [await addAddress(tests.pool, receiver.url), await addAddress(tests.pool, receiver.url)]
    await tests.pool.query('update read.webhooks set enabled = false where id = $1', [off.id])
    const [sent] = await queue(tests.pool, on)
    await queue(tests.pool, off, 3)
    tests.dispatcher()
    await until(() => receiver.received.length > 0)
    expect(await cancelWaiting(tests.pool)).to.equal(3)
    const deliveries = await allAre('delivered', 'cancelled')
    expect(deliveries.filter(({ status }) => status === 'cancelled')).to.have.length(3)
    expect(idsOf(receiver.received)).to.deep.equal([sent])
  })

  it('does not let addresses that never answer slow down the others', async () => {
    const dead = await tests.receiver()
    dead.answer = silent
    const receiver = await tests.receiver()
    for (let n = 0; n < 40; n++) await queue(tests.pool, await addAddress(tests.pool, dead.url), 50)
    const sound = await addAddress(tests.pool, receiver.url)
    const ids = await queue(tests.pool, sound, 300)
    tests.dispatcher()
    await until(() => receiver.received.length === 300)
    expect(idsOf(receiver.received)).to.have.members(ids)
    // Two of each address that nothing is known of yet.
    expect(dead.received.length).to.be.at.most(80)
    await dead.close()
  })

  it('shares the work between two processes without sending anything twice', async () => {
    const receiver = await tests.receiver()
    const ids: string[] = []
    for (let n = 0; n < 4; n++) ids.push(...(await queue(tests.pool, await addAddress(tests.pool, receiver.url), 250)))
    const pools = [1, 2].map(() => createPool(database.url, { max: 2, keyLookupsOnly: true, lock_timeout_ms: 500 }))
    const taken = pools.map(countClaims)
    for (const pool of pools) tests.dispatcher({ pool })
    await allAre('delivered')
    expect(idsOf(receiver.received)).to.have.members(ids).and.have.length(1000)
    expect(taken.map((claims) => claims())).to.satisfy((counts: number[]) => counts.every((count) => count > 0))
    tests.closeLater(() => Promise.all(pools.map((pool) => pool.end())))
  })

  it('leaves a delivery to whoever asked for it again while it was under way, and keeps the attempt', async () => {
    const receiver = await tests.receiver()
    let respond = () => {}
    receiver.answer = (_received, response) => {
      respond = () => response.writeHead(500).end()
    }
    await queue(tests.pool, await addAddress(tests.pool, receiver.url))
    const dispatcher = tests.dispatcher()
    await until(() => receiver.received.length === 1)
    const again = '2100-01-01T00:00:00.000Z'
    await tests.pool.query('update webhook_deliveries set tries = 0, next_attempt_at = $1', [again])
    respond()
    const [delivery] = await attempted(1)
    expect(delivery).to.include({ status: 'pending', tries: 0, next_attempt_at: again })
    await dispatcher.stop()
  })

  it('says delivered when a delivery arrived that was cancelled meanwhile', async () => {
    const receiver = await tests.receiver()
    let respond = () => {}
    receiver.answer = (_received, response) => {
      respond = () => response.writeHead(200).end()
    }
    await queue(tests.pool, await addAddress(tests.pool, receiver.url))
    tests.dispatcher()
    await until(() => receiver.received.length === 1)
    await tests.pool.query(`update webhook_deliveries set status = 'cancelled', next_attempt_at = null`)
    respond()
    await allAre('delivered')
  })

  it('keeps the newest twenty attempts of a delivery', async () => {
    const receiver = await tests.receiver()
    receiver.answer = failing
    await queue(tests.pool, await addAddress(tests.pool, receiver.url))
    tests.dispatcher({ retrySeconds: Array(22).fill(0.001) })
    const [delivery] = await allAre('failed')
    expect(delivery).to.include({ tries: 23 })
    expect(receiver.received).to.have.length(23)
    expect(delivery!.attempts).to.have.length(20)
    const times = delivery!.attempts.map(({ at }) => at)
    expect(times).to.deep.equal(times.toSorted())
  })

  it('goes on after Postgres was away, and records what was answered meanwhile', async () => {
    const receiver = await tests.receiver()
    const address = await addAddress(tests.pool, receiver.url)
    const broken = createPool(database.url, { max: 2, keyLookupsOnly: true })
    const outage = breakable(broken)
    let release = () => {}
    receiver.answer = (_received, response) => {
      release = () => response.writeHead(204).end()
    }
    await queue(tests.pool, address)
    const dispatcher = tests.dispatcher({ pool: outage.pool })
    await until(() => receiver.received.length === 1)
    outage.broken = true
    release()
    await until(() => dispatcher.errors.length >= 3)
    outage.broken = false
    await allAre('delivered')
    expect(receiver.received).to.have.length(1)
    receiver.answer = (_received, response) => response.writeHead(204).end()
    await queue(tests.pool, address)
    await allAre('delivered')
    tests.closeLater(() => broken.end())
  })

  it('ends when it is told to: takes nothing more, and records what is under way', async () => {
    const receiver = await tests.receiver()
    const responses: (() => void)[] = []
    receiver.answer = (_received, response) => responses.push(() => response.writeHead(204).end())
    const address = await addAddress(tests.pool, receiver.url)
    await queue(tests.pool, address, 10)
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

/** Counts the deliveries that are taken through a pool. */
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

/** A pool that behaves as if Postgres were away. */
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
