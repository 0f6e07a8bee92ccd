import type { Pool } from 'pg'
import { inBatches } from '#lib/batches.ts'
import { Unavailable } from '#lib/errors.ts'
import { companyIdOfStream } from '../envelope.ts'
import type { EventStore } from '../port.ts'

/** Shard of a company with a ledger in a store that several shards share; `unknown`: cannot be determined now. */
export type Placement = 'here' | 'elsewhere' | 'unknown'

/** Called for companies that this Postgres does not know. Companies missing from the answer are on this shard. */
export type ResolvePlacement = (companyIds: readonly number[]) => Promise<ReadonlyMap<number, Placement>>

/** A company of the store as this shard sees it. */
export interface PlacedCompany {
  readonly lives: Placement
  /** Revision of the read model; null if the company has no ledger here. */
  readonly revision: number | null
}

/** The company's own row takes precedence over the directory. Without `resolvePlacement` there is a single shard. */
export async function resolvePlacements(
  pool: Pool,
  companyIds: readonly number[],
  resolvePlacement: ResolvePlacement | undefined,
): Promise<Map<number, PlacedCompany>> {
  const { rows } = await pool.query<{ company_id: number; revision: number; closed_at: string | null }>({
    name: 'placed_companies',
    text: 'select company_id, revision, closed_at from ops.ledgers where company_id = any($1::bigint[])',
    values: [companyIds],
  })
  const found = new Map<number, PlacedCompany>()
  // Without an event it is being imported, and its stream is not followed yet.
  for (const { company_id, revision, closed_at } of rows)
    found.set(company_id, { lives: closed_at !== null && revision < 0 ? 'unknown' : 'here', revision })
  const unknown = companyIds.filter((companyId) => !found.has(companyId))
  const departed = unknown.length > 0 ? await departedFrom(pool, unknown) : []
  for (const companyId of departed) found.set(companyId, { lives: 'elsewhere', revision: null })
  const placed = unknown.length > 0 ? await resolvePlacement?.(unknown) : undefined
  for (const companyId of unknown)
    if (!found.has(companyId)) found.set(companyId, { lives: placed?.get(companyId) ?? 'here', revision: null })
  return found
}

/** Companies that have left for another installation; an outside store keeps their streams. */
async function departedFrom(pool: Pool, companyIds: readonly number[]): Promise<number[]> {
  const { rows } = await pool.query<{ company_id: number }>(
    `select company_id from ops.company_moves where company_id = any($1::bigint[]) and state = 'removed'`,
    [companyIds],
  )
  return rows.map(({ company_id }) => company_id)
}

/** Streams per lookup. */
const BATCH_STREAMS = 1_000

/**
 * Restricts a store to the streams of this shard's companies: other shards use it too (SHARD-90).
 */
export function ownStreams<S extends EventStore>(store: S, pool: Pool, resolvePlacement?: ResolvePlacement): S {
  async function* own(streams: readonly string[]): AsyncGenerator<string> {
    const ids = streams.map(companyIdOfStream).filter((companyId) => companyId !== null)
    const found = await resolvePlacements(pool, ids, resolvePlacement)
    for (const stream of streams) {
      const lives = found.get(companyIdOfStream(stream) ?? 0)?.lives
      if (lives === 'unknown')
        throw new Unavailable(`placement of the company of ${stream} is unknown: directory or shard unavailable`)
      if (lives === 'here') yield stream
    }
  }
  return {
    ...store,
    async *streams() {
      for await (const streams of inBatches(store.streams(), BATCH_STREAMS)) yield* own(streams)
    },
  }
}
