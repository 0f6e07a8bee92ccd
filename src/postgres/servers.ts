import { setTimeout as delay } from 'node:timers/promises'
import { type Repetition, repeat } from '#background/repeat.ts'
import { Unavailable } from '#lib/errors.ts'
import { createHealthProbe, type HealthProbe } from './health-probe.ts'
import { type Host, type Hosts, isWritable, nameOfHost, parseHosts } from './hosts.ts'
import { electServer, type PrimaryHistory, rejectionReason, type ServerStatus } from './primary-election.ts'

/** The servers of one URL, which are asked again and again for as long as somebody uses one of them (OPS-113). */
export interface ServerSet {
  /** Whether its URL wants the one that takes writes. */
  readonly takesWrites: boolean
  /** The URL of one of them alone. */
  urlOf(host: Host): string
  /** Begins a connection. `onEnd` hears that its server is not to be used any more. */
  use(onEnd: (why: Error) => void): ServerUse
}

/** One connection's interest in a server. */
export interface ServerUse {
  /** The server to connect to, known or found now. @throws NoSuitableServer */
  find(): Promise<Host>
  /** The server has refused, is lost, or takes no writes any more: it is asked at once. */
  doubt(): void
  leave(): void
}

/** No server of a URL is what is wanted; the message says what each is instead. */
export class NoSuitableServer extends Unavailable {}

/** The times between questions, while a server is known and while none is. */
const EVERY_MS = 1_000
const IMPATIENTLY_MS = 200
/**
 * At the first time others may still answer for so long when one is fit, since one of them may have been promoted after it.
 * Later on a former primary is known by its timeline.
 */
const GRACE_MS = 200

/** Errors of a server that is there and may yet answer: silence, and no room for one more connection. */
const MAY_ANSWER = /^(timeout expired|Query read timeout)$|too many clients|remaining connection slots/

interface Server {
  readonly host: Host
  readonly sentinel: HealthProbe
  /** Null while nothing is known of it. */
  sight: ServerStatus | null
  /** Why it could not be asked last; null when it could. */
  failure: string | null
  looking: Promise<void> | null
}

interface State extends Hosts {
  readonly servers: readonly Server[]
  readonly history: { newest: PrimaryHistory }
  readonly uses: Set<{ server: Server | null; readonly onEnd: (why: Error) => void }>
  repetitions: readonly Repetition[]
  /** The one that was right last. */
  last: Server | null
  rounding: Promise<void> | null
}

/**
 * What is known is shared by all connections of the process: pools, listeners and command line open theirs by URL, in many
 * places, and must not disagree about who takes writes.
 */
const known = new Map<string, ServerSet>()
/** By hosts: owner and service, who have URLs of their own, keep to the same history. */
const histories = new Map<string, { newest: PrimaryHistory }>()

/** Null for a URL of one host, which the driver connects to by itself. @throws Error for one that cannot be read */
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
  for (const server of state.servers) {
    server.sentinel.close()
    Object.assign(server, { sight: null, failure: null })
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

/** Asks all; ends when all have answered, or a moment after one that is fit. */
function round(state: State): Promise<void> {
  state.rounding ??= askAll(state).finally(() => {
    state.rounding = null
  })
  return state.rounding
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
  server.looking ??= lookAt(state, server).finally(() => {
    server.looking = null
  })
  return server.looking
}

async function lookAt(state: State, server: Server): Promise<void> {
  const [sight, failure] = await server.sentinel.ask().then(
    (seen) => [seen, null] as const,
    (error: unknown) => [null, messageOf(error)] as const,
  )
  if (state.uses.size === 0) return
  Object.assign(server, { sight, failure })
  judge(state)
}

/** Has connections end whose server is not what they were made for, or does not answer while another one does. */
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
    // It is not doubted because its connections end now.
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
