import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { type Repetition, repeat } from '#lib/background-loops.ts'
import { Unavailable } from '#lib/errors.ts'
import { type Host, type Hosts, isWritable, nameOfHost, parseHosts, type TargetSession } from './cluster.ts'

/** Queries the status of one server on a persistent connection. */
interface HealthProbe {
  /** @throws the driver's error; the next call reconnects */
  ask(): Promise<ServerStatus>
  close(): void
}

/** Time limit for the connection and for the answer. */
const ANSWER_MS = 2_000
/** Time limit for a clean disconnect. */
const LEAVE_MS = 1_000

const ASK = `
  select pg_is_in_recovery() as is_standby, current_setting('transaction_read_only') = 'on' as is_read_only,
    (select system_identifier::text from pg_control_system()) as system,
    case when not pg_is_in_recovery() then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end as timeline`
/** Fallback for providers that restrict the control functions or have no write-ahead log files. */
const ASK_LESS = `
  select pg_is_in_recovery() as is_standby, current_setting('transaction_read_only') = 'on' as is_read_only,
    null as system, null as timeline`
const NOT_TOLD = ['42501', '42883', '0A000']

/** `onLost` is called as soon as the connection ends by itself. */
function createHealthProbe(url: string, onLost: () => void): HealthProbe {
  let client: pg.Client | null = null
  let statement = ASK
  let closings = 0

  function leave(left: pg.Client): void {
    if (client === left) client = null
    left.end().catch(() => {})
    const timer = setTimeout(() => left.connection.stream.destroy(), LEAVE_MS)
    left.once('end', () => clearTimeout(timer))
  }

  async function connect(): Promise<pg.Client> {
    const fresh = new pg.Client({
      connectionString: url,
      application_name: 'tillbook hosts',
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
    })
    fresh.on('error', () => {
      if (client !== fresh) return
      client = null
      onLost()
    })
    const closingsBefore = closings
    await fresh.connect()
    if (closings > closingsBefore) {
      leave(fresh)
      throw new Error('health probe: closed while it connected')
    }
    return fresh
  }

  async function ask(): Promise<ServerStatus> {
    client ??= await connect()
    const asked = client
    try {
      const { rows } = await asked.query<ServerStatus>(statement)
      return rows[0] as ServerStatus
    } catch (error) {
      const isNotTold = NOT_TOLD.includes(String((error as { code?: unknown }).code))
      if (isNotTold && statement === ASK) {
        statement = ASK_LESS
        return ask()
      }
      leave(asked)
      throw error
    }
  }

  return {
    ask,
    close() {
      closings += 1
      if (client) leave(client)
    },
  }
}

/** Status that a server reports. */
export interface ServerStatus {
  readonly is_standby: boolean
  /** Its sessions are read-only, on a replica or not. */
  readonly is_read_only: boolean
  /** Postgres's system identifier, which replicas share with their primary; null if unavailable. */
  readonly system: string | null
  /** Timeline of a primary: each promotion begins a new one. Null for a replica, or if unavailable. */
  readonly timeline: number | null
}

/** The newest timeline seen. A server with an older one is a former primary and must not be written to. */
type PrimaryHistory = Pick<ServerStatus, 'system' | 'timeline'>

/** Reason why a server is not suitable; null if it is (OPS-112, OPS-114). */
function rejectionReason(sight: ServerStatus, wanted: TargetSession, newest: PrimaryHistory): string | null {
  if (newest.system !== null && sight.system !== null && sight.system !== newest.system) return 'of another cluster'
  if (wanted === 'standby') return sight.is_standby ? null : 'a primary'
  if (wanted === 'any' || wanted === 'prefer-standby') return null
  if (sight.is_standby) return 'a standby'
  if (sight.timeline !== null && sight.timeline < (newest.timeline ?? 0))
    return `a former primary (timeline ${sight.timeline}, and ${newest.timeline} was seen)`
  return wanted === 'read-write' && sight.is_read_only ? 'read-only' : null
}

/**
 * Elects a server; null if none is suitable. Among writable servers the most recently promoted one wins; otherwise the
 * previously elected one, then the first one of the URL. `sights` are null for servers of unknown status.
 */
export function electServer(
  sights: readonly (ServerStatus | null)[],
  {
    wanted,
    newest,
    last,
  }: { readonly wanted: TargetSession; readonly newest: PrimaryHistory; readonly last: number | null },
): number | null {
  const fit = sights.flatMap((sight, index) =>
    sight && rejectionReason(sight, wanted, newest) === null ? [{ sight, index }] : [],
  )
  const preferred = fit.filter(({ sight }) => (wanted === 'prefer-standby' ? sight.is_standby : true))
  const all = preferred.length > 0 ? preferred : fit
  const timeline = Math.max(...all.map(({ sight }) => sight.timeline ?? 0))
  const best = isWritable(wanted) ? all.filter((e) => (e.sight.timeline ?? 0) === timeline) : all
  return (best.find(({ index }) => index === last) ?? best[0])?.index ?? null
}

/** The servers of one URL. They are probed periodically while connections use one of them. */
export interface ServerSet {
  /** Whether the URL requires the server that accepts writes. */
  readonly takesWrites: boolean
  /** The URL for a single server. */
  urlOf(host: Host): string
  /** Registers a connection. `onEnd` is called when its server must not be used any more. */
  use(onEnd: (why: Error) => void): ServerUse
}

/** A connection's use of a server. */
export interface ServerUse {
  /** The server to connect to, known or found now. @throws NoSuitableServer */
  find(): Promise<Host>
  /** Reports that the server refused, was lost or became read-only: it is probed at once. */
  doubt(): void
  leave(): void
}

/** No server of a URL is suitable; the message lists the state of each. */
export class NoSuitableServer extends Unavailable {}

/** Probe intervals, with and without a known server. */
const EVERY_MS = 1_000
const IMPATIENTLY_MS = 200
/**
 * Extra wait in the first round for other answers after a suitable one, because another server may have been promoted
 * later. Afterwards a former primary is recognized by its timeline.
 */
const GRACE_MS = 200

/** Errors of a server that is up and may answer later: a time-out, or too many connections. */
const MAY_ANSWER = /^(timeout expired|Query read timeout)$|too many clients|remaining connection slots/

interface Server {
  readonly host: Host
  readonly sentinel: HealthProbe
  /** Null while unknown. */
  sight: ServerStatus | null
  /** Error of the last probe; null if it succeeded. */
  failure: string | null
  looking: Promise<void> | null
}

interface State extends Hosts {
  readonly servers: readonly Server[]
  readonly history: { newest: PrimaryHistory }
  readonly uses: Set<{ server: Server | null; readonly onEnd: (why: Error) => void }>
  repetitions: readonly Repetition[]
  /** The previously elected server. */
  last: Server | null
  rounding: Promise<void> | null
}

/**
 * Server sets of the process by URL. Pools, listeners and commands open their connections independently, and must agree
 * on the primary.
 */
const known = new Map<string, ServerSet>()
/** By hosts, so that owner and service share the same history although their URLs differ. */
const histories = new Map<string, { newest: PrimaryHistory }>()

/** Null for a URL of one host, to which the driver connects directly. @throws Error for an invalid URL */
export function openServerSet(url: string): ServerSet | null {
  const hosts = parseHosts(url)
  if (!hosts) return null
  const found = known.get(url) ?? createServers(hosts)
  known.set(url, found)
  return found
}

function createServers(hosts: Hosts): ServerSet {
  const name = hosts.all.map(nameOfHost).join()
  const history = histories.get(name) ?? { newest: { system: null, timeline: null } }
  histories.set(name, history)
  const servers = hosts.all.map((host): Server => {
    const sentinel = createHealthProbe(hosts.urlOf(host), () => doubt(state))
    return { host, sentinel, sight: null, failure: null, looking: null }
  })
  const state: State = { ...hosts, servers, history, uses: new Set(), repetitions: [], last: null, rounding: null }
  return {
    urlOf: hosts.urlOf,
    takesWrites: isWritable(hosts.wanted),
    use(onEnd) {
      const own: { server: Server | null; readonly onEnd: typeof onEnd } = { server: null, onEnd }
      state.uses.add(own)
      if (state.uses.size === 1) start(state)
      return {
        async find() {
          own.server = await find(state)
          return own.server.host
        },
        doubt() {
          if (!state.uses.has(own)) return
          if (own.server) own.server.sight = null
          doubt(state)
        },
        leave() {
          if (state.uses.delete(own) && state.uses.size === 0) stop(state)
        },
      }
    },
  }
}

function start(state: State): void {
  const every = () => (pick(state) ? EVERY_MS : IMPATIENTLY_MS)
  state.repetitions = state.servers.map((server) =>
    repeat(
      () => look(state, server),
      every,
      () => {},
    ),
  )
}

function stop(state: State): void {
  for (const repetition of state.repetitions) void repetition.stop()
  // A probe that is under way ends as closed; the next use starts its own.
  state.rounding = null
  for (const server of state.servers) {
    server.sentinel.close()
    Object.assign(server, { sight: null, failure: null, looking: null })
  }
}

function doubt(state: State): void {
  if (state.uses.size > 0) void round(state)
}

function pick({ servers, wanted, history, last }: State): Server | null {
  const sights = servers.map(({ sight }) => sight)
  const index = electServer(sights, { wanted, newest: history.newest, last: last && servers.indexOf(last) })
  return index === null ? null : (servers[index] as Server)
}

async function find(state: State): Promise<Server> {
  if (!pick(state)) await round(state)
  const picked = pick(state)
  if (picked) return picked
  const { last, servers, wanted } = state
  if (last?.failure && MAY_ANSWER.test(last.failure)) return last
  const all = servers.map((each) => `${nameOfHost(each.host)} is ${whyNot(state, each) ?? 'not known yet'}`)
  throw new NoSuitableServer(`no server of the URL is ${wanted}: ${all.join(', ')}`)
}

/** Probes all servers; ends when all have answered, or shortly after a suitable one did. */
function round(state: State): Promise<void> {
  if (state.rounding) return state.rounding
  const rounding = askAll(state).finally(() => {
    if (state.rounding === rounding) state.rounding = null
  })
  state.rounding = rounding
  return rounding
}

async function askAll(state: State): Promise<void> {
  const grace_ms = state.last ? 0 : GRACE_MS
  const asked = state.servers.map((server) => look(state, server))
  const isFit = asked.map(async (each) => {
    await each
    if (!pick(state)) throw new Error('none is fit yet')
  })
  const fit = Promise.any(isFit).then(() => delay(grace_ms))
  await Promise.race([Promise.all(asked), fit.catch(() => Promise.all(asked))])
}

function look(state: State, server: Server): Promise<void> {
  if (server.looking) return server.looking
  const looking = statusOf(server).then((found) => {
    // Closed meanwhile.
    if (server.looking !== looking) return
    Object.assign(server, found, { looking: null })
    judge(state)
  })
  server.looking = looking
  return looking
}

const statusOf = ({ sentinel }: Server): Promise<Pick<Server, 'sight' | 'failure'>> =>
  sentinel.ask().then(
    (sight) => ({ sight, failure: null }),
    (error: unknown) => ({ sight: null, failure: messageOf(error) }),
  )

/** Closes connections whose server is no longer suitable, or does not answer while another one does. */
function judge(state: State): void {
  const picked = pick(state)
  if (picked?.sight) {
    const { system, timeline } = picked.sight
    const { newest } = state.history
    state.last = picked
    state.history.newest = { system: system ?? newest.system, timeline: timeline ?? newest.timeline }
  }
  const endings = [...state.uses].flatMap((use) => {
    const { server } = use
    const why = server && server !== picked && (server.sight || picked) ? whyNot(state, server) : null
    return server && why ? [{ use, why: `${nameOfHost(server.host)} is ${why}` }] : []
  })
  for (const { use, why } of endings) {
    // Otherwise the end of its connections would trigger another probe.
    use.server = null
    use.onEnd(new Error(`Connection terminated: ${why}`))
  }
}

function whyNot({ wanted, history }: State, { sight, failure }: Server): string | null {
  if (sight) return rejectionReason(sight, wanted, history.newest)
  return failure === null ? null : `not reached (${failure})`
}

const messageOf = (error: unknown): string => {
  const { code, message } = error as { code?: unknown; message?: string }
  return message || String(code)
}
