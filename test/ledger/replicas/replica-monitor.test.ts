import { expect } from 'chai'
import type { Pool } from 'pg'
import { createReplica, monitorReplicas, type ReplicaProbe } from '#ledger/replicas/replicas.ts'
import { createKeyedSemaphore } from '#lib/fair-sharing.ts'
import { until } from '../../support/wait.ts'

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
