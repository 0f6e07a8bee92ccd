import type { Pool, PoolClient } from 'pg'
import { Unavailable } from '#lib/errors.ts'
import {
  assertCommitted,
  type BulkTransaction,
  inTransaction,
  runPipelined,
  type Transaction,
  transactionOn,
} from '#postgres/transaction.ts'
import { type Envelope, type Lookup, streamName } from '../command.ts'
import {
  advanceLedger,
  aheadUntil,
  idsAfter,
  lockLedger,
  lockLedgerIfFree,
  type OpenLedger,
  openLedger,
  readLedgerClock,
} from '../ledgers.ts'
import { type Append, type EventReader, type EventStore, readNewest } from '../port.ts'
import {
  collectErasures,
  collectRefs,
  ensure,
  project,
  type ReactionContext,
  type Reactor,
  type ReadModel,
  reactTo,
  render,
} from '../projection.ts'
import { createKeychain, type Keychain, type PersonKeys, personKeys } from '../sealed-fields.ts'
import type { AnyRef } from '../table.ts'
import { createWorkingSet, type WorkingSet } from '../working-set.ts'
import { storeAnswer, toRecordedOutcome, useProvisionalIds } from './idempotency.ts'
import {
  collectNeeds,
  type Decided,
  decideRequest,
  keyRefsOfFound,
  type Needing,
  needing,
  type Request,
  resetCompanyRows,
} from './unit-of-work.ts'

export interface AttemptOptions {
  readonly store: EventStore
  readonly model: ReadModel
  readonly reactors: readonly Reactor[]
  readonly keys: PersonKeys
  /** A UUID version 7, for events and rows derived from them. */
  readonly newId: () => string
  /** Called after each commit that advanced ledgers, to notify components that wait for it. */
  readonly onCommitted: (moved: readonly Committed[]) => void
  /** Called if the tables belong to another version of the projections: this process must not write and should exit. */
  readonly onOutdated: () => void
}

export interface Committed {
  readonly companyId: number
  readonly revision: number
  /** Whether reactors created work that other components wait for, such as deliveries. */
  readonly hasReacted: boolean
}

/** The outcome of an append or COMMIT is unknown: the streams must be read before anything is decided again. */
export class InDoubt extends Error {
  override readonly name = 'InDoubt'
}

/**
 * One attempt: lock, load, decide, flush, append, COMMIT. `onDecided` receives the decisions before anything is sent.
 */
export async function attempt(
  options: AttemptOptions,
  client: PoolClient,
  group: readonly Request[],
  onDecided: (decided: Decided[]) => void,
): Promise<Decided[]> {
  const set = createWorkingSet(options.keys.vault)
  const tx = transactionOn(client)
  const needed = group.map(needing)
  const ledgers = await beginAttempt(options, client, tx, set, needed)
  const load = async (companyId: number, refs: readonly AnyRef[]) => {
    set.queue(companyId, refs)
    await runPipelined(client, () => set.load(tx))
  }
  const find = async (companyId: number, { values, ...statement }: Lookup) =>
    (await tx.query(statement, [companyId, ...values])).rows
  const { store, model, reactors, newId } = options
  for (const each of needed) {
    const { companyId } = each.request
    set.queue(companyId, keyRefsOfFound(model, set.of(companyId), each))
  }
  if (set.hasQueued()) await runPipelined(client, () => set.load(tx))
  const keychain = createKeychain(options.keys.vault, newId)
  const deciding = { tx, model, reactors, newId, set, load, find, keychain, keysCommitTogether: store.transactional }
  // A dry run is a group by itself (writer.ts).
  const isDryRun = group.some((request) => request.isDryRun)
  if (isDryRun) for (const ledger of ledgers.values()) useProvisionalIds(ledger)
  const decided: Decided[] = []
  for (const request of group) {
    decided.push(await decideRequest(request, ledgers.get(request.companyId) as OpenLedger, deciding))
  }
  if (isDryRun) {
    await client.query('rollback')
    return decided
  }
  onDecided(decided)
  const commands = group.reduce((sum, { invocations }) => sum + invocations.length, 0)
  await commit(options, client, tx, { set, keychain, isLarge: commands >= LARGE_COMMANDS }, [...ledgers.values()])
  reportCommit(options, ledgers.values())
  return decided
}

/** Runs after COMMIT; a failure does not affect the answers. */
function reportCommit({ onCommitted }: AttemptOptions, ledgers: Iterable<OpenLedger>): void {
  const moved = [...ledgers].filter(({ revision, expectedRevision }) => revision > expectedRevision)
  if (moved.length > 0) onCommitted(moved)
}

/** First round trip: BEGIN, lock, clock, and all rows that the requests are known to need. */
async function beginAttempt(
  { model, onOutdated }: AttemptOptions,
  client: PoolClient,
  tx: Transaction,
  set: WorkingSet,
  needed: readonly Needing[],
): Promise<Map<number, OpenLedger>> {
  const companyIds = [...new Set(needed.map(({ request }) => request.companyId))]
  for (const each of needed) set.queue(each.request.companyId, collectNeeds(model, each))
  const [, locked, time] = await runPipelined(client, () => [
    client.query('begin'),
    lockLedger(tx, companyIds),
    readLedgerClock(tx),
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
      return [companyId, openLedger(row, time.now)]
    }),
  )
}

/** Runs the remaining statements after the rows are written. */
async function finishAttempt(tx: Transaction, ledgers: readonly OpenLedger[]): Promise<void> {
  for (const { finishing } of ledgers) for (const step of finishing) await step(tx)
}

/**
 * Minimum number of commands for a bulk flush: in batches and uploads this large, most rows are new, and there are
 * many.
 */
const LARGE_COMMANDS = 100

/** Result of deciding a group. */
interface Outcome {
  readonly set: WorkingSet
  readonly keychain: Keychain
  readonly isLarge: boolean
}

/** Last round trip. Nothing after the append can refuse the commit. */
async function commit(
  { store, keys }: AttemptOptions,
  client: PoolClient,
  tx: BulkTransaction,
  { set, keychain, isLarge }: Outcome,
  ledgers: readonly OpenLedger[],
): Promise<void> {
  const changed = ledgers.filter((ledger) => ledger.commands.length > 0)
  const appends: Append[] = changed.map((ledger) => ({
    stream: streamName(ledger.companyId),
    expectedRevision: ledger.expectedRevision,
    commands: ledger.commands,
  }))
  const together = store.transactional || appends.length === 0
  // Events may be stored even if this transaction fails, so the keys that seal them must be committed first.
  if (!together && keychain.made.length > 0) {
    await keys.save(keychain.made)
    set.markWritten(personKeys)
  }
  const finishes = ledgers.some(({ finishing }) => finishing.length > 0)
  if (finishes) {
    await runPipelined(client, () => set.flush(tx))
    await finishAttempt(tx, ledgers)
  }
  const write = () => (together && isLarge ? set.flushInBulk(tx) : set.flush(tx))
  const flush = () => (finishes ? [] : write())
  const rows = () => [...flush(), ...(changed.length > 0 ? [advanceLedger(tx, changed)] : [])]
  if (together) {
    return commitTogether(client, () => [...rows(), ...(appends.length > 0 ? [store.append(appends, tx)] : [])])
  }
  await runPipelined(client, rows)
  try {
    await store.append(appends, tx)
    assertCommitted(await client.query('commit'))
  } catch (error) {
    throw new InDoubt('the outcome of an append or its commit is unknown', { cause: error })
  }
}

/** Sends the last statements and COMMIT in one write. Only the answer to COMMIT tells whether the outcome is known. */
async function commitTogether(client: PoolClient, send: () => Promise<unknown>[]): Promise<void> {
  let committing: Promise<{ command: string }> | undefined
  try {
    await runPipelined(client, () => {
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

export interface CatchUp extends EventReader {
  readonly tx: Transaction
  readonly reactors: readonly Reactor[]
  readonly newId: () => string
  readonly set: WorkingSet
}

/**
 * Applies the store's events beyond the revision of a locked ledger, as the writer that crashed would have done: rows,
 * reactions, and stored answers of requests with an Idempotency-Key. After `maxEvents` it stops before the next
 * request. Returns the ids of the applied events.
 */
async function catchUp(ledger: OpenLedger, work: CatchUp, maxEvents = Number.POSITIVE_INFINITY): Promise<Set<string>> {
  const reacting: ReactionContext = {
    ...work,
    async load(companyId, refs) {
      work.set.queue(companyId, refs)
      await Promise.all(work.set.load(work.tx))
    },
  }
  const applied = new Set<string>()
  let unanswered: Envelope | null = null
  let requestId: string | null = null
  const unknown = readNewest(work, streamName(ledger.companyId), ledger.revision + 1)
  for await (const [event, next] of withNext(unknown)) {
    // The answer shows the record after the last event of its request.
    const isNextRequest = event.idempotency !== null || event.request_id !== requestId || requestId === null
    if (isNextRequest && applied.size >= maxEvents) break
    requestId = event.request_id
    if (unanswered && isNextRequest) unanswered = await answer(unanswered, ledger, reacting)
    await resetCompanyRows(work, ledger.companyId, event)
    await ensure(reacting, ledger.companyId, collectRefs(work.model, event))
    project(work.model, work.set.of(ledger.companyId), event)
    ledger.finishing.push(...collectErasures(work.model, ledger.companyId, event))
    await reactTo(event, next, ledger, reacting)
    applied.add(event.id)
    ledger.revision = event.revision
    ledger.hash = event.hash
    ledger.ids = idsAfter(ledger.ids, event)
    ledger.lastRecordedAt = event.recorded_at
    ledger.aheadUntil = aheadUntil(event.recorded_at, ledger.now)
    if (event.idempotency) unanswered = event
  }
  if (unanswered) await answer(unanswered, ledger, reacting)
  return applied
}

/** Each event with its successor; null after the last. */
async function* withNext(events: AsyncIterable<Envelope>): AsyncGenerator<[event: Envelope, next: Envelope | null]> {
  let held: Envelope | null = null
  for await (const event of events) {
    if (held) yield [held, event]
    held = event
  }
  if (held) yield [held, null]
}

async function answer(event: Envelope, ledger: OpenLedger, reacting: ReactionContext): Promise<null> {
  if (!event.idempotency) return null
  const { key, request_hash: requestHash, status } = event.idempotency
  // As of the event: values that depend on the clock are those of the original answer.
  const at = { companyId: ledger.companyId, now: event.recorded_at }
  const outcome = toRecordedOutcome(status)
  const json = outcome === 'deleted' ? '' : await render(event.subject, at, reacting)
  const { companyId } = ledger
  storeAnswer(
    reacting.set.of(companyId),
    { actor: event.actor, idempotency: { key, requestHash } },
    { outcome, json },
    { companyId, lastRecordedAt: event.recorded_at },
  )
  return null
}

/** Events per transaction. Bounds memory and the time that a ledger stays locked. */
const EVENTS_PER_TRANSACTION = 500

export type CatchUpOptions = AttemptOptions & { readonly pool: Pool }

/**
 * Applies all events of a company beyond its ledger's revision, as the writer that crashed would have done. Unless it
 * waits, it skips a locked ledger: the holder will apply the events. Returns whether the end was
 * reached.
 */
export async function catchUpCompany(
  options: CatchUpOptions,
  companyId: number,
  { waits }: { readonly waits: boolean },
): Promise<boolean> {
  for (;;) {
    const applied = await catchUpSome(options, companyId, waits)
    if (applied === null) return false
    if (applied < EVENTS_PER_TRANSACTION) return true
  }
}

/** Null if another transaction has the ledger. */
async function catchUpSome(options: CatchUpOptions, companyId: number, waits: boolean): Promise<number | null> {
  const done = await inTransaction(options.pool, async (tx, client) => {
    const row = (await (waits ? lockLedger : lockLedgerIfFree)(tx, [companyId])).get(companyId)
    if (!row) return null
    const time = await readLedgerClock(tx)
    if (time.version !== options.model.version) {
      options.onOutdated()
      throw new Unavailable('the read model has another version')
    }
    const ledger = openLedger(row, time.now)
    const set = createWorkingSet(options.keys.vault)
    const applied = await catchUp(ledger, { ...options, tx, set }, EVENTS_PER_TRANSACTION)
    if (applied.size > 0) await runPipelined(client, () => [...set.flush(tx), advanceLedger(tx, [ledger])])
    await finishAttempt(tx, [ledger])
    return { applied: applied.size, ledger }
  })
  if (!done) return null
  reportCommit(options, [done.ledger])
  return done.applied
}

/** A request with its attempts of unknown outcome. */
export interface Doubtful extends Request {
  readonly inDoubt: Decided[]
}

/**
 * Reads each company's stream under its lock, applies its events, and returns the requests with stored events. Their
 * other rows (answers, hashes of secrets) are written in the same commit. For a company that takes no writes nothing is
 * applied: the outcome of its requests stays unknown.
 */
export async function findStored<R extends Doubtful>(
  options: AttemptOptions,
  client: PoolClient,
  group: readonly R[],
): Promise<ReadonlyMap<R, Decided>> {
  const set = createWorkingSet(options.keys.vault)
  const tx = transactionOn(client)
  const ledgers = await beginAttempt(options, client, tx, set, group.map(needing))
  for (const ledger of ledgers.values()) if (!ledger.closed) await catchUp(ledger, { ...options, tx, set })
  const isClosed = ({ companyId }: R) => ledgers.get(companyId)?.closed !== null
  const found = new Map<R, Decided>(group.filter(isClosed).map((request) => [request, UNKNOWN]))
  const open = group.filter((request) => !found.has(request))
  const stored = await storedIds(options.store, open)
  for (const request of open) {
    const past = request.inDoubt.find((attempt) => isStored(attempt, stored))
    if (!past) continue
    found.set(request, past)
    const rows = set.of(request.companyId)
    const ledger = ledgers.get(request.companyId) as OpenLedger
    const { actor, idempotency } = request
    if (idempotency && 'json' in past.answer) storeAnswer(rows, { actor, idempotency }, past.answer, ledger)
    for (const { table, row } of past.privateRows) rows.put(table, row)
  }
  const moved = [...ledgers.values()].filter(({ revision, expectedRevision }) => revision > expectedRevision)
  await runPipelined(client, () => [...set.flush(tx), ...(moved.length > 0 ? [advanceLedger(tx, moved)] : [])])
  await finishAttempt(tx, [...ledgers.values()])
  assertCommitted(await client.query('commit'))
  reportCommit(options, ledgers.values())
  return found
}

/** Neither done nor refused as far as this process can tell. Only the caller may repeat the request. */
const UNKNOWN: Decided = {
  answer: new Unavailable('the outcome is unknown, and the company takes no writes'),
  eventIds: [],
  fromRevision: 0,
  privateRows: [],
}

/**
 * Event ids of a request's attempts that the streams contain. Each attempt began at most a few events before the end.
 */
async function storedIds(store: EventStore, group: readonly Doubtful[]): Promise<Set<string>> {
  const stored = new Set<string>()
  for (const companyId of new Set(group.map((request) => request.companyId))) {
    const from = Math.min(
      ...group.filter((r) => r.companyId === companyId).flatMap((r) => r.inDoubt.map((past) => past.fromRevision)),
    )
    for await (const event of store.read(streamName(companyId), from)) stored.add(event.id)
  }
  return stored
}

const isStored = (past: Decided, stored: ReadonlySet<string>): boolean =>
  past.eventIds.length > 0 && past.eventIds.every((id) => stored.has(id))
