import { expect } from 'chai'
import type { Pool } from 'pg'
import { createPool } from '#postgres/pool.ts'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { idsOf, silent, useDispatchers } from './harness.ts'
import { addEndpoint, queue, storedDeliveries } from './outbox.ts'

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
