import { expect } from 'chai'
import type { Pool } from 'pg'
import { v7 } from 'uuid'
import type { Envelope } from '#ledger/command.ts'
import {
  type CatchUpSubscription,
  type CatchUpSubscriptionOptions,
  catchUpAll,
  readSubscriptionCheckpoint,
  startCatchUpSubscription,
} from '#ledger/follow/follower.ts'
import type { Committed } from '#ledger/write/attempt.ts'
import { writeRequest } from '#ledger/write/writer.ts'
import { createPool } from '#postgres/pool.ts'
import { useDatabase } from '../support/database.ts'
import { keysIn } from '../support/master-key.ts'
import { createOutsideStore, type FaultyStore } from '../support/outside-store.ts'
import { until } from '../support/wait.ts'
import { addition, counterModel, echo } from './counters.ts'
import { appendOf } from './event-store-contract.ts'
import { type Sketch, sealedAfter } from './sealed-events.ts'
import { assertLedger, empty, type Harness, openHarness } from './writer-harness.ts'

const added = (id: number, request_id: string, key?: string): Sketch => ({
  subject: `counter/${id}`,
  data: { id, by: 1 },
  request_id,
  idempotency: key === undefined ? null : { key, request_hash: 'same', status: 200 },
})

describe('follower of a store outside Postgres', () => {
  const database = useDatabase()
  let harness: Harness
  let store: FaultyStore
  let pool: Pool
  let follower: CatchUpSubscription | null
  let logged: string[]

  beforeEach(async () => {
    store = createOutsideStore()
    harness = await openHarness(database.url, store, [1])
    await empty(harness)
    await harness.pool.query('delete from ops.ledgers where company_id > 1')
    await harness.pool.query('delete from ops.subscription_checkpoints')
    pool = createPool(database.url, { max: 3, pipeline: true })
    follower = null
    logged = []
  })
  afterEach(async () => {
    await follower?.stop()
    await Promise.all([harness.close(), pool.end()])
  })

  const options = (): CatchUpSubscriptionOptions => ({
    pool,
    store,
    model: counterModel,
    keys: keysIn(pool),
    reactors: [echo],

    newId: v7,
    onCommitted: (moved: readonly Committed[]) => {
      if (moved.some(({ hasReacted }) => hasReacted)) harness.rings.push('follower')
    },
    onOutdated: () => logged.push('outdated'),
    log: (message) => logged.push(message),
  })
  /** Leftovers of a process that ended between its append and its COMMIT. */
  async function left(
    companyId: number,
    sketches: readonly Sketch[],
    after: Envelope | null = null,
  ): Promise<Envelope[]> {
    const events = sealedAfter(`company-${companyId}`, after, sketches, Date.now() - 60_000)
    await store.append([appendOf(events)], { query: () => Promise.reject(new Error('has no transaction')) })
    return events
  }
  const revisionOf = async (companyId: number): Promise<number | undefined> => {
    const { rows } = await harness.pool.query('select revision from ledgers where company_id = $1', [companyId])
    return rows[0]?.revision
  }
  const untilApplied = (companyId: number, revision: number) =>
    until(async () => (await revisionOf(companyId)) === revision, { what: `revision ${revision}` })

  it('applies events that no writer applies, also of companies unknown to this Postgres', async () => {
    await left(1, [added(1, 'r-1'), added(2, 'r-2')])
    follower = startCatchUpSubscription(options())
    await untilApplied(1, 1)
    await left(77, [added(1, 'r-3')])
    await untilApplied(77, 0)
    await Promise.all([assertLedger(harness, 1, 2), assertLedger(harness, 77, 1)])
    expect(harness.rings).to.include('follower')
    await until(async () => (await readSubscriptionCheckpoint(pool)) === '2', { what: 'the checkpoint' })
  })

  it('does not disturb an active writer, and applies nothing twice beside it', async () => {
    follower = startCatchUpSubscription(options())
    await Promise.all(
      Array.from({ length: 60 }, (_, n) => writeRequest(harness.writer, addition(1, { id: n % 3, by: 1 }, `key-${n}`))),
    )
    await assertLedger(harness, 1, 60)
    await until(async () => (await readSubscriptionCheckpoint(pool)) === '59', { what: 'the checkpoint' })
    expect(follower.lag()).to.equal(0)
  })

  it('skips a locked ledger without waiting, and returns to it later', async () => {
    const holder = await harness.pool.connect()
    await harness.pool.query(`insert into ops.ledgers (company_id, hash) values (2, repeat('0', 64))`)
    await holder.query('begin')
    await holder.query('select from ops.ledgers where company_id = 1 for update')
    await left(1, [added(1, 'r-1')])
    await left(2, [added(1, 'r-2')])
    follower = startCatchUpSubscription(options())
    await untilApplied(2, 0)
    expect(await revisionOf(1)).to.equal(-1)
    // Events that are not applied yet are sent again after a crash.
    expect(await readSubscriptionCheckpoint(pool)).to.equal(null)
    expect(follower.lag()).to.equal(1)
    await holder.query('commit')
    holder.release()
    await untilApplied(1, 0)
    await until(async () => (await readSubscriptionCheckpoint(pool)) === '1', { what: 'the checkpoint' })
  })

  it('resumes at the position of its predecessor, and reconnects to a store that was down', async () => {
    const first = await left(1, [added(1, 'r-1')])
    follower = startCatchUpSubscription(options())
    await until(async () => (await readSubscriptionCheckpoint(pool)) === '0', { what: 'the checkpoint' })
    await follower.stop()
    store.down = true
    follower = startCatchUpSubscription(options())
    await until(async () => logged.length > 0, { what: 'a complaint' })
    store.down = false
    await left(1, [added(1, 'r-2')], first.at(-1))
    await untilApplied(1, 1)
    await assertLedger(harness, 1, 2)
  })

  it('applies everything before the service starts, in slices', async () => {
    const sketches = Array.from({ length: 1300 }, (_, n) =>
      added(n % 7, `r-${Math.floor(n / 3)}`, n % 3 ? undefined : `k-${n}`),
    )
    await left(1, sketches)
    await left(5, [added(1, 'r')])
    await catchUpAll(options())
    await Promise.all([assertLedger(harness, 1, 1300), assertLedger(harness, 5, 1)])
    expect(await readSubscriptionCheckpoint(pool)).to.equal('1300')
    const { rows } = await harness.pool.query(
      'select count(*)::int as answers from idempotent_answers where company_id = 1',
    )
    expect(rows[0].answers).to.equal(Math.ceil(1300 / 3))
    // The last of three events of request r-166 is at the end of the first slice.
    const answer = await harness.pool.query(`select body from idempotent_answers where key = ' k-498'`)
    const values = sketches.slice(0, 501).filter((sketch) => (sketch.data as { id: number }).id === 498 % 7).length
    expect(JSON.parse(answer.rows[0].body).value).to.equal(values)
    await catchUpAll(options())
    await assertLedger(harness, 1, 1300)
  })

  it('writes nothing to tables of another version [LEDGER-12]', async () => {
    await left(1, [added(1, 'r-1')])
    await harness.pool.query(`update ops.read_model set version = 'newer', number = 2`)
    follower = startCatchUpSubscription(options())
    await until(async () => logged.includes('outdated'), { what: 'the other version to be noticed' })
    expect(await revisionOf(1)).to.equal(-1)
  })
})
