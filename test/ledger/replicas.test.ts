import { expect } from 'chai'
import type { Pool } from 'pg'
import { createReplica, monitorReplicas, type ReplicaProbe } from '#ledger/replicas/replicas.ts'
import { createKeyedSemaphore } from '#lib/fair-sharing.ts'
import { until } from '../support/wait.ts'

const TABLES = 16_400
const COMPANY = 7

/** Replica with these rows, poll by poll; an error is a poll without a response. */
function standbyWith(...looks: ({ revision: number; tables?: number } | null | Error)[]) {
  const asked: number[][] = []
  const watch = {
    query: async ({ values: [ids] }: { values: [number[]] }) => {
      asked.push(ids)
      const look = looks[Math.min(asked.length, looks.length) - 1] ?? null
      if (look instanceof Error) throw look
      return { rows: look ? [{ company_id: COMPANY, tables: TABLES, ...look }] : [] }
    },
  }
  const never = { query: () => new Promise(() => {}), end: async () => {} }
  const replica = createReplica({
    name: '1',
    openPool: () => never as unknown as Pool,
    watch: watch as unknown as Pool,
    turns: createKeyedSemaphore({ running: 4, waiting: 4 }),
  })
  replica.become('up', 0)
  return { replica, asked }
}

describe('a read replica shows a ledger', () => {
  const shows = (...looks: Parameters<typeof standbyWith>) =>
    standbyWith(...looks).replica.shows(COMPANY, { revision: 5, tables: TABLES }, 0)

  it('once it has replayed the required revision, in the required tables [READ-921]', async () => {
    expect(await shows({ revision: 5 })).to.equal(true)
    expect(await shows({ revision: 4 })).to.equal(false)
    expect(await shows({ revision: 9, tables: TABLES + 1 }), 'a rebuild is not there yet').to.equal(false)
    expect(await shows(null), 'a company of a moment ago').to.equal(false)
    expect(await shows(new Error('canceling statement'))).to.equal(false)
    const { replica } = standbyWith({ revision: 5 })
    expect(await replica.shows(COMPANY, { revision: 0 }, 0), 'any tables').to.equal(true)
  })

  it('after a wait within the wait budget, if it lags no further than that [READ-921]', async () => {
    const { replica, asked } = standbyWith({ revision: 3 }, { revision: 4 }, { revision: 5 })
    expect(await replica.shows(COMPANY, { revision: 5 }, 1_000)).to.equal(true)
    expect(asked).to.have.length(3)
    const late = standbyWith({ revision: 3 })
    late.replica.become('up', 2_000)
    expect(await late.replica.shows(COMPANY, { revision: 5 }, 1_000)).to.equal(false)
    expect(late.asked).to.have.length(1)
  })

  it('to all waiting readers with one query [READ-921]', async () => {
    const { replica, asked } = standbyWith({ revision: 4 })
    const wanted = [3, 4, 5].map((revision) => replica.shows(COMPANY, { revision }, 0))
    expect(await Promise.all([...wanted, replica.shows(8, { revision: 0 }, 0)])).to.deep.equal([
      true,
      true,
      false,
      false,
    ])
    expect(asked).to.deep.equal([[COMPANY, 8]])
  })

  it('no longer once it is unreachable: no reader waits for its time-out [READ-925]', async () => {
    const { replica } = standbyWith({ revision: 5 })
    const reading = replica.query(COMPANY, 'select 1').then(
      () => 'answered',
      (error: Error) => error.message,
    )
    replica.become('down', null)
    expect(await reading).to.equal('the replica is away')
  })
})

const MODEL = { version: 'v2', number: 2 }
const NOW = '2026-11-22T12:00:00.000Z'
const LEVEL: ReplicaProbe = {
  isStandby: true,
  identity: 'a/1',
  version: 'v2',
  number: 2,
  bytes: 1_000,
  committed_at: NOW,
}

const poolOf = (row: object | Error): Pool =>
  ({
    query: async () => {
      if (row instanceof Error) throw row
      return { rows: [row] }
    },
    end: async () => {},
  }) as unknown as Pool

/** Judgement of a replica with this probe result, beside a primary that has written 1,000 bytes of its log. */
async function judged(said: Partial<ReplicaProbe> | Error) {
  const heard: string[] = []
  const watch = poolOf(said instanceof Error ? said : { ...LEVEL, ...said })
  const replica = createReplica({
    name: '1',
    openPool: () => poolOf({}),
    watch,
    turns: createKeyedSemaphore({ running: 1, waiting: 1 }),
  })
  const watching = monitorReplicas({
    pool: poolOf({ identity: 'a/1', bytes: 1_000, now: NOW }),
    replicas: [replica],
    model: MODEL,
    maxLagMs: 5_000,
    log: (message, _error, fields) => heard.push(`${message} ${JSON.stringify(fields)}`),
  })
  await until(() => replica.state !== 'starting')
  await watching.stop()
  return { state: replica.state, lag_ms: replica.lag_ms, heard }
}

describe('replica monitor', () => {
  it('uses a replica that is level, without logging [READ-924]', async () => {
    expect(await judged({})).to.deep.equal({ state: 'up', lag_ms: 0, heard: [] })
    expect((await judged({ committed_at: '2020-01-01T00:00:00.000Z' })).state, 'of an idle primary').to.equal('up')
  })

  it('excludes a replica that lags, is a primary, or has another database or other tables [READ-924]', async () => {
    const states = []
    for (const said of [
      { bytes: 900, committed_at: '2026-11-22T11:59:54.000Z' },
      { isStandby: false },
      { identity: 'b/1' },
      { identity: 'a/2' },
      { version: 'v1', number: 1 },
      { version: 'v2b' },
      new Error('connect ECONNREFUSED'),
    ]) {
      const { state, heard } = await judged(said)
      expect(heard).to.deep.equal([`replicas: replica left out ${JSON.stringify({ replica: '1', state })}`])
      states.push(state)
    }
    expect(states).to.deep.equal([
      'lagging',
      'no_standby',
      'other_database',
      'other_database',
      'other_version',
      'other_version',
      'down',
    ])
  })

  it('uses a replica for an older process while the tables of its version still exist [READ-924]', async () => {
    expect((await judged({ version: 'v3', number: 3 })).state).to.equal('up')
  })
})
