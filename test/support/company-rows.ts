import type { Pool } from 'pg'

/** Number of a company's rows in all tables of a database. */
export async function rowsOf(pool: Pool, companyId: number): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `select coalesce(sum((xpath('/row/n/text()', query_to_xml(
       format('select count(*) as n from %I.%I where %s', n.nspname, c.relname, condition), false, true, '')))[1]::text::bigint), 0)::int as count
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     cross join lateral (
       select case a.attname when 'stream' then format('stream = ''company-%s''', $1::bigint) else format('%I = %s', a.attname, $1::bigint) end as condition
       from pg_attribute a where a.attrelid = c.oid and a.attname in ('company_id', 'stream', 'log') limit 1) as found
     where n.nspname in ('ops', 'ledger', 'read') and c.relkind = 'r'
       and c.relname not in ('ledgers', 'installation_entries', 'company_moves')`,
    [companyId],
  )
  return rows[0]?.count ?? 0
}
