import type { Queryable } from '#postgres/database.ts'

/** A table whose rows of a company are carried (CELL-1). */
export interface CarriedTable {
  readonly name: string
  /** Condition on a company's rows, given SQL of its id. */
  of(id: string): string
  /** Append-only: only the owner deletes from it. */
  readonly isOwners?: true
}

const ofCompany = (name: string, more: Pick<CarriedTable, 'isOwners'> = {}): CarriedTable => ({
  name: `ops.${name}`,
  of: (id) => `company_id = ${id}`,
  ...more,
})

export const LEDGER: CarriedTable = {
  name: 'ledger.events',
  of: (id) => `stream = 'company-${id}'`,
  isOwners: true,
}

/** Carried beside the ledger. */
export const CARRIED: readonly CarriedTable[] = [
  ...[
    'person_keys',
    'idempotent_answers',
    'api_key_secrets',
    'api_key_uses',
    'quotas',
    'webhook_secrets',
    'webhook_sequences',
    'webhook_messages',
    'webhook_deliveries',
    'webhook_health',
    'webhook_hours',
    'webhook_replays',
    'webhook_replay_days',
    'webhook_stock_changes',
    'calls',
    'call_counts',
    'notices',
    'sync_tokens',
    'sessions',
    'refused_sales',
    'item_pictures',
    'company_logos',
    'store_secrets',
    'payment_notifications',
    'payment_notification_hours',
    'payment_sweeps',
    'invitations',
    'user_pins',
    'invitation_counts',
    'downloads',
  ].map((name) => ofCompany(name)),
  ofCompany('restored_ledgers', { isOwners: true }),
  ofCompany('ledger_checkpoints', { isOwners: true }),
]

const byEmail = (id: string) => `email in (select doc ->> 'email' from users where company_id = ${id})`

/** Logins of a company's users. Persons come last: what is of unknown ones is recognized by their absence. */
export const OF_PERSONS: readonly CarriedTable[] = [
  'second_factors',
  'recovery_codes',
  'password_links',
  'persons',
].map((name) => ({ name: `ops.${name}`, of: byEmail }))

/** What opens a company. */
export const CREDENTIALS = ['api_key_secrets', 'sessions', 'sync_tokens', 'store_secrets', 'invitations'].map(
  (name) => `ops.${name}`,
)

/** Tables that are not carried, with the reason. */
export const TABLES_LEFT: Readonly<Record<string, string>> = {
  'ops.migrations': 'of the database',
  'ops.read_model': 'of the database: the read model is made anew where the company arrives, from its ledger',
  'ops.ledgers': 'made where the company arrives, as the first line of the file says',
  'ops.company_moves': 'each installation has its own side of a move',
  'ops.panel_calls': 'counts of the last minute: where the company arrives they begin anew',
  'ops.imports': 'files of the hour: a pending import needs another upload',
  'ops.second_steps': 'logins of the minute',
  'ops.login_failures': 'counted against addresses and networks',
  'ops.login_origins': 'devices and networks, known to this installation',
  'ops.demo_companies': 'which companies a start fills with examples; those that have moved are filled already',
  'ops.stranger_notifications': 'not about an order of any company',
  'ops.master_keys': 'of the database; cells share the key',
  'ops.installation': 'of the database',
  'ops.installation_secrets': 'the same in all cells',
  'ops.seal_keys': 'the same in all cells',
  'ops.checkpoints': 'how far the follower of this installation has come',
  'ops.trees': 'made anew from the ledger',
  'ops.tree_tiles': 'made anew from the ledger',
  'ops.table_checks': 'compared anew where the company arrives',
  'ops.sealing_faults': 'found anew where the company arrives',
  'ops.installation_entries': 'the log of this installation: what it has said of the company stays said',
  'ops.installation_checkpoints': 'the log of this installation',
  'ops.checkpoint_tokens': 'what attestors gave for the log of this installation',
  'ops.attestors': 'how it goes with those whom this installation asks',
  'ops.sealing_rounds': 'rounds of this installation',
}

/** Tables with an `id` that an installation assigns over all companies: it continues after the carried ones. */
export const COUNTED_TABLES = ['ops.refused_sales', 'ops.payment_notifications', 'ops.downloads'] as const

/** A stored column, and its type in SQL. */
export interface StoredColumn {
  readonly name: string
  readonly type: string
  readonly isKey: boolean
}

/** Columns of a table in order, without generated ones. */
export async function storedColumnsOf(client: Queryable, table: string): Promise<readonly StoredColumn[]> {
  const { rows } = await client.query<StoredColumn>(
    `select quote_ident(a.attname) as name, format_type(a.atttypid, a.atttypmod) as type, coalesce(a.attnum = any(i.indkey), false) as "isKey"
     from pg_attribute a left join pg_index i on i.indrelid = a.attrelid and i.indisprimary
     where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum`,
    [table],
  )
  return rows
}
