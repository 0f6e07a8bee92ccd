import type { Pool } from 'pg'
import { inSnapshot, type TakeRecords } from '../snapshot.ts'
import { ITEM_DETAILS, PRODUCT_RECORD, utc } from './product-record.ts'

const CHUNK_PRODUCTS = 1_000

/** A product as a till knows it. */
export interface KnownProduct {
  readonly id: number
  /** UTC. */
  readonly updated_at: string
}

/**
 * Hands over what changed without the till's knowledge, in the till's order, as
 * `{id, reason, client_updated_at, server_updated_at, product}` (DESIGN section 5). A movement of stock is no conflict.
 * Returns when it was looked at; null when `take` wanted no more.
 */
export function checkProducts(
  pool: Pool,
  companyId: number,
  known: readonly KnownProduct[],
  take: TakeRecords,
): Promise<string | null> {
  return inSnapshot(pool, async (tx) => {
    const { rows } = await tx.query<{ now: string }>(CLOCK)
    for (let start = 0; start < known.length; start += CHUNK_PRODUCTS) {
      const chunk = known.slice(start, start + CHUNK_PRODUCTS)
      const values = [companyId, chunk.map(({ id }) => id), chunk.map(({ updated_at }) => updated_at)]
      const found = await tx.query<{ conflicts: string | null }>(FIND_CONFLICTS, values)
      const conflicts = found.rows[0]?.conflicts
      if (conflicts && !take(conflicts)) return null
    }
    return rows[0]?.now ?? null
  })
}

const CLOCK = {
  name: 'sync_clock',
  text: `select date_trunc('milliseconds', statement_timestamp()) as now`,
}

/** Another company's product is as unknown as one that never was. What became a service is gone for tills, as if deleted. */
const FIND_CONFLICTS = {
  name: 'find_sync_conflicts',
  text: `select string_agg('{"id":' || known.id || ',"reason":"' || reason
             || '","client_updated_at":"' || ${utc('known.updated_at')}
             || '","server_updated_at":' || coalesce('"' || ${utc('coalesce(t.deleted_at, d.updated_at)')} || '"', 'null')
             || ',"product":' || case when reason = 'updated' then ${PRODUCT_RECORD} else 'null' end || '}',
           ',' order by known.position) as conflicts
         from unnest($2::bigint[], $3::timestamptz[]) with ordinality as known(id, updated_at, position)
         left join catalog_items t on t.company_id = $1 and t.id = known.id
         ${ITEM_DETAILS}
         cross join lateral (
           select case
             when t.id is null then 'unknown'
             when t.deleted_at is not null or t.type <> 'product' then 'deleted'
             when d.updated_at > known.updated_at then 'updated'
           end as reason
         ) as judged
         where reason is not null`,
}
