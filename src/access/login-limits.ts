import { createHash } from 'node:crypto'
import { isIPv4, isIPv6 } from 'node:net'
import type { Pool } from 'pg'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Rate } from './api-authenticator.ts'
import { DATABASE_CLOCK } from './credentials.ts'

const WINDOW_SECONDS = 60

/** Maximum number of keys. Above it the oldest key is dropped, which bounds the memory. */
const KNOWN_KEYS = 20_000

interface MinuteLimitOptions {
  readonly perMinute: number
  /** Default 20,000. */
  readonly known?: number
}

/** State of a key in its minute; `limited` if the request exceeds the limit. */
export interface MinuteCount extends Rate {
  readonly limited: boolean
  /** Requests of this minute, including refused ones. */
  readonly used: number
}

/**
 * Counts per key, in minutes that begin with the key's first request. Per process: it protects the service and is not a
 * contract.
 */
export interface MinuteLimit {
  /** Counts a request. */
  consume(key: string): Promise<MinuteCount>
}

export function createMinuteLimit({ perMinute, known = KNOWN_KEYS }: MinuteLimitOptions): MinuteLimit {
  const limiter = new RateLimiterMemory({ points: perMinute, duration: WINDOW_SECONDS })
  /** Ordered by the start of their minute. */
  const keys = new Set<string>()

  async function remember(key: string): Promise<void> {
    keys.delete(key)
    keys.add(key)
    const [longest = ''] = keys
    if (keys.size <= known) return
    keys.delete(longest)
    await limiter.delete(longest)
  }

  function counted(used: number, endsInMs: number, limited: boolean): MinuteCount {
    return {
      limited,
      used,
      limit: perMinute,
      remaining: Math.max(0, perMinute - used),
      reset: Math.ceil((Date.now() + endsInMs) / 1000),
      retryAfter: Math.max(1, Math.ceil(endsInMs / 1000)),
    }
  }

  return {
    async consume(key) {
      const { consumedPoints, msBeforeNext, isFirstInDuration } = await limiter.consume(key).catch(refusal)
      if (isFirstInDuration) await remember(key)
      return counted(consumedPoints, msBeforeNext, consumedPoints > perMinute)
    },
  }
}

function refusal(refused: unknown): RateLimiterRes {
  if (refused instanceof RateLimiterRes) return refused
  throw refused
}

/** Counts unauthenticated clients by address or network. */
export type AddressLimit = MinuteLimit

export function createAddressLimit(options: MinuteLimitOptions): AddressLimit {
  const limit = createMinuteLimit(options)
  return { consume: (address) => limit.consume(toNetwork(address)) }
}

/** Some proxies append the port, as `192.0.2.1:4711` or `[2001:db8::1]:4711`; it differs for every connection. */
const WITH_PORT = /^(?:([\d.]+)|\[(.+)\])(?::\d+)?$/
/** IPv4 address in IPv6 notation. */
const MAPPED = /^::ffff:(?=[\d.]+$)/i

/** The IPv4 address, or the /64 of an IPv6 address: the owner of one of its 2^64 addresses owns all. */
export const toNetwork = (told: string): string => beginningOf(told, { v4: 4, v6: 4 })

/** The network that an address owner can cheaply obtain: 256 IPv4 addresses, or an IPv6 /48. */
const widerNetworkOf = (told: string): string => beginningOf(told, { v4: 3, v6: 3 })

/** First bytes of an IPv4 address, or first groups of an IPv6 one; other texts are returned unchanged. */
function beginningOf(told: string, { v4, v6 }: { readonly v4: number; readonly v6: number }): string {
  const [, plain, bracketed] = WITH_PORT.exec(told) ?? []
  const address = (plain ?? bracketed ?? told).replace(MAPPED, '')
  if (isIPv4(address)) return address.split('.').slice(0, v4).join('.')
  if (!isIPv6(address)) return address
  const [head = [], tail = []] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''))
  const zeros = Array<string>(8 - head.length - tail.length).fill('0')
  return [...head, ...zeros, ...tail].slice(0, v6).join(':')
}

/** Maximum number of failures. A window begins with its first failure. */
interface Limit {
  readonly perMinute: number
  readonly perHour: number
}

/**
 * Per device and account, and for password prompts of logged-in users, so that a stolen cookie or session does not
 * bypass the limits.
 */
const OF_DEVICE: Limit = { perMinute: 5, perHour: 30 }
/** Per account: for each network that it has logged in from, and for all others together. */
const OF_ACCOUNT: Limit = { perMinute: 10, perHour: 60 }
/** Unauthenticated attempts per address (IPv6: its /64), over all accounts. */
const OF_ADDRESS: Limit = { perMinute: 50, perHour: 500 }
/** Unauthenticated attempts per wider network, because the owner of one address or /64 may own its neighbours. */
const OF_NETWORK: Limit = { perMinute: 200, perHour: 2_000 }
/**
 * All unauthenticated attempts. Verifying this many takes 40 % of a core. Also bounds the stored counters of unknown
 * addresses.
 */
const OF_UNKNOWN: Limit = { perMinute: 1_200, perHour: 20_000 }

/** Approvals that a session, and a person, asked others for; the approver's own prompts do not count. */
const OF_ASKING: Limit = { perMinute: 5, perHour: 30 }
const OF_ASKING_ADDRESS: Limit = { perMinute: 50, perHour: 50 }

/** Stored origins per account; the longest unused are deleted first. */
const ORIGINS_OF_ACCOUNT = 50

/** Proof that a device has logged in before: the hash of a browser's cookie or of a till's earlier token. */
export interface LoginProof {
  readonly device: Buffer | null
  readonly token: Buffer | null
  /** For a token in another database: whether it was found there. */
  readonly isKnown?: boolean
}

/** A login attempt before its password is verified. */
export interface LoginAttempt {
  /** In the format of `Email`; the account need not exist. */
  readonly email: string
  readonly address: string
  /** `inside`: password prompt of a logged-in user. `asking`: the session whose user asks another one for approval. */
  readonly proof: LoginProof | 'inside' | { readonly asking: Buffer }
}

/** From most to least trusted: the account has logged in with this device, from this network, or neither. */
export type LoginOrigin = 'device' | 'network' | 'unknown'

/** Failure counter for attempts of one standing. The first exhausted counter refuses the attempt. */
interface Counter extends Limit {
  readonly standing: LoginOrigin
  readonly key: Buffer
}

/** Counters of an attempt for each possible standing. */
export function listLoginCounters({ email, address, proof }: LoginAttempt): Counter[] {
  if (proof !== 'inside' && 'asking' in proof)
    return [
      { standing: 'device', key: digest('asking session', proof.asking.toString('hex')), ...OF_ASKING },
      { standing: 'device', key: digest('asking person', email), ...OF_ASKING },
      { standing: 'device', key: digest('asking address', toNetwork(address)), ...OF_ASKING_ADDRESS },
    ]
  const network = widerNetworkOf(address)
  const known = proof === 'inside' ? 'inside' : (proof.device ?? proof.token)?.toString('hex')
  return [
    ...(known === undefined
      ? []
      : [{ standing: 'device', key: digest('device', email, known), ...OF_DEVICE } as const]),
    { standing: 'network', key: digest('network of account', email, network), ...OF_ACCOUNT },
    { standing: 'unknown', key: toLoginAccount(email), ...OF_ACCOUNT },
    { standing: 'unknown', key: digest('address', toNetwork(address)), ...OF_ADDRESS },
    { standing: 'unknown', key: digest('network', network), ...OF_NETWORK },
    { standing: 'unknown', key: digest('unknown'), ...OF_UNKNOWN },
  ]
}

const digest = (...parts: readonly string[]): Buffer => createHash('sha256').update(parts.join('\n')).digest()

/** Key of an account for its known networks and its counter of unauthenticated failures. */
export const toLoginAccount = (email: string): Buffer => digest('account', email)
const networkOrigin = (address: string): Buffer => digest('network', widerNetworkOf(address))

/** An attempt that may be verified; refund it if the password is correct. */
export interface AdmittedAttempt {
  readonly kind: 'admitted'
  readonly standing: LoginOrigin
  /** Whether any account has logged in with the presented device. */
  readonly isDeviceKnown: boolean
  /** Counters that were incremented. */
  readonly keys: readonly Buffer[]
}

/** An attempt refused for `retryAfter` seconds. */
export interface LimitedAttempt {
  readonly kind: 'limited'
  readonly retryAfter: number
}

interface CountedRow {
  standing: LoginOrigin
  is_device_known: boolean
  counted: number
  /** Seconds; null if no counter is exhausted. */
  retry_after: number | null
}

/** For a counter that was exhausted between reading and counting: its minute may just have begun. */
const RETRY_AFTER_SECONDS = 60

/**
 * Counts an attempt as a failure before verification; otherwise concurrent attempts could all pass as the first. A
 * refused attempt is not counted. Exact over all processes, for existing and unknown accounts alike.
 */
export const countAttempt = (pool: Pool, attempt: LoginAttempt): Promise<AdmittedAttempt | LimitedAttempt> =>
  judge(pool, attempt, true)

/** Result of `countAttempt` without counting. */
export const checkAttempt = (pool: Pool, attempt: LoginAttempt): Promise<AdmittedAttempt | LimitedAttempt> =>
  judge(pool, attempt, false)

const INSIDE: LoginProof = { device: null, token: null, isKnown: true }

async function judge(
  pool: Pool,
  attempt: LoginAttempt,
  isCounting: boolean,
): Promise<AdmittedAttempt | LimitedAttempt> {
  const { email, address, proof } = attempt
  const counters = listLoginCounters(attempt)
  const { device, token, isKnown = false } = proof === 'inside' || 'asking' in proof ? INSIDE : proof
  const { rows } = await pool.query<CountedRow>({
    ...COUNT,
    values: [
      toLoginAccount(email),
      networkOrigin(address),
      device,
      token,
      email,
      isKnown,
      isCounting,
      counters.map(({ standing }) => standing),
      counters.map(({ key }) => key),
      counters.map(({ perMinute }) => perMinute),
      counters.map(({ perHour }) => perHour),
    ],
  })
  const [row] = rows as [CountedRow]
  const { standing, is_device_known: isDeviceKnown, retry_after } = row
  const keys = counters.filter((counter) => counter.standing === standing).map(({ key }) => key)
  if (retry_after !== null || (isCounting && row.counted < keys.length))
    return { kind: 'limited', retryAfter: Math.max(1, Math.ceil(retry_after ?? RETRY_AFTER_SECONDS)) }
  return { kind: 'admitted', standing, isDeviceKnown, keys }
}

/** Reverses the count of an attempt with the correct password. */
export async function refundAttempt(pool: Pool, keys: readonly Buffer[]): Promise<void> {
  await pool.query({ ...TAKE_BACK, values: [keys] })
}

/** Stores the origins of a successful login; `device` is null for a client without cookies. */
export async function rememberOrigin(
  pool: Pool,
  { email, address }: Pick<LoginAttempt, 'email' | 'address'>,
  device: Buffer | null,
): Promise<void> {
  const origins = device === null ? [networkOrigin(address)] : [networkOrigin(address), device]
  await pool.query({ ...REMEMBER, values: [toLoginAccount(email), origins, ORIGINS_OF_ACCOUNT - origins.length] })
}

/** The standing `unknown` has the most counters. */
const MOST_COUNTERS = 4

/**
 * Increments the n-th counter if all before it had room. The upsert locks the newest row, so concurrent attempts wait.
 */
const step = (place: number): string => `step_${place} as (
  insert into ops.login_failures as f (key, minute_ends_at, minute_count, hour_ends_at, hour_count)
  select key, now + interval '1 minute', 1, now + interval '1 hour', 1
  from asked cross join clock
  where place = ${place} and $7::boolean and not exists (select from full_ones)${place === 1 ? '' : ` and exists (select from step_${place - 1})`}
  on conflict (key) do update set
    minute_count = case when f.minute_ends_at > (select now from clock) then f.minute_count + 1 else 1 end,
    minute_ends_at = case when f.minute_ends_at > (select now from clock) then f.minute_ends_at else excluded.minute_ends_at end,
    hour_count = case when f.hour_ends_at > (select now from clock) then f.hour_count + 1 else 1 end,
    hour_ends_at = case when f.hour_ends_at > (select now from clock) then f.hour_ends_at else excluded.hour_ends_at end
  where (f.minute_ends_at <= (select now from clock) or f.minute_count < (select per_minute from asked where place = ${place}))
    and (f.hour_ends_at <= (select now from clock) or f.hour_count < (select per_hour from asked where place = ${place}))
  returning f.key
)`

const STEPS = Array.from({ length: MOST_COUNTERS }, (_, position) => position + 1)

/**
 * $1 account, $2 network origin, $3 device and $4 token (hashes, or null), $5 e-mail, $6 whether the standing is
 * already known to be `device`; $7 whether to count; $8 to $11 the counters: standing, key, limits. Determines the
 * standing and increments its counters, or none if one is exhausted. All attempts lock counters in the same order.
 * Counts need not survive a crash of Postgres.
 */
const COUNT = {
  name: 'count_login_attempt',
  text: `
with ${DATABASE_CLOCK}, unsynced as materialized (
  select set_config('synchronous_commit', 'off', true)
), known as materialized (
  select case
      when $6::boolean then 'device'
      when exists (select from ops.login_origins where origin = $3 and account = $1) then 'device'
      when exists (
        select from ops.sync_tokens t
        join users u on u.company_id = t.company_id and u.id = t.user_id
        where t.hash = $4 and u.doc->>'email' = $5
      ) then 'device'
      when exists (select from ops.login_origins where origin = $2 and account = $1) then 'network'
      else 'unknown'
    end as standing
  from unsynced
), asked as materialized (
  select row_number() over (order by n) as place, key, per_minute, per_hour
  from unnest($8::text[], $9::bytea[], $10::int[], $11::int[]) with ordinality as a (standing, key, per_minute, per_hour, n)
  join known using (standing)
), full_ones as materialized (
  select case when f.hour_ends_at > now and f.hour_count >= a.per_hour then f.hour_ends_at else f.minute_ends_at end as ends_at
  from asked a
  join ops.login_failures f on f.key = a.key
  cross join clock
  where (f.hour_ends_at > now and f.hour_count >= a.per_hour) or (f.minute_ends_at > now and f.minute_count >= a.per_minute)
), ${STEPS.map(step).join(', ')}
select known.standing,
  exists (select from ops.login_origins where origin = $3) as is_device_known,
  (${STEPS.map((place) => `(select count(*) from step_${place})`).join(' + ')})::int as counted,
  (select date_part('epoch', max(ends_at) - (select now from clock)) from full_ones) as retry_after
from known`,
}

/** Locks in the order of the counters. A count that has restarted since does not fall below 0. */
const TAKE_BACK = {
  name: 'take_login_attempt_back',
  text: `
with held as materialized (
  select f.key from unnest($1::bytea[]) with ordinality as k (key, n) join ops.login_failures f on f.key = k.key
  order by k.n for update of f
)
update ops.login_failures f
set minute_count = greatest(0, f.minute_count - 1), hour_count = greatest(0, f.hour_count - 1)
from held where f.key = held.key`,
}

/** $1 account, $2 origins, $3 number of other origins to keep. */
const REMEMBER = {
  name: 'remember_login_origin',
  text: `
with ${DATABASE_CLOCK}, seen as (
  insert into ops.login_origins as o (origin, account, seen_at)
  select origin, $1, now from unnest($2::bytea[]) as a (origin) cross join clock order by origin
  on conflict (origin, account) do update set seen_at = excluded.seen_at
  where o.seen_at < excluded.seen_at - interval '1 day'
)
delete from ops.login_origins where account = $1 and origin in (
  select origin from ops.login_origins where account = $1 and origin <> all($2::bytea[]) order by seen_at desc offset $3)`,
}
