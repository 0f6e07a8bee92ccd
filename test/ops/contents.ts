import { administer } from '../support/server.ts'

/** Rows and a digest of all their values, by table. */
export type Contents = Readonly<Record<string, { readonly rows: number; readonly digest: string }>>

/**
 * Everything that a database of the service holds in tables: ledgers, what cannot be derived from them, and the read model; but
 * not when its tables were last compared, nor its calls, which a service notes by itself.
 */
export function contentsOf(databaseUrl: string): Promise<Contents> {
  return administer(databaseUrl, async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname in ('ledger', 'ops', 'read') and tablename not in ('table_checks', 'calls', 'call_counts', 'summed_sales', 'sales_sums') order by 1`,
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
