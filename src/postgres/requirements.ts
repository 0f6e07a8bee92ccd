import { setTimeout as delay } from 'node:timers/promises'
import type { Client, Pool } from 'pg'
import { createSlowPace, type Repetition, repeat, runPaced } from '#lib/background-loops.ts'
import { UnsupportedPostgres } from '#lib/errors.ts'
import { createClient } from './pool.ts'

const EVERY_MS = 5_000

/** A table is analyzed when it has this many rows, and twice as many as at its last analysis. */
const FEW_ROWS = 200

/** The service's own schemas. Tables that a rebuild creates or is about to drop are not analyzed. */
const SCHEMAS = ['read', 'ops', 'ledger']

/**
 * Autovacuum analyzes changed tables once a minute. During an import a table can reach a hundred thousand rows by then,
 * and key lookups use plans for an empty table, for which any index of the company looks as good as the key's own. New
 * statistics also invalidate the plans that connections cache.
 */
export function keepStatistics(pool: Pool, onError: (error: unknown) => void): Repetition {
  return repeat((stopping) => analyzeGrown(pool, stopping), EVERY_MS, onError)
}

/** Analyzes tables that have grown a lot, and returns their names. Safe for concurrent processes. */
export async function analyzeGrown(pool: Pool, stopping?: AbortSignal): Promise<string[]> {
  const { rows } = await pool.query<Grown>({ ...GROWN, values: [SCHEMAS, FEW_ROWS] })
  // One at a time, to keep locks short; tables that another session is analyzing are skipped.
  const analyze = ({ name, is_own }: Grown) =>
    is_own ? pool.query(`analyze (skip_locked) ${name}`) : pool.query('select ops.analyze_table($1)', [name])
  const pace = createSlowPace(stopping)
  const analyzed: string[] = []
  for (const table of rows) {
    if (stopping?.aborted) break
    await runPaced(pace, () => analyze(table))
    analyzed.push(table.name)
  }
  return analyzed
}

interface Grown {
  readonly name: string
  readonly is_own: boolean
}

const GROWN = {
  name: 'grown_tables',
  text: `select format('%I.%I', n.nspname, c.relname) as name, n.nspname = 'read' as is_own
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = any($1) and c.relkind in ('r', 'p')
           and (select sum(pg_stat_get_live_tuples(part)) from unnest(array[c.oid] || array(
                  select relid::oid from pg_partition_tree(c.oid) where isleaf and relid <> c.oid)) as part)
             >= greatest($2, 2 * c.reltuples)
         order by 1`,
}

interface Conditions {
  /** The server may lose commits if its machine crashes. */
  readonly undurable: boolean
  /** Identifies this start. */
  readonly newId: () => string
}

/**
 * Tests all features that the service needs of Postgres, or of a pooler before it, on two alternating connections. Leaves nothing behind. @throws UnsupportedPostgres with the missing features in one sentence.
 */
export async function assertSupported(url: string, { undurable, newId }: Conditions): Promise<void> {
  await onClient(url, async (client) => {
    if (!undurable) await assertDurable(client)
    const missing = await onClient(url, (other) => missingOf(client, other, newId()))
    if (missing.length === 0) return
    throw new UnsupportedPostgres(
      `what DATABASE_URL names does not keep ${missing.join(', ')} from one transaction to the next: connect to Postgres itself, or have the pooler pool sessions (pool_mode = session)`,
    )
  })
}

const CONNECT_TIMEOUT_MS = 10_000
/** Time limit for a statement that a pooler never forwards. */
const QUERY_TIMEOUT_MS = 10_000

async function onClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = createClient(url, {
    application_name: 'tillbook start',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
  })
  // A connection lost between statements fails the next statement.
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}

async function assertDurable(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select name from pg_settings where name in ('fsync', 'full_page_writes') and setting = 'off' order by name`,
  )
  if (rows.length === 0) return
  throw new UnsupportedPostgres(
    `Postgres runs with ${rows.map(({ name }) => name).join(' and ')} switched off, so that a crash of its machine may lose what was acknowledged: switch on what is off, or set ALLOW_UNDURABLE_POSTGRES=true where nothing has to last`,
  )
}

const CHANNEL = 'tillbook_start'
/** Advisory lock in shared mode: concurrent starts do not exclude each other. */
const LOCK = 8_314_159_267
const PREPARED = { name: 'tillbook_start', text: 'select 1' }
const NOTIFIED_WITHIN_MS = 3_000
const NOTIFICATIONS = 'notifications (LISTEN)'
const TRANSACTIONS = 'transactions'

/** A piece of session state: how to set it, and how to check it. */
interface Trait {
  readonly name: string
  give(client: Client, id: string): Promise<unknown>
  isKept(client: Client, id: string): Promise<boolean>
}

const TRAITS: readonly Trait[] = [
  {
    name: 'settings of a session (SET)',
    give: (client, id) => client.query(`select set_config('tillbook.start', $1, false)`, [id]),
    isKept: (client, id) => isTrue(client, `current_setting('tillbook.start', true) = $1`, [id]),
  },
  {
    name: 'named prepared statements',
    give: (client) => client.query(PREPARED),
    isKept: async (client) => (await client.query(PREPARED)).rows.length === 1,
  },
  {
    name: 'advisory locks',
    give: (client) => client.query('select pg_advisory_lock_shared($1)', [LOCK]),
    isKept: (client) =>
      isTrue(
        client,
        `exists (select from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()
                 and (classid::bigint << 32 | objid::bigint) = $1)`,
        [LOCK],
      ),
  },
]

async function isTrue(client: Client, condition: string, values: readonly unknown[]): Promise<boolean> {
  const { rows } = await client.query<{ value: boolean | null }>(`select ${condition} as value`, [...values])
  return rows[0]?.value === true
}

/**
 * Session state that `client` loses while `other` is in a transaction and takes its server connection, as with
 * transaction pooling.
 */
async function missingOf(client: Client, other: Client, id: string): Promise<string[]> {
  const notified = new Promise<boolean>((resolve) => client.once('notification', () => resolve(true)))
  const missing = new Set<string>()
  const note = async (name: string, work: () => Promise<unknown>) => {
    const isDone = await work().catch(() => false)
    if (isDone === false) missing.add(name)
  }
  for (const { name, give } of TRAITS) await note(name, () => give(client, id))
  await note(NOTIFICATIONS, () => client.query(`listen ${CHANNEL}`))
  await note(TRANSACTIONS, () => other.query('begin'))
  await note(TRANSACTIONS, () => other.query('select 1'))
  for (const { name, isKept } of TRAITS) await note(name, () => isKept(client, id))
  await note(TRANSACTIONS, () => other.query('commit'))
  await note(NOTIFICATIONS, async () => {
    await other.query('select pg_notify($1, $2)', [CHANNEL, ''])
    return Promise.race([notified, delay(NOTIFIED_WITHIN_MS, false, { ref: false })])
  })
  return [...TRAITS.map(({ name }) => name), NOTIFICATIONS, TRANSACTIONS].filter((name) => missing.has(name))
}
