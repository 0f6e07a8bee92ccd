import pg, { type Pool, type PoolClient } from 'pg'
import { TenantLimitExceeded } from '#lib/errors.ts'
import type { KeyedSemaphore } from '#lib/fair-sharing.ts'
import type { Host } from './cluster.ts'
import { type Database, READ_ONLY } from './database.ts'
import { ByteClient } from './row-bytes.ts'
import { openServerSet, type ServerSet, type ServerUse } from './servers.ts'

type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void)

/** Driver options to connect to a URL that may name several hosts. */
export interface Connecting {
  readonly connectionString: string
  readonly Client: new (config?: pg.ClientConfig) => pg.Client
}

/** @throws Error for an invalid URL; the message does not contain it */
function connectingTo(url: string): Connecting {
  const servers = openServerSet(url)
  if (!servers) return { connectionString: url, Client: ByteClient }
  return { connectionString: servers.urlOf(NOWHERE), Client: clientOf(servers) }
}

/** A separate connection, for commands and migrations. */
export function createClient(url: string, config: pg.ClientConfig): pg.Client {
  const { Client, connectionString } = connectingTo(url)
  return new Client({ ...config, connectionString })
}

/** Placeholder: the host is determined when the connection is made. */
const NOWHERE: Host = { host: '0.0.0.0', port: 1 }

/** ParameterStatus message, which PostgreSQL 14 and later send at the start of a session and at each change. */
interface Parameter {
  readonly parameterName: string
  readonly parameterValue: string
}

/**
 * Postgres's notice that a COMMIT stopped waiting for replicas: it is durable on this server, and possibly on no
 * replica.
 */
const STOPPED_WAITING = 'SyncRepWaitForLSN'

/**
 * Postgres reports success for a COMMIT whose wait for replicas was cancelled (by `pg_cancel_backend`), but its writes
 * are lost if this server is lost. The connection is closed before the answer counts, so the outcome is unknown, as it
 * should be.
 */
function distrustUnreplicated(client: pg.ClientBase): void {
  client.on('notice', ({ routine }) => {
    if (routine === STOPPED_WAITING)
      breakOff(client as pg.Client, new Error('Connection terminated: a COMMIT waits for no standby any more'))
  })
}

/** Ignores data that was already read from the socket. */
function breakOff(client: pg.Client, why: Error): void {
  if (client.connection.listenerCount('error') > 0) client.connection.emit('error', why)
  client.connection.stream.destroy()
}

/** Connects to the server of the URL that is currently suitable, and closes when it no longer is. */
function clientOf(servers: ServerSet): Connecting['Client'] {
  return class extends ByteClient {
    override connect(): Promise<pg.Client>
    override connect(callback: Connected): void
    override connect(callback?: Connected): Promise<pg.Client> | undefined {
      const connected = this.#connect()
      if (!callback) return connected
      const told = callback as (error: Error | null, client?: pg.Client) => void
      connected.then(
        () => told(null, this),
        (error) => told(error),
      )
      return undefined
    }

    /** Reacts as soon as the server reports that it is read-only. */
    #hear({ doubt }: ServerUse): void {
      this.connection.on('errorMessage', ({ code }: { code?: string }) => {
        if (code === READ_ONLY) doubt()
      })
      this.connection.on('parameterStatus', ({ parameterName, parameterValue }: Parameter) => {
        if (parameterValue === 'on' && READ_ONLY_IF_ON.includes(parameterName)) doubt()
      })
    }

    async #connect(): Promise<pg.Client> {
      const use = servers.use((why) => breakOff(this, why))
      this.once('end', use.leave)
      this.on('error', use.doubt)
      if (servers.takesWrites) this.#hear(use)
      try {
        Object.assign(this, await use.find())
        return await super.connect()
      } catch (error) {
        use.doubt()
        use.leave()
        throw error
      }
    }
  }
}

const READ_ONLY_IF_ON = ['in_hot_standby', 'default_transaction_read_only']

/** The pool, limited to one company's share. */
export type PoolOf = (companyId: number) => Database

/**
 * Shares a pool's connections between companies: beyond its share, a company waits for its own connections.
 * @throws TenantLimitExceeded if `turns` grants no slot.
 */
export function sharePool(pool: Pool, turns: KeyedSemaphore): PoolOf {
  async function connect(companyId: number): Promise<PoolClient> {
    const leave = await turns.acquire(companyId)
    if (!leave) throw new TenantLimitExceeded('too many wait for a connection')
    try {
      const client = await pool.connect()
      // The driver creates a new function for each checkout.
      const { release } = client
      client.release = (broken) => {
        leave()
        release.call(client, broken)
      }
      return client
    } catch (error) {
      leave()
      throw error
    }
  }

  return (companyId) => ({
    connect: () => connect(companyId),
    query: (statement, values) => turns.run(companyId, () => pool.query(statement, values)),
  })
}

/** All times are in milliseconds; 0 disables a time-out. */
export interface PoolOptions {
  readonly max: number
  /** Sends statements of a connection without waiting for earlier answers. */
  readonly pipeline?: boolean
  /** All statements look up rows by key: disables plans that stale statistics of a new table could suggest. */
  readonly keyLookupsOnly?: boolean
  /** Schemas of the read model's tables; they precede the operational schemas in the search path. */
  readonly read_schemas?: readonly string[]
  /** Role that owns created objects; the role of the URL must be a member of it. */
  readonly role?: string | null
  readonly application_name?: string
  readonly connect_timeout_ms?: number
  readonly statement_timeout_ms?: number
  readonly lock_timeout_ms?: number
  readonly idle_in_transaction_timeout_ms?: number
  /** Called for connections that were lost while idle. */
  readonly on_error?: (error: Error) => void
}

/**
 * Postgres ends slow statements and reports it. A server without any answer for this many times the statement time-out
 * is considered dead, for example after a power failure, and the connection is closed. More than 1, because statements
 * wait in the pipeline.
 */
const SILENCE_FACTOR = 2

const STATEMENT_TIMEOUT_MS = 30_000

/**
 * Session settings, sent after connecting instead of in the startup packet, because poolers accept only a few names
 * there. Without bitmap scans, an index in the order of a list always beats another index plus a sort: for a recently
 * grown table the planner underestimates the sort, and would sort a company's whole history for each page. Warnings
 * must arrive, whatever the database's setting: one of them reports that a COMMIT did not wait for replicas.
 */
const SESSION = { TimeZone: 'UTC', DateStyle: 'ISO', enable_bitmapscan: 'off', client_min_messages: 'warning' }
/** A plan that needs a disabled feature gets such a high cost that older servers would JIT-compile it each time. */
const KEY_LOOKUPS_ONLY = {
  jit: 'off',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  plan_cache_mode: 'force_generic_plan',
}

/**
 * Acknowledged writes are on disk, whatever the database's setting; a stricter setting such as remote_apply is
 * kept. The value is set even if it is unchanged, so that a later change of the server's configuration does not affect
 * this session.
 */
const DURABLE = `select set_config('synchronous_commit', setting, false) from (
  select case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end as setting) as kept`

/** Statements that set up a session. */
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
// The driver parses arrays, but its types do not list them.
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
  // The driver would convert these to an instant in the machine's time zone.
  [builtins.DATE, (text) => text],
  [DATE_ARRAY, arrayOf((text) => text)],
  [builtins.TIMESTAMP, (text) => text],
  [TIMESTAMP_ARRAY, arrayOf((text) => text)],
])

/**
 * A pool with uniform types: int8 is a safe number, timestamptz an ISO string in UTC, date and numeric stay text, json
 * is parsed. Every wait has a limit, and a lost connection never ends the process.
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
    // Completes before the connection is handed out.
    onConnect: (client) => client.query(session),
    types: { getTypeParser: parserOf },
  })
  const report = options.on_error ?? (() => {})
  // The pool handles errors of idle connections only; the loss of a checked-out connection would be an uncaught
  // exception.
  pool.on('connect', (client) => client.on('error', () => {}))
  pool.on('connect', distrustUnreplicated)
  pool.on('error', report)
  return pool
}

/** Runs `work` on a temporary pool. */
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

/** One-dimensional arrays only. */
function arrayOf(parse: Parse): Parse {
  const elements: (text: string) => (string | null)[] = pg.types.getTypeParser(TEXT_ARRAY)
  return (text) => elements(text).map((element) => (element === null ? null : parse(element)))
}
