import type { Pool } from 'pg'
import type { EventStore } from '#ledger/port.ts'
import type { ReadModel } from '#ledger/projection.ts'
import { createReads, type ReadFrom, type ReadsOf, readsOfPrimary } from '#ledger/standby/reads.ts'
import { createStandby, type Standby } from '#ledger/standby/standby.ts'
import { watchStandbys } from '#ledger/standby/watch.ts'
import { createTurns, type TurnLimits } from '#lib/turns.ts'
import { createPool, type PoolOptions } from '#postgres/pool.ts'
import type { PoolOf } from '#postgres/shared-pool.ts'

export interface StandbyOptions {
  /** Servers that follow that of the database, each a URL of one host. */
  readonly readUrls?: readonly string[]
  /** Milliseconds by which they may be behind. */
  readonly readMaxLagMs?: number
  /** Hears of each answer that might be read from a standby where it was read. */
  readonly onRead?: (from: ReadFrom) => void
}

interface Reading extends StandbyOptions {
  /** The primary. */
  readonly pool: Pool
  readonly poolOf: PoolOf
  readonly store: EventStore
  readonly model: ReadModel
  /** What connections have in common. */
  readonly sessions: Partial<PoolOptions>
  /** Connections for queries, to each standby. */
  readonly connections: number
  readonly turnsOf: (connections: number) => TurnLimits
  readonly log: (message: string, error: unknown) => void
}

interface OpenReads {
  readonly readsOf: ReadsOf
  readonly standbys: readonly Standby[]
  leave(): Promise<void>
}

const READ_MAX_LAG_MS = 5_000
/** A standby that says nothing for so long is away: the primary is there. */
const ANSWERS_MS = 1_000

/** Where reads go that need not go to the primary; without standbys nothing is opened, and all go there. */
export function readsFor(reading: Reading): OpenReads {
  const { readUrls = [], readMaxLagMs: maxLagMs = READ_MAX_LAG_MS, onRead = () => {} } = reading
  if (readUrls.length === 0)
    return { readsOf: readsOfPrimary(reading.poolOf, reading.store), standbys: [], leave: async () => {} }
  const standbys = readUrls.map((url, place) => standbyAt(url, String(place + 1), reading))
  const watch = watchStandbys({ ...reading, standbys, maxLagMs })
  return {
    readsOf: createReads({ ...reading, standbys, onRead }),
    standbys,
    async leave() {
      await watch.stop()
      await Promise.all(standbys.map((standby) => standby.close()))
    },
  }
}

function standbyAt(url: string, name: string, { sessions, connections, turnsOf }: Reading): Standby {
  const known = { ...sessions, connect_timeout_ms: ANSWERS_MS }
  return createStandby({
    name,
    openPool: () => createPool(url, { ...known, max: connections, pipeline: true }),
    watch: createPool(url, { ...known, max: 1, statement_timeout_ms: ANSWERS_MS, keyLookupsOnly: true }),
    turns: createTurns(turnsOf(connections)),
  })
}
