import type { Pool, PoolClient } from 'pg'
import { Unavailable } from '#lib/errors.ts'
import { assertCommitted, inTransaction, runPipelined, type Transaction, transactionOn } from '#postgres/transaction.ts'
import { type Envelope, streamName } from '../command.ts'
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
import { type EventReader, type EventStore, readNewest } from '../port.ts'
import {
  collectErasures,
  collectRefs,
  ensure,
  project,
  type ReactionContext,
  type Reactor,
  reactTo,
  render,
} from '../projection.ts'
import { createWorkingSet, type WorkingSet } from '../working-set.ts'
import { type AttemptOptions, beginAttempt, finishAttempt, reportCommit } from './attempt.ts'
import { storeAnswer, toRecordedOutcome } from './idempotency.ts'
import { type Decided, needing, type Request, resetCompanyRows } from './unit-of-work.ts'

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
