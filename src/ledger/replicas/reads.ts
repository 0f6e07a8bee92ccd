import type { QueryConfig, QueryResult, QueryResultRow } from 'pg'
import { TenantLimitExceeded } from '#lib/errors.ts'
import type { Queryable } from '#postgres/database.ts'
import type { PoolOf } from '#postgres/shared-pool.ts'
import { type EventStore, isOutside } from '../port.ts'
import { createPostgresStore } from '../stores/postgres.ts'
import type { Replica, ReplicaPosition } from './replica.ts'

/** Required freshness of an answer. */
export interface ReadRequirement {
  /** Minimum revision of the company's ledger; `now`: the revision that is committed at the first read. */
  readonly revision: number | 'now'
  /** Required generation of the tables, because a rebuild replaces tables at the same revision; absent: any. */
  readonly tables?: number
  /** Wait budget for a replica to reach the revision, in ms. */
  readonly wait_budget_ms: number
}

/** Wait budget in ms if a prompt answer of the primary is preferred. */
export const SHORT_WAIT_BUDGET_MS = 50

/** As fresh as the primary's answer. */
export const LATEST: ReadRequirement = { revision: 'now', wait_budget_ms: SHORT_WAIT_BUDGET_MS }

/** Reads for one answer: all statements on one server, or the first ones on a replica and the rest on the primary. */
export interface ReadSession {
  readonly pool: Queryable
  /** The ledgers, as far as `pool` shows them. */
  readonly store: EventStore
}

/** Opens the reads of one company for one answer. Later reads are never older than earlier ones. */
export type OpenReadSession = (companyId: number, demand: ReadRequirement) => ReadSession

/** Server of an answer. `again`: the primary, because the chosen replica did not answer. */
export type ReadFrom = 'replica' | 'primary' | 'again'

interface ReadsOptions {
  readonly replicas: readonly Replica[]
  /** Database of the primary by company. */
  readonly poolOf: PoolOf
  readonly store: EventStore
  /** Called for each answer with its server. */
  readonly onRead: (from: ReadFrom) => void
}

const NOW = {
  name: 'ledger_now',
  text: `select revision, to_regclass('companies')::oid as tables from ops.ledgers where company_id = $1`,
}

const CANCELLED = '57014'
/**
 * The statement timed out, or the company has used up its share: the primary would fail the same way, after the same
 * time.
 */
const isFinal = (error: unknown): boolean =>
  error instanceof TenantLimitExceeded || (error as { code?: unknown } | null)?.code === CANCELLED

export const readFromPrimary =
  (poolOf: PoolOf, store: EventStore): OpenReadSession =>
  (companyId) => ({ pool: poolOf(companyId), store })

/** Reads from replicas round-robin, and from the primary if no replica meets the requirement. */
export function createReadRouter({ replicas, poolOf, store, onRead }: ReadsOptions): OpenReadSession {
  let turn = 0

  /** Null is the primary. */
  async function choose(companyId: number, demand: ReadRequirement): Promise<Replica | null> {
    const up = replicas.filter(({ state }) => state === 'up')
    if (up.length === 0) return null
    const first = turn++ % up.length
    const inTurn = [...up.slice(first), ...up.slice(0, first)]
    const { revision, tables, wait_budget_ms } = demand
    const wanted = revision === 'now' ? await ledgerNow(poolOf(companyId), companyId) : { revision, tables }
    for (const [place, replica] of inTurn.entries()) {
      const isLast = place === inTurn.length - 1
      if (await replica.shows(companyId, wanted, isLast ? wait_budget_ms : 0)) return replica
    }
    return null
  }

  return (companyId, demand) => {
    const primary = poolOf(companyId)
    let chosen: Promise<Replica | null> | null = null
    const chooseOnce = async () => {
      const replica = await choose(companyId, demand)
      onRead(replica ? 'replica' : 'primary')
      return replica
    }
    const query = async <R extends QueryResultRow>(
      statement: string | QueryConfig,
      values?: unknown[],
    ): Promise<QueryResult<R>> => {
      chosen ??= chooseOnce()
      const from = chosen
      const replica = await from
      if (!replica) return primary.query<R>(statement, values)
      try {
        return await replica.query<R>(companyId, statement, values)
      } catch (error) {
        if (isFinal(error)) throw error
        // All further reads of this answer go to the primary.
        if (chosen === from) {
          chosen = Promise.resolve(null)
          onRead('again')
        }
        return primary.query<R>(statement, values)
      }
    }
    const pool = { query }
    return {
      pool,
      get store() {
        return isOutside(store) ? store : createPostgresStore(pool)
      },
    }
  }
}

async function ledgerNow(pool: Queryable, companyId: number): Promise<ReplicaPosition> {
  const { rows } = await pool.query<ReplicaPosition>({ ...NOW, values: [companyId] })
  return rows[0] ?? { revision: -1, tables: undefined }
}
