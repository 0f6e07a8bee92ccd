import type { Pool } from 'pg'
import { loginAccountOf } from '#access/login-limits.ts'
import { Unavailable } from '#lib/errors.ts'
import { listenToChannel } from '#postgres/listener.ts'
import { isOutage } from '#postgres/outage.ts'
import { createPool } from '#postgres/pool.ts'
import { createDirectoryCache } from './directory-cache.ts'
import {
  type CompanyPlacement,
  columnsOf,
  type DirectoryEntry,
  type EntryKey,
  type EntryKind,
  EntryTaken,
  entryKeyBytes,
  type LoginEntry,
  lookUpEntries,
  RELEASE,
  RESERVE_LOGIN,
  reserveEntries,
} from './directory-entries.ts'

export interface ShardFigures {
  readonly name: string
  /** Takes no new companies. */
  readonly draining: boolean
  readonly companies: number
}

/**
 * Placement of companies and keys (SHARD-20). If the directory is unreachable it throws `Unavailable`: a key is never
 * reported as unknown.
 */
export interface Directory {
  /** Null for an unknown company. @throws Unavailable */
  shardOf(companyId: number): Promise<string | null>
  /** The company of a key: at most one, several for e-mail addresses. @throws Unavailable */
  find(kind: EntryKind, key: EntryKey): Promise<readonly CompanyPlacement[]>
  /** Called before rows with these keys are written. @throws EntryTaken, Unavailable */
  reserve(entries: readonly DirectoryEntry[]): Promise<void>
  /**
   * Called before a session or token is issued. One of an earlier password is not registered, so that no request finds
   * it. @throws Unavailable
   */
  reserveLogin(entry: LoginEntry): Promise<void>
  /** Removes ended entries; absent ones are ignored. @throws Unavailable */
  release(entries: readonly DirectoryEntry[]): Promise<void>
  /** Places a new company, from its first event on. @throws Unavailable */
  register(companyId: number, shard: string): Promise<void>
  /** Changes a company's shard in one transaction and notifies all processes. @throws Unavailable */
  moveTo(companyId: number, shard: string): Promise<void>
  /** All registered shards by name. @throws Unavailable */
  shards(): Promise<readonly ShardFigures[]>
  /** Registers a shard, or changes whether it takes new companies. @throws Unavailable */
  addShard(name: string): Promise<void>
  drain(name: string, draining: boolean): Promise<void>
  /** Drops cached answers about a company: the next look-up reads the directory. */
  forget(companyId: number): void
  /** The same for the sessions and tokens of an account (`accountOf`). */
  forgetAccount(account: Buffer): void
  /** Connections to the default shard with short time-outs. */
  readonly pool: Pool
  /** Whether the last look-up succeeded. */
  isUp(): boolean
  close(): Promise<void>
}

/** Notifications name a company whose answers changed, or an account whose sessions and tokens have ended. */
export const DIRECTORY_CHANNEL = 'tillbook_directory'

/** One for look-ups, the others for writes. */
const CONNECTIONS = 4
/** Requests wait for it. */
const TIMEOUT_MS = 2_000
/** Pause after a failed look-up. */
const PAUSE_MS = 1_000
/** Cached keys: about 30 MB. */
const KEPT = 100_000

interface DirectoryOptions {
  /** Of the default shard. */
  readonly databaseUrl: string
  readonly log: (message: string, error: unknown) => void
  /** Monotonic clock, in ms. */
  readonly now?: () => number
}

/** Opens the directory, which need not be reachable yet. */
export function openDirectory({ databaseUrl, log, now = () => performance.now() }: DirectoryOptions): Directory {
  const application_name = 'tillbook directory'
  const pool = createPool(databaseUrl, {
    max: CONNECTIONS,
    connect_timeout_ms: TIMEOUT_MS,
    statement_timeout_ms: TIMEOUT_MS,
    keyLookupsOnly: true,
    application_name,
  })
  const lookUps = createDirectoryCache({ ask: (keys) => lookUpEntries(pool, keys), maxEntries: KEPT, now })
  const listener = listenToChannel({
    databaseUrl,
    channel: DIRECTORY_CHANNEL,
    application_name,
    onNotification: (payload) => hear(payload, lookUps),
    onError(error) {
      lookUps.doubt()
      log('directory: change notifications are not received', error)
    },
  })
  let failedAt = Number.NEGATIVE_INFINITY
  /** Writers hold locks: after a failure they fail fast. Refusals are passed on. @throws EntryTaken, Unavailable */
  async function asking<T>(ask: () => Promise<T>): Promise<T> {
    if (now() - failedAt < PAUSE_MS)
      throw new Unavailable('directory lookup failed: database of the default shard is unreachable')
    try {
      return await ask()
    } catch (error) {
      if (error instanceof EntryTaken) throw error
      if (isOutage(error)) failedAt = now()
      throw new Unavailable('directory lookup failed: database of the default shard is unreachable', { cause: error })
    }
  }
  const query = <R extends object>(statement: { name: string; text: string }, values: readonly unknown[]) =>
    asking(() => pool.query<R & Record<string, unknown>>({ ...statement, values: [...values] }))

  return {
    pool,
    isUp: lookUps.isUp,
    forget: (companyId) => lookUps.drop({ companyId }),
    forgetAccount: (account) => lookUps.drop({ account: account.toString('base64') }),
    async shardOf(companyId) {
      const [found] = await lookUps.find(`company ${companyId}`)
      return found?.shard ?? null
    },
    find(kind, key) {
      const text = `${kind} ${entryKeyBytes(key).toString('base64')}`
      return kind === 'email' ? lookUps.ask(text) : lookUps.find(text)
    },
    async reserve(entries) {
      if (entries.length > 0) await asking(() => reserveEntries(pool, entries))
    },
    async reserveLogin({ kind, key, companyId, email, generation }) {
      await query(RESERVE_LOGIN, [kind, entryKeyBytes(key), companyId, loginAccountOf(email), email, generation])
    },
    async release(entries) {
      if (entries.length > 0) await query(RELEASE, columnsOf(entries))
    },
    async register(companyId, shard) {
      await query(REGISTER, [companyId, shard])
    },
    async moveTo(companyId, shard) {
      await query(MOVE, [companyId, shard, DIRECTORY_CHANNEL, companyText(companyId)])
      lookUps.drop({ companyId })
    },
    shards: async () => (await query<ShardFigures>(SHARDS, [])).rows,
    async addShard(name) {
      await query(ADD_SHARD, [name])
    },
    async drain(name, draining) {
      await query(DRAIN, [name, draining])
    },
    async close() {
      await listener.close()
      await pool.end()
    },
  }
}

/** Payload of a notification about a company's placement. */
export const companyText = (companyId: number): string => `company ${companyId}`

/** Payload of a notification about an account's ended sessions and tokens. */
export const accountText = (account: Buffer): string => `account ${account.toString('base64')}`

function hear(payload: string | null, lookUps: ReturnType<typeof createDirectoryCache>): void {
  const [what, which = ''] = payload?.split(' ') ?? []
  if (what === 'company') lookUps.drop({ companyId: Number(which) })
  else if (what === 'account') lookUps.drop({ account: which })
  else lookUps.doubt()
}

const REGISTER = {
  name: 'register_in_directory',
  // The first companies may be registered before the first additional shard.
  text: `with main as (insert into ops.shards (name) select 'main' where $2 = 'main' on conflict do nothing)
         insert into ops.company_shards (company_id, shard) values ($1, $2) on conflict do nothing`,
}

const MOVE = {
  name: 'move_in_directory',
  text: `with moved as (
           insert into ops.company_shards as h (company_id, shard) values ($1, $2)
           on conflict (company_id) do update set shard = excluded.shard, since = clock_timestamp() where h.shard <> excluded.shard
           returning company_id
         )
         select pg_notify($3, $4) from moved`,
}

const SHARDS = {
  name: 'shards_of_directory',
  text: `select name, draining, (select count(*)::int from ops.company_shards c where c.shard = h.name) as companies
         from ops.shards h order by name`,
}

/** The default shard is registered together with the first additional one. */
const ADD_SHARD = {
  name: 'add_shard',
  text: `insert into ops.shards (name) select name from unnest(array['main', $1]) as name group by name on conflict do nothing`,
}

const DRAIN = { name: 'drain_shard', text: 'update ops.shards set draining = $2 where name = $1' }
