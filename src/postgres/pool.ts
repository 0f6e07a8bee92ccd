import pg from 'pg'
import { connectingTo, distrustUnreplicated } from './client.ts'

/** All times are in milliseconds; 0 switches a timeout off. */
export interface PoolOptions {
  readonly max: number
  /** Statements of one connection are sent without waiting for the answers of the ones before. */
  readonly pipeline?: boolean
  /** Every statement finds its rows by key: rules out the plans that stale statistics of a young table could lead to. */
  readonly keyLookupsOnly?: boolean
  /** Schemas in which tables of the read model are looked for, before those of what cannot be derived. */
  readonly read_schemas?: readonly string[]
  /** What is made belongs to this role, as whom the one of the URL may act. */
  readonly role?: string | null
  readonly application_name?: string
  readonly connect_timeout_ms?: number
  readonly statement_timeout_ms?: number
  readonly lock_timeout_ms?: number
  readonly idle_in_transaction_timeout_ms?: number
  /** Hears of connections that were lost while no statement was running on them. */
  readonly on_error?: (error: Error) => void
}

/**
 * Postgres ends statements that take too long and says so; a server that says nothing for this many times as long is gone,
 * as a machine that lost its power: then the connection is given up. More than one, because statements wait in the pipeline.
 */
const SILENCE_FACTOR = 2

const STATEMENT_TIMEOUT_MS = 30_000

/**
 * What a session is told as soon as it is open, rather than in its startup packet, of which poolers take a few names only.
 * Without bitmaps, an index that has the order of a list always beats another one and a sort. Of a table that has just grown
 * the planner believes that there is little to sort, and would sort a company's whole history for each page. Warnings are
 * heard, whatever the database has set: one says that a COMMIT was not waited for.
 */
const SESSION = { TimeZone: 'UTC', DateStyle: 'ISO', enable_bitmapscan: 'off', client_min_messages: 'warning' }
/** A plan that cannot do without what is switched off counts as so expensive that older servers would compile it each time. */
const KEY_LOOKUPS_ONLY = {
  jit: 'off',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  plan_cache_mode: 'force_generic_plan',
}

/**
 * What is acknowledged is on disk, whatever the database has set (OPS-33); where more is asked for, as remote_apply, it stays.
 * It is set also where it is that already: what the server is told later then changes nothing for this session.
 */
const DURABLE = `select set_config('synchronous_commit', setting, false) from (
  select case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end as setting) as kept`

/** Statements that bring a session into the state that everything relies on. */
function sessionOf(options: PoolOptions): string {
  const schemas = [...(options.read_schemas ?? ['read']), 'ops', 'ledger']
  const settings = {
    ...SESSION,
    ...(options.keyLookupsOnly && KEY_LOOKUPS_ONLY),
    statement_timeout: options.statement_timeout_ms ?? STATEMENT_TIMEOUT_MS,
    lock_timeout: options.lock_timeout_ms ?? 10_000,
    idle_in_transaction_session_timeout: options.idle_in_transaction_timeout_ms ?? 60_000,
  }
  const sets = Object.entries(settings).map(([name, value]) => `set ${name} = '${value}'`)
  if (options.role) sets.push(`set role ${pg.escapeIdentifier(options.role)}`)
  return [...sets, `set search_path = ${schemas.join(', ')}`, DURABLE].join(';\n')
}

type Parse = (text: string) => unknown

const { builtins } = pg.types
// The driver's types list no arrays, though it parses them.
const TEXT_ARRAY = 1009 as (typeof builtins)['TEXT']
const INT8_ARRAY = 1016
const DATE_ARRAY = 1182
const TIMESTAMP_ARRAY = 1115
const TIMESTAMPTZ_ARRAY = 1185

const PARSERS: ReadonlyMap<number, Parse> = new Map<number, Parse>([
  [builtins.INT8, parseInt8],
  [INT8_ARRAY, arrayOf(parseInt8)],
  [builtins.TIMESTAMPTZ, parseInstant],
  [TIMESTAMPTZ_ARRAY, arrayOf(parseInstant)],
  // The driver would make these a moment in the time zone of the machine.
  [builtins.DATE, (text) => text],
  [DATE_ARRAY, arrayOf((text) => text)],
  [builtins.TIMESTAMP, (text) => text],
  [TIMESTAMP_ARRAY, arrayOf((text) => text)],
])

/**
 * A pool whose values mean the same everywhere: int8 is a safe number, timestamptz an ISO string in UTC, date and numeric
 * stay text, json is parsed. No wait is without end, and a lost connection never ends the process.
 */
export function createPool(url: string, options: PoolOptions): pg.Pool {
  const session = sessionOf(options)
  const pool = new pg.Pool({
    ...connectingTo(url),
    max: options.max,
    pipeline: options.pipeline ?? false,
    application_name: options.application_name ?? 'tillbook',
    keepAlive: true,
    connectionTimeoutMillis: options.connect_timeout_ms ?? 10_000,
    query_timeout: (options.statement_timeout_ms ?? STATEMENT_TIMEOUT_MS) * SILENCE_FACTOR,
    // Nobody gets the connection before this is done.
    onConnect: (client) => client.query(session),
    types: { getTypeParser: parserOf },
  })
  const report = options.on_error ?? (() => {})
  // The pool listens to idle connections only; one that is lost while checked out would be an uncaught exception.
  pool.on('connect', (client) => client.on('error', () => {}))
  pool.on('connect', distrustUnreplicated)
  pool.on('error', report)
  return pool
}

/** Does something on connections of its own, which end with it. */
export async function withPool<T>(url: string, options: PoolOptions, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = createPool(url, options)
  try {
    return await work(pool)
  } finally {
    await pool.end()
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the driver's own signature
function parserOf(oid: number, format?: any): any {
  return (format !== 'binary' && PARSERS.get(oid)) || pg.types.getTypeParser(oid, format)
}

function parseInt8(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is beyond the integers that can be told apart`)
  return value
}

/** `2026-11-21 09:30:00.12+00` → `2026-11-21T09:30:00.120Z`. */
function parseInstant(text: string): string {
  const parts = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/.exec(text)
  if (!parts) throw new RangeError(`${text} is not a moment in UTC between the years 0001 and 9999`)
  const [, date, time, fraction = ''] = parts
  return `${date}T${time}.${fraction.padEnd(3, '0').slice(0, 3)}Z`
}

/** Of one dimension. */
function arrayOf(parse: Parse): Parse {
  const elements: (text: string) => (string | null)[] = pg.types.getTypeParser(TEXT_ARRAY)
  return (text) => elements(text).map((element) => (element === null ? null : parse(element)))
}
