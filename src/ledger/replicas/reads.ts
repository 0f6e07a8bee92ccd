import type { Pool } from 'pg'
import { TenantLimitExceeded } from '#lib/errors.ts'
import type { PoolOf } from '#postgres/shared-pool.ts'
import { type EventStore, isOutside } from '../port.ts'
import { createPostgresStore } from '../stores/postgres.ts'
import type { Replica, ReplicaPosition } from './replica.ts'

/** How new an answer must be. */
export interface ReadRequirement {
  /** It shows the company's ledger up to this revision at least; `now`: up to what is committed when it is first read. */
  readonly revision: number | 'now'
  /** It comes from these tables, which a rebuild has put in the place of others at the same revision; absent: from any. */
  readonly tables?: number
  /** For how long a standby is given the time to get there. */
  readonly patience_ms: number
}

/** How long a standby is waited for, in milliseconds, by whoever would rather be answered at once by the primary. */
export const SHORT_WAIT_BUDGET_MS = 50

/** As new as the primary's own answer. */
export const LATEST: ReadRequirement = { revision: 'now', patience_ms: SHORT_WAIT_BUDGET_MS }

/** What one answer is read with: all its statements on one server, or some on a standby and those that follow on the primary. */
export interface ReadSession {
  /** It has `query` only. */
  readonly pool: Pool
  /** The ledgers, as far as `pool` shows them. */
  readonly store: EventStore
}

/** Where a company is read for one answer. What it reads is never older than what it read before. */
export type OpenReadSession = (companyId: number, demand: ReadRequirement) => ReadSession

/** Where an answer was read: `again` is on the primary, because the standby that was asked first did not answer. */
export type ReadFrom = 'standby' | 'primary' | 'again'

interface ReadsOptions {
  readonly standbys: readonly Replica[]
  /** The primary. */
  readonly poolOf: PoolOf
  readonly store: EventStore
  /** Hears of each answer where it is read. */
  readonly onRead: (from: ReadFrom) => void
}

const NOW = {
  name: 'ledger_now',
  text: `select revision, to_regclass('companies')::oid as tables from ops.ledgers where company_id = $1`,
}

const CANCELLED = '57014'
/** It took too long, or its company has its share: the primary would say the same, after as long. */
const isFinal = (error: unknown): boolean =>
  error instanceof TenantLimitExceeded || (error as { code?: unknown } | null)?.code === CANCELLED

export const readFromPrimary =
  (poolOf: PoolOf, store: EventStore): OpenReadSession =>
  (companyId) => ({ pool: poolOf(companyId), store })

/** Reads from standbys by turns, and from the primary where none of them shows what is asked for. */
export function createReadRouter({ standbys, poolOf, store, onRead }: ReadsOptions): OpenReadSession {
  let turn = 0

  /** Null is the primary. */
  async function choose(companyId: number, demand: ReadRequirement): Promise<Replica | null> {
    const up = standbys.filter(({ state }) => state === 'up')
    if (up.length === 0) return null
    const first = turn++ % up.length
    const inTurn = [...up.slice(first), ...up.slice(0, first)]
    const { revision, tables, patience_ms } = demand
    const wanted = revision === 'now' ? await ledgerNow(poolOf(companyId), companyId) : { revision, tables }
    for (const [place, standby] of inTurn.entries()) {
      const isLast = place === inTurn.length - 1
      if (await standby.shows(companyId, wanted, isLast ? patience_ms : 0)) return standby
    }
    return null
  }

  return (companyId, demand) => {
    const primary = poolOf(companyId)
    let chosen: Promise<Replica | null> | null = null
    const chooseOnce = async () => {
      const standby = await choose(companyId, demand)
      onRead(standby ? 'standby' : 'primary')
      return standby
    }
    const ask = primary.query.bind(primary) as (...statement: unknown[]) => Promise<unknown>
    const query = async (...statement: unknown[]): Promise<unknown> => {
      chosen ??= chooseOnce()
      const from = chosen
      const standby = await from
      if (!standby) return ask(...statement)
      try {
        return await standby.query(companyId, statement)
      } catch (error) {
        if (isFinal(error)) throw error
        // From here on all that is read for this answer comes from the primary.
        if (chosen === from) {
          chosen = Promise.resolve(null)
          onRead('again')
        }
        return ask(...statement)
      }
    }
    const pool = { query } as unknown as Pool
    return {
      pool,
      get store() {
        return isOutside(store) ? store : createPostgresStore(pool)
      },
    }
  }
}

async function ledgerNow(pool: Pool, companyId: number): Promise<ReplicaPosition> {
  const { rows } = await pool.query<ReplicaPosition>({ ...NOW, values: [companyId] })
  return rows[0] ?? { revision: -1, tables: undefined }
}
