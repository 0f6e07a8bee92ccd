import type { Pool, QueryResultRow } from 'pg'
import { unhurried } from './pace.ts'

/** Position of a round robin over companies. It lives as long as its loop, so that a run that ends early goes on where it was. */
export interface RoundRobin {
  /**
   * Runs a statement that takes work of companies in `roundRobinOrder`; the position is its last parameter. The next one
   * begins after the companies that it has taken.
   */
  take<Row extends QueryResultRow & { readonly company_id: number }>(
    pool: Pick<Pool, 'query'>,
    statement: { readonly name: string; readonly text: string },
    values: readonly unknown[],
  ): Promise<Row[]>
}

export function createRoundRobin(): RoundRobin {
  /** Id of the company that was served last; 0 before the first. */
  let after = 0
  return {
    async take<Row extends QueryResultRow & { readonly company_id: number }>(
      ...[pool, statement, values]: Parameters<RoundRobin['take']>
    ) {
      const { rows } = await pool.query<Row>({ ...statement, values: [...values, after] })
      const served = rows.map(({ company_id }) => company_id)
      const wrapped = served.filter((id) => id <= after)
      const last = Math.max(...(wrapped.length > 0 ? wrapped : served))
      if (Number.isFinite(last)) after = last
      return rows
    },
  }
}

/** ORDER BY terms: companies by id, beginning after the position of a round robin, which is a parameter of the statement. */
export const roundRobinOrder = (companyId: string, after: string): string =>
  `${companyId} <= ${after}::bigint, ${companyId}`

export interface InTurnOptions<Tenant = number> {
  readonly stopping?: AbortSignal
  /** A failure ends the tenant's work in this run; the others go on. */
  readonly onError: (error: unknown, tenant: Tenant) => void
  /** Slices of a tenant in one run: beyond it the run ends, and the next one finds those that have work by then. */
  readonly slices?: number
}

/**
 * Works for each tenant (usually the id of a company) in turn, one bounded slice at a time: one with much to do delays
 * the others by its slices only, and one that fails delays none. After a slice that leaves more it rests, so that a
 * long backlog takes a quarter of the time.
 */
export async function workInTurn<Tenant>(
  tenants: Iterable<Tenant>,
  slice: (tenant: Tenant) => Promise<'more' | 'done'>,
  { stopping, onError, slices = 1_000 }: InTurnOptions<Tenant>,
): Promise<void> {
  const pace = unhurried(stopping)
  let waiting = [...tenants]
  for (let round = 0; round < slices && waiting.length > 0; round++) {
    const more: Tenant[] = []
    for (const tenant of waiting) {
      if (stopping?.aborted) return
      try {
        const startedAt = performance.now()
        if ((await slice(tenant)) === 'done') continue
        more.push(tenant)
        await pace(performance.now() - startedAt)
      } catch (error) {
        onError(error, tenant)
      }
    }
    waiting = more
  }
}
