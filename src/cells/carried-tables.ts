import type { Queryable } from '#postgres/database.ts'

/** Tables of `ops` with a company's rows that do not travel with it, and why (CELL-1). */
export const LEFT_TABLES: Readonly<Record<string, string>> = {
  ledgers: 'made where the company arrives, as the first line of the file says',
  company_moves: 'each installation has its own side of a move',
  panel_request_counts: 'counts of the last minute: where the company arrives they begin anew',
  imports: 'files of the hour: a pending import needs another upload',
  demo_companies: 'which companies a start fills with examples; those that have moved are filled already',
  table_checks: 'compared anew where the company arrives',
  checkpoint_faults: 'found anew where the company arrives',
  installation_entries: 'the log of this installation: what it has said of the company stays said',
}

/** Logins of a company's users, by e-mail. Persons come last: what is of unknown ones is recognized by their absence. */
export const LOGIN_TABLES = ['second_factors', 'recovery_codes', 'password_links', 'persons']

/** What opens a company. */
export const CREDENTIALS = ['api_key_secrets', 'sessions', 'sync_tokens', 'store_secrets', 'invitations']

/** A table whose rows of a company are carried. */
export interface CarriedTable {
  /** With its schema. */
  readonly name: string
  readonly isOfLogins: boolean
  /** Only the owner deletes from it. */
  readonly isAppendOnly: boolean
  /** Whether ids are of the installation: they continue after the carried ones. */
  readonly isCounted: boolean
  /** In order, without generated ones. */
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  /** Columns of the primary key, quoted. */
  readonly key: readonly string[]
}

/** Every table of `ops` that names companies in its rows, but those left behind; logins first. */
export async function carriedTables(client: Queryable): Promise<readonly CarriedTable[]> {
  const { rows } = await client.query<CarriedTable>(
    `select 'ops.' || c.relname as name, c.relname = any($1) as "isOfLogins", bool_or(a.attidentity <> '') as "isCounted",
       exists (select from pg_trigger where tgrelid = c.oid and tgname = 'append_only') as "isAppendOnly",
       json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod)) order by a.attnum) as columns,
       coalesce(json_agg(quote_ident(a.attname)) filter (where a.attnum = any(i.indkey)), '[]') as key
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
       left join pg_index i on i.indrelid = c.oid and i.indisprimary
     where c.relnamespace = 'ops'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     group by c.oid, c.relname
     having c.relname = any($1) or bool_or(a.attname = 'company_id') and c.relname <> all($2)
     order by array_position($1, c.relname::text), c.relname`,
    [LOGIN_TABLES, Object.keys(LEFT_TABLES)],
  )
  return rows
}

/** Condition on the rows of a company. */
export const isOfCompany = ({ isOfLogins }: Pick<CarriedTable, 'isOfLogins'>, companyId: number): string =>
  isOfLogins
    ? `email in (select doc ->> 'email' from users where company_id = ${companyId})`
    : `company_id = ${companyId}`
