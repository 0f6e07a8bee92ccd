import { expect } from 'chai'
import type { EventStore } from '#ledger/port.ts'
import {
  createReadRouter,
  LATEST,
  type ReadFrom,
  type Replica,
  type ReplicaPosition,
  type ReplicaState,
  replicaLag,
} from '#ledger/replicas/replicas.ts'
import { TenantLimitExceeded } from '#lib/errors.ts'
import type { Database } from '#postgres/database.ts'

describe('lag of a read replica', () => {
  const written = [
    { at_ms: 1_000, bytes: 500 },
    { at_ms: 2_000, bytes: 700 },
    { at_ms: 3_000, bytes: 900 },
  ]

  it('is zero once it has the whole log, regardless of the age of the last commit [READ-924]', () => {
    expect(replicaLag(written, { bytes: 900, commit_age_ms: 3_600_000 }, 3_010)).to.equal(0)
    expect(replicaLag(written, { bytes: 950, commit_age_ms: null }, 3_010)).to.equal(0)
  })

  it('is at most the time since it was level, or since its last commit [READ-924]', () => {
    expect(
      replicaLag(written, { bytes: 700, commit_age_ms: 3_600_000 }, 3_010),
      'the first commit after an hour',
    ).to.equal(1_010)
    expect(replicaLag(written, { bytes: 899, commit_age_ms: 4 }, 3_010), 'one of many commits').to.equal(4)
    expect(replicaLag(written, { bytes: 600, commit_age_ms: 4_000 }, 3_010)).to.equal(2_010)
    expect(replicaLag(written, { bytes: 899, commit_age_ms: -20 }, 3_010)).to.equal(0)
  })

  it('exceeds any bound if it has never been level and shows no commit [READ-924]', () => {
    expect(replicaLag(written, { bytes: 10, commit_age_ms: null }, 3_010)).to.equal(Number.POSITIVE_INFINITY)
    expect(replicaLag([], { bytes: 10, commit_age_ms: null }, 3_010)).to.equal(Number.POSITIVE_INFINITY)
    expect(replicaLag(written, { bytes: 10, commit_age_ms: 9_000 }, 3_010)).to.equal(9_000)
  })
})

const COMPANY = 7
const DEMAND = { revision: 5, wait_budget_ms: 20 }

/** Replica with this revision that answers with its name. */
function replicaAt(name: string, revision: number, { state = 'up' as ReplicaState, fails = null as unknown } = {}) {
  const patience: number[] = []
  const replica = {
    name,
    state,
    shows: async (_company: number, wanted: ReplicaPosition, wait_budget_ms: number) => {
      patience.push(wait_budget_ms)
      return revision >= wanted.revision
    },
    query: async () => {
      if (fails) throw fails
      return { rows: [{ from: name }] }
    },
  }
  return { patience, ...(replica as unknown as Replica) }
}

function readsFrom(...replicas: Replica[]) {
  const counted: ReadFrom[] = []
  const asked: unknown[] = []
  const query = async (statement: { text?: string } | string) => {
    asked.push(statement)
    return { rows: [{ from: 'primary', revision: 6 }] }
  }
  const poolOf = () => ({ query }) as unknown as Database
  const store = { transactional: true } as EventStore
  const readsOf = createReadRouter({ replicas, poolOf, store, onRead: (from) => counted.push(from) })
  const whence = async (place: Pick<ReturnType<typeof readsOf>, 'pool'>) => (await place.pool.query('x')).rows[0]?.from
  return { counted, asked, readsOf, whence, read: async (demand = DEMAND) => whence(readsOf(COMPANY, demand)) }
}

const failure = (code: string) =>
  Object.assign(new Error('canceling statement due to conflict with recovery'), { code })

describe('routing of reads to replicas', () => {
  it('alternates between replicas that have the required revision [READ-920]', async () => {
    const { read, counted, asked } = readsFrom(replicaAt('1', 5), replicaAt('2', 9))
    expect([await read(), await read(), await read()]).to.deep.equal(['1', '2', '1'])
    expect(counted).to.deep.equal(['replica', 'replica', 'replica'])
    expect(asked).to.deep.equal([])
  })

  it('tries another replica, then the primary, and waits only for the last replica [READ-921]', async () => {
    const [behind, level] = [replicaAt('1', 4), replicaAt('2', 5)]
    expect(await readsFrom(behind, level).read()).to.equal('2')
    expect([behind.patience, level.patience]).to.deep.equal([[0], [20]])
    const { read, counted } = readsFrom(replicaAt('1', 4), replicaAt('2', 3))
    expect(await read()).to.equal('primary')
    expect(counted).to.deep.equal(['primary'])
  })

  it('never uses an excluded replica [READ-924]', async () => {
    const states = ['starting', 'down', 'lagging', 'no_standby', 'other_database', 'other_version'] as const
    expect(await readsFrom(...states.map((state) => replicaAt(state, 9, { state }))).read()).to.equal('primary')
  })

  it('shows everything the primary had at the start of a read as of now [READ-923]', async () => {
    const now = (replica: Replica) => readsFrom(replica).read(LATEST as typeof DEMAND)
    expect(await now(replicaAt('1', 5))).to.equal('primary')
    expect(await now(replicaAt('1', 6))).to.equal('1')
  })

  it('switches to the primary from the first statement that fails on a replica, transparently [READ-925]', async () => {
    let fails: unknown = null
    const replica = replicaAt('1', 5)
    const flaky = Object.assign(replica, {
      query: async () => {
        if (fails) throw fails
        return { rows: [{ from: '1' }] }
      },
    })
    const { readsOf, whence, counted } = readsFrom(flaky)
    const place = readsOf(COMPANY, DEMAND)
    expect(await whence(place)).to.equal('1')
    fails = failure('40001')
    expect(await Promise.all([whence(place), whence(place)])).to.deep.equal(['primary', 'primary'])
    fails = null
    expect(await whence(place), 'time never goes back within an answer').to.equal('primary')
    expect(counted).to.deep.equal(['replica', 'again'])
    expect(await whence(readsOf(COMPANY, DEMAND)), 'the next answer').to.equal('1')
  })

  it('does not repeat a read after a time-out or at the tenant limit [READ-925]', async () => {
    for (const fails of [failure('57014'), new TenantLimitExceeded('too many')]) {
      const { read, asked } = readsFrom(replicaAt('1', 5, { fails }))
      expect(await read().catch((error) => error)).to.equal(fails)
      expect(asked).to.deep.equal([])
    }
  })
})
