import type { Pool } from 'pg'
import { DEFAULT_SHARD, type NamedUrl } from '#config/databases.ts'
import type { Placement, ResolvePlacement } from '#ledger/follow/placement.ts'
import { withPool } from '#postgres/pool.ts'
import type { Directory } from './directory.ts'

interface PlacementResolverOptions {
  /** The shard that asks. */
  readonly shard: string
  readonly directory: Pick<Directory, 'pool'>
  /** Additional shards. */
  readonly shards: readonly NamedUrl[]
}

/** Connection time-out after which a shard counts as unreachable. */
const CONNECT_TIMEOUT_MS = 3_000

/**
 * Placement of the companies in a shared event store: by the directory, and for companies it does not know by the
 * ledgers of the other shards. A company known nowhere is on the default shard, whose directory may be older than the
 * store, or new (SHARD-90). Connections to additional shards are opened for the query only.
 */
export function createPlacementResolver({ shard, directory, shards }: PlacementResolverOptions): ResolvePlacement {
  const others = shards.filter(({ name }) => name !== shard)
  /** A company that arrives has a ledger here first, so its placement is not lookedUpIds for again. */
  const elsewhere = new Set<number>()

  /** Shards by company. Null if an unreachable shard may have the rest. */
  async function shardsOf(companyIds: readonly number[], found: Map<number, string>): Promise<'all' | null> {
    for (const { company_id, shard } of await queryPlacements(directory.pool, IN_DIRECTORY, companyIds))
      found.set(company_id, shard)
    const unknownIds = companyIds.filter((companyId) => !found.has(companyId))
    if (unknownIds.length === 0) return 'all'
    const answers = await Promise.allSettled([
      ...(shard === DEFAULT_SHARD ? [] : [queryPlacements(directory.pool, IN_SHARD, unknownIds, DEFAULT_SHARD)]),
      ...others.map(({ name, url }) => queryShard(url, unknownIds, name)),
    ])
    for (const answer of answers)
      if (answer.status === 'fulfilled') for (const { company_id, shard } of answer.value) found.set(company_id, shard)
    return answers.every(({ status }) => status === 'fulfilled') ? 'all' : null
  }

  return async (companyIds) => {
    const lookedUpIds = companyIds.filter((companyId) => !elsewhere.has(companyId))
    const found = new Map<number, string>()
    const whole = lookedUpIds.length === 0 ? 'all' : await shardsOf(lookedUpIds, found).catch(() => null)
    const placementOf = (companyId: number): Placement => {
      if (elsewhere.has(companyId)) return 'elsewhere'
      const name = found.get(companyId) ?? (whole && DEFAULT_SHARD)
      if (name === null) return 'unknown'
      if (name !== shard) elsewhere.add(companyId)
      return name === shard ? 'here' : 'elsewhere'
    }
    return new Map(companyIds.map((companyId) => [companyId, placementOf(companyId)]))
  }
}

interface Residence {
  readonly company_id: number
  readonly shard: string
}

const IN_DIRECTORY = 'select company_id, shard from ops.company_shards where company_id = any($1::bigint[])'

/** Includes companies whose first event is not applied. */
const IN_SHARD = 'select company_id, $2 as shard from ops.ledgers where company_id = any($1::bigint[])'

/** An empty shard has no companies. @throws on connection errors */
async function queryPlacements(
  pool: Pool,
  text: string,
  companyIds: readonly number[],
  ...name: readonly string[]
): Promise<readonly Residence[]> {
  try {
    return (await pool.query<Residence>(text, [companyIds, ...name])).rows
  } catch (error) {
    if ((error as { code?: string }).code === UNDEFINED_TABLE) return []
    throw error
  }
}

const UNDEFINED_TABLE = '42P01'

async function queryShard(url: string, companyIds: readonly number[], name: string): Promise<readonly Residence[]> {
  const options = { max: 1, connect_timeout_ms: CONNECT_TIMEOUT_MS, application_name: 'tillbook shards' }
  return withPool(url, options, (pool) => queryPlacements(pool, IN_SHARD, companyIds, name))
}
