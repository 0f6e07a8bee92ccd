import { administer } from '../support/server.ts'

/** Row count and digest of all values, by table. */
export type Contents = Readonly<Record<string, { readonly rows: number; readonly digest: string }>>

/**
 * Digests of all tables of the service: ledgers, underivable data and the read model; without the time of the last
 * table check and without the request log, which the service writes by itself.
 */
export function contentsOf(databaseUrl: string): Promise<Contents> {
  return administer(databaseUrl, async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname in ('ledger', 'ops', 'read') and tablename not in ('table_checks', 'request_log', 'request_counts', 'rollup_states', 'sales_sums') order by 1`,
    )
    const contents: Record<string, Contents[string]> = {}
    for (const { name } of tables) {
      const { rows } = await client.query<Contents[string]>(
        `select count(*)::int as rows, md5(coalesce(string_agg(t::text, e'\\n' order by t::text collate "C"), '')) as digest
         from ${name} t`,
      )
      contents[name] = rows[0] as Contents[string]
    }
    return contents
  })
}
