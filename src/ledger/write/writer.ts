import type { Pool, PoolClient } from 'pg'
import type { Refusal } from '#domain/refusal.ts'
import { Unavailable } from '#lib/errors.ts'
import { isOutage } from '#postgres/outage.ts'
import { blockFor } from '../missing-keys.ts'
import type { Answer } from './answer.ts'
import { type AttemptOptions, attempt, InDoubt } from './attempt.ts'
import { createQueue, type Queue, type QueueLimits } from './queue.ts'
import { type Doubtful, findStored } from './resolve.ts'
import type { Decided, Request } from './unit-of-work.ts'

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
  const retries = retriesOf(group, error, attemptsLeft > 0)
  for (const retry of retries) await runGroup(options, retry, attemptsLeft - (retry === group ? 1 : 0))
  if (retries.length > 0) return
  options.log('a unit of work failed', error)
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
    options.log('an unknown outcome could not be resolved', error)
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
      options.log('a company is read-only: keys of persons are missing', error)
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
export function retriesOf<T extends { readonly companyId: number }>(
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
