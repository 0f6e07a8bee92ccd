import type { Pool, PoolClient } from 'pg'
import type { Refusal } from '#domain/refusals.ts'
import { TenantLimitExceeded, Unavailable } from '#lib/errors.ts'
import { createFairShareLimiter, createPerKeyQueue, type LimiterFigures } from '#lib/fair-sharing.ts'
import { isOutage } from '#postgres/database.ts'
import { blockFor } from '../sealed-fields.ts'
import { type AttemptOptions, attempt, type Doubtful, findStored, InDoubt } from './attempt.ts'
import type { Answer } from './idempotency.ts'
import type { Decided, Request } from './unit-of-work.ts'

export interface Queued {
  readonly companyId: number
  readonly invocations: readonly unknown[]
  /** Equivalent number of usual commands, if the request is more work than its commands suggest. */
  readonly weight?: number | undefined
  /** Runs in a bulk lane, so that writes of other companies do not wait for it. */
  readonly takesLong?: boolean
  /** Is rolled back, so it fills a group. */
  readonly isDryRun?: boolean | undefined
}

export interface QueueLimits {
  /** Commands of one group. A request that is larger or long-running is a group by itself. */
  readonly groupCommands: number
  /** Concurrent groups, over disjoint companies. */
  readonly lanes: number
  /** Concurrent large or long-running requests, beside those groups. */
  readonly largeLanes: number
  /** Waiting commands of all companies. One company is limited to its fair share (createFairShareLimiter). */
  readonly waitingCommands: number
}

export interface Queue<T extends Queued> extends LimiterFigures {
  /** @throws TenantLimitExceeded if too many commands of the company wait already. */
  push(item: T): void
  /** Resolves when the queue is empty and no group runs. */
  idle(): Promise<void>
}

/**
 * A request without commands counts as one, so that the number of waiting requests is bounded. `weight` keeps a group
 * of 32 sales with 500 lines each from blocking the event loop.
 */
const weightOf = ({ invocations, weight = 1 }: Queued): number => Math.max(1, weight, invocations.length)

/** A request that exceeds the bound is accepted if nothing else waits; a dry run fills a group. */
const sizeWithin = ({ waitingCommands, groupCommands }: QueueLimits, item: Queued): number =>
  Math.min(waitingCommands, Math.max(weightOf(item), item.isDryRun ? groupCommands : 0))

/**
 * Groups requests for one commit: one request per waiting company, round-robin, until the group is full; each company's
 * requests in order of arrival. Up to `lanes` groups run at once over disjoint companies. There is no timer: requests
 * that arrive while the lanes are busy form the next group.
 */
export function createQueue<T extends Queued>(limits: QueueLimits, runGroup: (group: T[]) => Promise<void>): Queue<T> {
  const room = createFairShareLimiter(limits.waitingCommands)
  const lines = createPerKeyQueue<number, T>()
  const busyCompanies = new Set<number>()
  const lanesBusy = { small: 0, large: 0 }
  let scheduled = false
  let idleCallbacks: (() => void)[] = []

  const sizeOf = (item: Queued): number => sizeWithin(limits, item)

  const isLarge = (item: Queued): boolean => item.takesLong === true || sizeOf(item) > limits.groupCommands

  function take(item: T): void {
    lines.take(item.companyId, item)
    room.release(item.companyId, sizeOf(item))
  }

  /** A head that does not fit into the group blocks its company's queue, which keeps the order of arrival. */
  function takeGroup(): T[] {
    const group: T[] = []
    let commands = 0
    for (const [companyId, item] of lines.heads()) {
      if (commands >= limits.groupCommands) break
      if (busyCompanies.has(companyId) || isLarge(item) || commands + sizeOf(item) > limits.groupCommands) continue
      take(item)
      group.push(item)
      commands += sizeOf(item)
    }
    return group
  }

  function takeLarge(): T[] {
    for (const [companyId, item] of lines.heads()) {
      if (busyCompanies.has(companyId) || !isLarge(item)) continue
      take(item)
      return [item]
    }
    return []
  }

  function start(group: T[], kind: keyof typeof lanesBusy): void {
    const companies = new Set(group.map((item) => item.companyId))
    for (const company of companies) busyCompanies.add(company)
    lanesBusy[kind] += 1
    const leave = () => {
      lanesBusy[kind] -= 1
      for (const company of companies) busyCompanies.delete(company)
      pump()
      if (!isIdle()) return
      for (const callback of idleCallbacks) callback()
      idleCallbacks = []
    }
    // `runGroup` handles its own failures; the queue goes on.
    void Promise.resolve(group).then(runGroup).then(leave, leave)
  }

  function pump(): void {
    scheduled = false
    for (const kind of ['small', 'large'] as const) {
      while (lanesBusy[kind] < (kind === 'small' ? limits.lanes : limits.largeLanes)) {
        const group = kind === 'small' ? takeGroup() : takeLarge()
        if (group.length === 0) break
        start(group, kind)
      }
    }
  }

  const isIdle = (): boolean => lines.isEmpty() && lanesBusy.small + lanesBusy.large === 0

  return {
    get used() {
      return room.used
    },
    get refused() {
      return room.refused
    },
    push(item) {
      const { companyId } = item
      if (!room.acquire(companyId, sizeOf(item))) throw new TenantLimitExceeded('write queue of the company is full')
      lines.add(companyId, item)
      // Requests that were read from sockets in the same turn of the event loop share the group.
      if (!scheduled) {
        scheduled = true
        setImmediate(pump)
      }
    },
    idle: () => (isIdle() ? Promise.resolve() : new Promise((resolve) => idleCallbacks.push(resolve))),
  }
}

export interface WriterOptions extends AttemptOptions {
  /** Connections with `pipeline: true`: one per lane of either kind, and one to resolve unknown outcomes. */
  readonly pool: Pool
  readonly limits: QueueLimits
  /** Called for each group after all its requests are answered. */
  readonly onGroup?: ((group: GroupFigures) => void) | undefined
  readonly log: (message: string, error: unknown) => void
}

/** Cost of one commit, and the number of requests that shared it. */
export interface GroupFigures {
  readonly commands: number
  readonly duration_ms: number
}

/** A condition of the process for writes; it may wait. @throws Unavailable to refuse the request */
export type AdmissionCheck = () => void | Promise<void>

/** The unit of work: many commands, one commit (LEDGER-6). `writeRequest` uses it. */
export interface Writer {
  readonly queue: Queue<Pending>
  /** Each request passes them in this order before it joins the queue. */
  readonly admission: readonly AdmissionCheck[]
  /** What happens around each request, such as counting. */
  readonly around?: (request: Request, write: () => Promise<Answer | Refusal>) => Promise<Answer | Refusal>
}

/** Runs a request in a group with others. @throws Unavailable if the outcome cannot be guaranteed. */
export const writeRequest = (writer: Writer, request: Request): Promise<Answer | Refusal> =>
  writer.around ? writer.around(request, () => enqueue(writer, request)) : enqueue(writer, request)

/** The queue of `createWriter` runs it by `runGroup`. */
async function enqueue({ queue, admission }: Writer, request: Request): Promise<Answer | Refusal> {
  for (const check of admission) await check()
  return new Promise((resolve, reject) => {
    const takesLong = request.invocations.some(({ command }) => command.lookup !== undefined || command.isAlone)
    queue.push({ ...request, takesLong, resolve, reject, inDoubt: [] })
  })
}

interface Pending extends Doubtful {
  readonly takesLong: boolean
  readonly resolve: (answer: Answer | Refusal) => void
  readonly reject: (error: unknown) => void
}

/** A late append can win only once per attempt, so a few rounds resolve all outcomes that can be resolved. */
const RESOLVE_ATTEMPTS = 5

export function createWriter(options: WriterOptions): Writer {
  const queue = createQueue<Pending>(options.limits, async (group) => {
    const began = performance.now()
    await runGroup(options, group, RESOLVE_ATTEMPTS).catch((error: unknown) => {
      for (const request of group) request.reject(error)
    })
    const commands = group.reduce((sum, { invocations }) => sum + invocations.length, 0)
    options.onGroup?.({ commands, duration_ms: performance.now() - began })
  })
  return { queue, admission: [] }
}

async function runGroup(options: WriterOptions, group: readonly Pending[], attemptsLeft: number): Promise<void> {
  let decided: Decided[] = []
  try {
    decided = await withClient(options.pool, (client) => attempt(options, client, group, (all) => (decided = all)))
  } catch (error) {
    if (error instanceof InDoubt) return resolveOutcomes(options, group, decided, attemptsLeft)
    return failed(options, group, attemptsLeft, error)
  }
  for (const [position, request] of group.entries()) settle(request, decided[position] as Decided)
}

/** Nothing was appended. The bug or lock of one request must not fail the others, so they run in separate groups. */
async function failed(
  options: WriterOptions,
  group: readonly Pending[],
  attemptsLeft: number,
  error: unknown,
): Promise<void> {
  const retries = splitRetries(group, error, attemptsLeft > 0)
  for (const retry of retries) await runGroup(options, retry, attemptsLeft - (retry === group ? 1 : 0))
  if (retries.length > 0) return
  options.log('writer: unit of work failed, nothing recorded', error)
  const answer = isOutage(error) ? new Unavailable('the database cannot be reached') : error
  for (const request of group) request.reject(answer)
}

/**
 * After an unknown outcome: reads each company's stream, applies its events, answers the requests with stored events,
 * and only then runs the others again, with new event ids.
 */
async function resolveOutcomes(
  options: WriterOptions,
  group: readonly Pending[],
  decided: readonly Decided[],
  attemptsLeft: number,
): Promise<void> {
  for (const [position, request] of group.entries()) request.inDoubt.push(decided[position] as Decided)
  let found: ReadonlyMap<Pending, Decided>
  try {
    if (attemptsLeft === 0) throw new Unavailable('the outcome could not be resolved')
    found = await findOutcomes(options, group)
  } catch (error) {
    options.log('writer: unknown outcome not resolved', error)
    for (const request of group) request.reject(new Unavailable('the outcome is unknown'))
    return
  }
  for (const [request, past] of found) settle(request, past)
  const open = group.filter((request) => !found.has(request))
  if (open.length > 0) await runGroup(options, open, attemptsLeft - 1)
}

/** A company with unreadable events becomes read-only; then the requests of the other companies are searched again. */
async function findOutcomes(options: WriterOptions, group: readonly Pending[]): Promise<ReadonlyMap<Pending, Decided>> {
  for (;;) {
    try {
      return await withClient(options.pool, (client) => findStored(options, client, group))
    } catch (error) {
      if ((await blockFor(error, options.pool)) !== true) throw error
      options.log('ledger: company is read-only, keys of persons are missing', error)
    }
  }
}

function settle(request: Pending, { answer }: Decided): void {
  if (answer instanceof Unavailable) request.reject(answer)
  else request.resolve(answer)
}

async function withClient<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  let client: PoolClient
  try {
    client = await pool.connect()
  } catch (error) {
    throw new Unavailable('the database cannot be reached', { cause: error })
  }
  try {
    const value = await work(client)
    client.release()
    return value
  } catch (error) {
    // Ends the transaction, whatever state the connection is in.
    client.release(true)
    throw error
  }
}

/** lock_not_available, query_canceled (statement time-out): another attempt at the same rows would wait again. */
const WAITED_TOO_LONG = ['55P03', '57014']
/** Classes of what the server, its memory or its locks fail at, whatever was asked of it. */
const OF_SERVER = /^(08|40|53|55|57|58)/

/** Whether a request failed by what it asked: others, or its other commands, may succeed. */
export const isFaultOfRequest = (error: unknown): boolean =>
  !(error instanceof Unavailable) && !OF_SERVER.test(String((error as { code?: unknown } | null)?.code ?? ''))

/** unique_violation: a concurrent transaction committed a globally unique name; the next decision sees it. */
const NAME_TAKEN = '23505'
/** Class 53: out of disk, memory or connections. */
const EXHAUSTED = /^53/

/**
 * Groups in which requests are decided again after a unit of work that failed before the append, so that no request
 * fails because of another. Empty if a retry would not help.
 */
export function splitRetries<T extends { readonly companyId: number }>(
  group: readonly T[],
  error: unknown,
  mayRepeat: boolean,
): (readonly T[])[] {
  const code = String((error as { code?: unknown } | null)?.code ?? '')
  if (error instanceof Unavailable || EXHAUSTED.test(code)) return []
  // One company's lock was the cause: the requests of a company wait together or fail together.
  if (WAITED_TOO_LONG.includes(code)) return several(companiesOf(group))
  // No request caused a lost connection or a deadlock.
  if (isOutage(error)) return mayRepeat ? [group] : []
  if (group.length > 1) return group.map((request) => [request])
  return code === NAME_TAKEN && mayRepeat ? [group] : []
}

const several = <T>(groups: T[]): T[] => (groups.length > 1 ? groups : [])

function companiesOf<T extends { readonly companyId: number }>(group: readonly T[]): T[][] {
  const companies = new Map<number, T[]>()
  for (const request of group) {
    const requests = companies.get(request.companyId) ?? []
    companies.set(request.companyId, requests)
    requests.push(request)
  }
  return [...companies.values()]
}
