import type { Pool, PoolClient } from 'pg'
import type { IdKind } from '../domain/id-kinds.ts'
import type { Refusal } from '../domain/refusal.ts'
import { catchUp } from './catch-up.ts'
import { isRefusal } from './command.ts'
import { streamOf } from './envelope.ts'
import type { IdAllocator } from './ids.ts'
import { advance, clock, lock, open } from './ledgers.ts'
import { isOutage } from './outage.ts'
import { type Append, type EventStore, Unavailable } from './port.ts'
import type { ReadModel } from './projection.ts'
import { createQueue, type QueueLimits } from './queue.ts'
import { retriesOf } from './retry.ts'
import { assertCommitted, pipelined, type Transaction, transactionOn } from './transaction.ts'
import {
  type Answer,
  type Decided,
  decideRequest,
  needsOf,
  type OpenLedger,
  type Request,
  storeAnswer,
} from './unit-of-work.ts'
import { createWorkingSet, type WorkingSet } from './working-set.ts'

export interface WriterOptions {
  /** Connections with `pipeline: true`; as many as there are lanes, and one to settle unknown outcomes. */
  readonly pool: Pool
  readonly store: EventStore
  readonly model: ReadModel
  readonly ids: IdAllocator
  readonly limits: QueueLimits
  readonly newEventId: () => string
  /** Called when the tables belong to another version of the projections: this process must not write and should leave. */
  readonly onOutdated: () => void
  readonly log: (message: string, error: unknown) => void
}

export interface Writer {
  /** Runs a request in a group with others. @throws Unavailable when nothing can be promised. */
  run(request: Request): Promise<Answer | Refusal>
  /** Resolves when all that was accepted is answered. */
  idle(): Promise<void>
}

/** A request that waits for its answer, with the event ids of attempts whose outcome was unknown. */
interface Pending extends Request {
  readonly resolve: (answer: Answer | Refusal) => void
  readonly reject: (error: unknown) => void
  readonly inDoubt: Decided[]
}

/** The outcome of an append or COMMIT is unknown: nothing may be decided again before the streams were read. */
class InDoubt extends Error {
  override readonly name = 'InDoubt'
}

/** A late append can only win once per attempt, so a few rounds settle everything that can be settled. */
const SETTLE_ATTEMPTS = 5

/** The unit of work: many commands, one commit (DESIGN section 1). */
export function createWriter(options: WriterOptions): Writer {
  const queue = createQueue<Pending>(options.limits, (group) =>
    runGroup(options, group, SETTLE_ATTEMPTS).catch((error: unknown) => {
      for (const request of group) request.reject(error)
    }),
  )
  return {
    run: (request) =>
      new Promise((resolve, reject) => {
        queue.push({ ...request, resolve, reject, inDoubt: [] })
      }),
    idle: () => queue.idle(),
  }
}

/** Runs a group and answers every request of it. */
async function runGroup(options: WriterOptions, group: readonly Pending[], attemptsLeft: number): Promise<void> {
  let decided: Decided[] = []
  try {
    decided = await withClient(options.pool, (client) => attempt(options, client, group, (all) => (decided = all)))
  } catch (error) {
    if (error instanceof InDoubt) return settle(options, group, decided, attemptsLeft)
    return failed(options, group, attemptsLeft, error)
  }
  for (const [position, request] of group.entries()) request.resolve((decided[position] as Decided).answer)
}

/** Nothing was appended. One request's bug, or its lock, must not fail its neighbours: they run apart from each other. */
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
  for (const request of group)
    request.reject(isOutage(error) ? new Unavailable('the database cannot be reached') : error)
}

/** One attempt: lock, load, decide, flush, append, COMMIT. `onDecided` hands out the decisions before anything is sent. */
async function attempt(
  options: WriterOptions,
  client: PoolClient,
  group: readonly Pending[],
  onDecided: (decided: Decided[]) => void,
): Promise<Decided[]> {
  const set = createWorkingSet()
  const tx = transactionOn(client)
  const lease = await options.ids.lease(idsOf(group))
  try {
    const ledgers = await begin(options, client, tx, set, group)
    const load = async (companyId: number, refs: Parameters<WorkingSet['want']>[1]) => {
      set.want(companyId, refs)
      await pipelined(client, () => set.load(tx))
    }
    const deciding = { model: options.model, set, ids: lease, load, newEventId: options.newEventId }
    const decided: Decided[] = []
    for (const request of group) {
      decided.push(await decideRequest(request, ledgers.get(request.companyId) as OpenLedger, deciding))
    }
    onDecided(decided)
    await commit(options.store, client, tx, set, [...ledgers.values()])
    return decided
  } finally {
    lease.giveBack()
  }
}

function idsOf(group: readonly Pending[]): Partial<Record<IdKind, number>> {
  const counts: Partial<Record<IdKind, number>> = {}
  for (const request of group) {
    for (const { command, input } of request.invocations) {
      for (const [kind, count] of Object.entries(command.ids?.(input) ?? {}) as [IdKind, number][]) {
        counts[kind] = (counts[kind] ?? 0) + count
      }
    }
  }
  return counts
}

/** First round trip: BEGIN, lock, clock, and all rows that are known to be needed. */
async function begin(
  { model, onOutdated }: WriterOptions,
  client: PoolClient,
  tx: Transaction,
  set: WorkingSet,
  group: readonly Pending[],
): Promise<Map<number, OpenLedger>> {
  const companyIds = [...new Set(group.map((request) => request.companyId))]
  for (const request of group) set.want(request.companyId, needsOf(model, request))
  const [, locked, time] = await pipelined(client, () => [
    client.query('begin'),
    lock(tx, companyIds),
    clock(tx),
    ...set.load(tx),
  ])
  if (time.version !== model.version) {
    onOutdated()
    throw new Unavailable('the read model has another version')
  }
  return new Map(
    companyIds.map((companyId) => {
      const row = locked.get(companyId)
      if (!row) throw new Error(`company ${companyId} has no ledger`)
      return [companyId, open(row, time.now)]
    }),
  )
}

/** Last round trip. Nothing that can refuse comes after the append. */
async function commit(
  store: EventStore,
  client: PoolClient,
  tx: Transaction,
  set: WorkingSet,
  ledgers: readonly OpenLedger[],
): Promise<void> {
  const changed = ledgers.filter((ledger) => ledger.commands.length > 0)
  const appends: Append[] = changed.map((ledger) => ({
    stream: streamOf(ledger.companyId),
    expectedRevision: ledger.expectedRevision,
    commands: ledger.commands,
  }))
  const rows = () => [...set.flush(tx), ...(changed.length > 0 ? [advance(tx, changed)] : [])]
  if (store.transactional || appends.length === 0) {
    return commitTogether(client, () => [...rows(), ...(appends.length > 0 ? [store.append(appends, tx)] : [])])
  }
  await pipelined(client, rows)
  try {
    await store.append(appends, tx)
    assertCommitted(await client.query('commit'))
  } catch (error) {
    throw new InDoubt('the outcome of an append or its commit is unknown', { cause: error })
  }
}

/** Sends the last statements and COMMIT in one go. Only COMMIT's own answer tells whether the outcome is known. */
async function commitTogether(client: PoolClient, send: () => Promise<unknown>[]): Promise<void> {
  let committing: Promise<{ command: string }> | undefined
  try {
    await pipelined(client, () => {
      const sent = send()
      committing = client.query('commit')
      return [...sent, committing]
    })
  } catch (error) {
    const outcome = await committing?.catch(() => null)
    if (!committing || outcome?.command === 'ROLLBACK') throw error
    throw new InDoubt('the outcome of a commit is unknown', { cause: error })
  }
  assertCommitted((await committing) as Parameters<typeof assertCommitted>[0])
}

/**
 * After an unknown outcome: reads each company's stream, applies what is there, answers the requests whose events are
 * found, and only then runs the others again, with new event ids.
 */
async function settle(
  options: WriterOptions,
  group: readonly Pending[],
  decided: readonly Decided[],
  attemptsLeft: number,
): Promise<void> {
  for (const [position, request] of group.entries()) request.inDoubt.push(decided[position] as Decided)
  let open: Pending[]
  try {
    if (attemptsLeft === 0) throw new Unavailable('the outcome could not be settled')
    open = await withClient(options.pool, (client) => settleOnce(options, client, group))
  } catch (error) {
    options.log('an unknown outcome could not be settled', error)
    for (const request of group) request.reject(new Unavailable('the outcome is unknown'))
    return
  }
  if (open.length > 0) await runGroup(options, open, attemptsLeft - 1)
}

async function settleOnce(options: WriterOptions, client: PoolClient, group: readonly Pending[]): Promise<Pending[]> {
  const set = createWorkingSet()
  const tx = transactionOn(client)
  const ledgers = [...(await begin(options, client, tx, set, group)).values()]
  for (const ledger of ledgers) await catchUp(ledger, { tx, store: options.store, model: options.model, set })
  const stored = await storedIds(options.store, group)
  const found = new Map(group.map((request) => [request, request.inDoubt.find((past) => isStored(past, stored))]))
  for (const [request, past] of found) {
    const ledger = ledgers.find((candidate) => candidate.companyId === request.companyId) as OpenLedger
    if (past && !isRefusal(past.answer))
      storeAnswer(request, set.of(request.companyId), past.answer, ledger.lastRecordedAt)
  }
  await pipelined(client, () => [...set.flush(tx), advance(tx, ledgers)])
  assertCommitted(await client.query('commit'))
  for (const [request, past] of found) if (past) request.resolve(past.answer)
  return group.filter((request) => !found.get(request))
}

/** The ids of a request's attempts that the streams hold. Each attempt began at most a few events before the end. */
async function storedIds(store: EventStore, group: readonly Pending[]): Promise<Set<string>> {
  const stored = new Set<string>()
  for (const companyId of new Set(group.map((request) => request.companyId))) {
    const from = Math.min(
      ...group.filter((r) => r.companyId === companyId).flatMap((r) => r.inDoubt.map((past) => past.fromRevision)),
    )
    for await (const event of store.read(streamOf(companyId), from)) stored.add(event.id)
  }
  return stored
}

const isStored = (past: Decided, stored: ReadonlySet<string>): boolean =>
  past.eventIds.length > 0 && past.eventIds.every((id) => stored.has(id))

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
    // Whatever state the connection is in, its transaction ends with it.
    client.release(true)
    throw error
  }
}
