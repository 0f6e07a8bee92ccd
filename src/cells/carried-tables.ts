/** A table whose rows of a company are carried (CELL-1). */
export interface CarriedTable {
  readonly name: string
  /** Condition on a company's rows, given SQL of its id. */
  of(id: string): string
  /** False if the rows are proved otherwise, or are not relied upon. */
  readonly isCompared?: false
  /** Condition of rows that no longer change: they are compared before writes are closed. */
  readonly settled?: string
  /** Only these columns are compared: the others change while writes are closed, like request counts. */
  readonly lasting?: readonly string[]
  /** The service's role may not delete from it, or may only append. */
  readonly isOwners?: true
}

const byCompany = (id: string) => `company_id = ${id}`
const byLog = (id: string) => `log = ${id}`

const ofCompany = (name: string, more: Omit<CarriedTable, 'name' | 'of'> = {}): CarriedTable => ({
  name: `ops.${name}`,
  of: byCompany,
  ...more,
})

const LEDGER: CarriedTable = {
  name: 'ledger.events',
  of: (id) => `stream = 'company-${id}'`,
  // Verifying its hashes proves more.
  isCompared: false,
  isOwners: true,
}

/** Longer than any work that uses a row. */
const before = (column: string) => `${column} < now() - interval '10 minutes'`

/** Tables carried by logical replication, besides the ledger. */
const OPERATIONS: readonly CarriedTable[] = [
  ofCompany('idempotent_answers', { settled: before('created_at') }),
  ofCompany('api_key_secrets'),
  ofCompany('api_key_uses', { lasting: ['api_key_id'] }),
  ofCompany('quotas', { lasting: ['company_id'] }),
  ofCompany('webhook_secrets'),
  ofCompany('webhook_sequences'),
  ofCompany('webhook_messages', { settled: before('created_at') }),
  ofCompany('webhook_deliveries', {
    settled: `${before('created_at')} and status <> 'pending'`,
  }),
  ofCompany('webhook_health'),
  ofCompany('webhook_hours', { settled: `hour < date_trunc('hour', now()) - interval '10 minutes'` }),
  ofCompany('webhook_replays'),
  ofCompany('webhook_replay_days'),
  ofCompany('webhook_stock_changes'),
  // The last requests may be lost.
  ofCompany('calls', { isCompared: false }),
  ofCompany('call_counts', { isCompared: false }),
  ofCompany('notices'),
  ofCompany('sync_tokens', {
    lasting: ['hash', 'user_id', 'created_at', 'expires_at', 'generation', 'person_generation'],
  }),
  ofCompany('sessions', {
    lasting: ['hash', 'user_id', 'created_at', 'expires_at', 'generation', 'person_generation'],
  }),
  ofCompany('refused_sales'),
  ofCompany('item_pictures'),
  ofCompany('company_logos'),
  ofCompany('store_secrets'),
  ofCompany('payment_notifications', {
    settled: before('received_at'),
    lasting: ['id', 'order_id', 'request_id', 'received_at'],
  }),
  ofCompany('payment_notification_hours', {
    lasting: ['store_id', 'hour', 'is_signed'],
  }),
  ofCompany('payment_sweeps'),
  ofCompany('invitations'),
  ofCompany('user_pins'),
  ofCompany('invitation_counts'),
  ofCompany('person_keys'),
  ofCompany('restored_ledgers', { isOwners: true }),
  ofCompany('ledger_checkpoints', { isOwners: true }),
  ofCompany('sealing_faults'),
  ofCompany('table_checks', { lasting: ['company_id'] }),
  ofCompany('downloads', { lasting: ['id', 'user_id', 'what', 'subject', 'begun_at'] }),
  // Verified against the log on each use and rebuilt if they differ (PROOF-5).
  { name: 'ops.trees', of: byLog, isCompared: false },
  { name: 'ops.tree_tiles', of: byLog, isCompared: false },
]

/** Tables that are not carried, with the reason. */
export const TABLES_LEFT: Readonly<Record<string, string>> = {
  'ops.migrations': 'of the database',
  'ops.read_model': 'of the database: the read model is made anew where the company arrives, from its ledger',
  'ops.ledgers':
    'made where the company arrives, as far as its read model has come; what the ledger does not say is copied in the end',
  'ops.shards': 'the directory, in main only',
  'ops.company_shards': 'the directory, in main only',
  'ops.directory_entries': 'the directory, in main only',
  'ops.panel_calls': 'counts of the last minute: where the company arrives they begin anew',
  'ops.imports': 'files of the hour: a pending import needs another upload',
  'ops.persons': 'a person belongs to no company; main decides, and rows of the company’s users are copied in the end',
  'ops.password_links': 'of an address, which belongs to no company: main has them',
  'ops.second_factors': 'of an address, which belongs to no company: main has them',
  'ops.recovery_codes': 'as second_factors',
  'ops.second_steps': 'as second_factors',
  'ops.login_failures': 'counted against addresses and networks: main has them',
  'ops.login_origins': 'of addresses: main has them',
  'ops.demo_companies': 'which companies a start fills with examples; those that have moved are filled already',
  'ops.stranger_notifications': 'not about an order of any company',
  'ops.master_keys': 'of the database; both shards have the same ones',
  'ops.installation': 'of the database',
  'ops.installation_secrets': 'the same in all shards',
  'ops.seal_keys': 'the same in all shards',
  'ops.checkpoints': 'how far the follower of this shard has come',
  'ops.installation_entries': 'the log of this shard: what it has said of the company stays said',
  'ops.installation_checkpoints': 'the log of this shard',
  'ops.checkpoint_tokens': 'what attestors gave for the log of this shard',
  'ops.attestors': 'how it goes with those whom this shard asks',
  'ops.sealing_rounds': 'rounds of this shard',
}

/** Carried tables; an external event store is shared by all shards. */
export const carriedTables = ({ transactional }: { readonly transactional: boolean }): readonly CarriedTable[] =>
  transactional ? [LEDGER, ...OPERATIONS] : OPERATIONS

/** Tables with an `id` that a shard assigns over all companies: on the target it continues after the carried ones. */
export const COUNTED_TABLES = ['ops.refused_sales', 'ops.payment_notifications', 'ops.downloads'] as const
