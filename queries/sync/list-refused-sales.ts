import type { Pool } from 'pg'

/** An uploaded sale that was refused and waits for somebody to settle it, as the panel shows it. */
export interface RefusedSale {
  readonly id: number
  /** As sent; null where it was no text. */
  readonly offline_id: string | null
  /** Who uploaded it last. */
  readonly user: { readonly id: number; readonly name: string | null }
  readonly first_refused_at: string
  readonly last_refused_at: string
  /** How often it came. */
  readonly times: number
  readonly code: string
  readonly message: string
  readonly errors: Readonly<Record<string, readonly string[]>>
  /** What was sent; null where it was too large to keep. */
  readonly payload: unknown
}

export interface RefusedSales {
  /** How many are open in all. */
  readonly total: number
  readonly sales: readonly RefusedSale[]
}

/** Open refused sales of a company, oldest first: `limit` of them after the one with the id `after`. */
export async function listRefusedSales(
  pool: Pool,
  companyId: number,
  { after = 0, limit = 50 }: { readonly after?: number; readonly limit?: number } = {},
): Promise<RefusedSales> {
  const [open, page] = await Promise.all([
    pool.query<{ total: number }>(
      'select count(*)::integer as total from refused_sales where company_id = $1 and settled_at is null',
      [companyId],
    ),
    pool.query<RefusedSale & { payload: string | null }>(
      `select r.id, r.offline_id, json_build_object('id', r.user_id, 'name', u.doc->>'name') as user,
         r.first_refused_at, r.last_refused_at, r.times, r.code, r.message, r.errors, r.payload
       from refused_sales r left join users u on u.company_id = r.company_id and u.id = r.user_id
       where r.company_id = $1 and r.settled_at is null and r.id > $2 order by r.id limit $3`,
      [companyId, after, limit],
    ),
  ])
  return { total: open.rows[0]?.total ?? 0, sales: page.rows.map(parsed) }
}

const parsed = (row: RefusedSale & { payload: string | null }): RefusedSale => ({
  ...row,
  payload: row.payload === null ? null : JSON.parse(row.payload),
})
