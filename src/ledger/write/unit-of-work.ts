import { type Refusal, refuse } from '#domain/refusal.ts'
import { createSlices } from '#lib/slices.ts'
import {
  type Accepted,
  type Invocation,
  isRefusal,
  type Lookup,
  type OutcomeKind,
  type PrivateRow,
} from '../command.ts'
import { type Envelope, hashOf, type IdempotencyRecord, type Origin, streamOf } from '../envelope.ts'
import { LedgerAhead, type OpenLedger } from '../ledgers.ts'
import { ensure, erasuresOf, project, type ReadModel, refsOf, render } from '../projection.ts'
import { type Reacting, reactTo } from '../reactor.ts'
import type { AnyRef } from '../table.ts'
import type { Rows } from '../working-set.ts'
import { answerRefs, findReplay, type Idempotency, storeAnswer } from './idempotency.ts'
import type { IdLease } from './ids.ts'

/** What has still to hold when a request is decided, as that the key it came with was not revoked while it waited. */
export interface Guard {
  readonly needs: readonly AnyRef[]
  /** `now` is the ledger's: UTC. */
  holds(rows: Rows, now: string): boolean
}

/** A request as the writer takes it: one command, or the many of a batch or upload, of one company. */
export interface Request {
  readonly companyId: number
  readonly invocations: readonly Invocation[]
  readonly origin: Origin
  readonly actor: string | null
  readonly requestId: string | null
  readonly guard?: Guard | undefined
  readonly idempotency?: Idempotency | undefined
  readonly reply: Reply
}

/** How results become an answer; the edge's matter, called in the transaction because the answer may be stored there. */
export interface Reply {
  status(outcome: OutcomeKind): number
  /** Answer of a request of many commands. Without it the request has just one. */
  compose?(results: readonly CommandResult[]): { status: number; body: string }
  /** Where `compose` does not look at the records, their JSON text is not made. */
  readonly withoutBodies?: boolean
}

export type CommandResult = (Pick<Accepted, 'outcome' | 'subject' | 'remarks'> & { readonly body: string }) | Refusal

export interface Answer {
  readonly status: number
  /** JSON text of the record, or what `compose` made; '' when there is nothing to show. */
  readonly body: string
  /** True when it was stored by an earlier request with the same Idempotency-Key. */
  readonly replayed: boolean
  /** Revision of the company's ledger when the answer was decided. */
  readonly revision: number
}

export interface Deciding extends Reacting {
  readonly ids: IdLease
  /** Rows of the company that a statement finds in the tables. */
  find(companyId: number, lookup: Lookup): Promise<readonly unknown[]>
}

/** The result of one request and the ids of its events, by which it is found again after an unknown outcome. */
export interface Decided {
  readonly answer: Answer | Refusal | LedgerAhead
  readonly eventIds: readonly string[]
  /** Revision of the first of them, if there are any. */
  readonly fromRevision: number
  /** Rows that no event carries, to be written again when an unknown outcome is resolved. */
  readonly privateRows: readonly PrivateRow[]
}

/** Rows to load before `decideRequest`, as far as they are known from the input. */
export function needsOf({ base }: ReadModel, request: Request): AnyRef[] {
  return [
    ...base,
    ...answerRefs(request.idempotency),
    ...(request.guard?.needs ?? []),
    ...request.invocations.flatMap(({ command, input }) => command.needs(input)),
  ]
}

/** Decides and projects the commands of a request in order, on the working set only. A refused command changes nothing. */
export async function decideRequest(request: Request, ledger: OpenLedger, deciding: Deciding): Promise<Decided> {
  const rows = deciding.set.of(request.companyId)
  const fromRevision = ledger.revision + 1
  if (request.guard?.holds(rows, ledger.lastRecordedAt) === false)
    return { answer: refuse('invalid_token'), eventIds: [], fromRevision, privateRows: [] }
  const replay = findReplay(rows, request.idempotency, ledger)
  if (replay) return { answer: replay, eventIds: [], fromRevision, privateRows: [] }
  const { aheadUntil } = ledger
  if (aheadUntil !== null && !correctsClock(request))
    return { answer: new LedgerAhead(request.companyId, aheadUntil), eventIds: [], fromRevision, privateRows: [] }
  const results: CommandResult[] = []
  const eventIds: string[] = []
  const privateRows: PrivateRow[] = []
  const slices = createSlices(request.companyId)
  for (const [position, invocation] of request.invocations.entries()) {
    if (position > 0) await slices()
    const ran = await runCommand(request, invocation, ledger, deciding)
    results.push(ran.result)
    for (const event of ran.events) eventIds.push(event.id)
    for (const row of ran.privateRows) privateRows.push(row)
  }
  const answer = answerOf(request, results, ledger.revision)
  if (request.idempotency && !isRefusal(answer)) storeAnswer(rows, request.idempotency, answer, ledger)
  return { answer, eventIds, fromRevision, privateRows }
}

const correctsClock = ({ invocations }: Request): boolean =>
  invocations.length === 1 && invocations[0]?.command.correctsClock === true

function answerOf(request: Request, results: readonly CommandResult[], revision: number): Answer | Refusal {
  if (request.reply.compose) return { ...request.reply.compose(results), replayed: false, revision }
  const [result] = results
  if (!result || results.length !== 1) throw new Error('a request without compose has one command')
  if (isRefusal(result)) return result
  return { status: request.reply.status(result.outcome), body: result.body, replayed: false, revision }
}

async function runCommand(
  request: Request,
  { command, input }: Invocation,
  ledger: OpenLedger,
  deciding: Deciding,
): Promise<{ result: CommandResult; events: readonly Envelope[]; privateRows: readonly PrivateRow[] }> {
  const rows = deciding.set.of(request.companyId)
  if (command.needsMore) await ensure(deciding, request.companyId, command.needsMore(rows, input))
  const now = ledger.aheadUntil === null ? ledger.lastRecordedAt : ledger.now
  const lookup = command.lookup?.(rows, input, now)
  if (lookup && request.invocations.length > 1) throw new Error('a command that looks rows up is a request by itself')
  const decision = command.decide(rows, input, {
    companyId: request.companyId,
    now,
    found: lookup ? await deciding.find(request.companyId, lookup) : [],
    aheadUntil: ledger.aheadUntil,
    origin: request.origin,
    actor: request.actor,
    nextId: (kind) => deciding.ids.next(kind),
  })
  if (isRefusal(decision)) return { result: decision, events: [], privateRows: [] }
  if (ledger.aheadUntil !== null) {
    // What was accepted is the correction: the one event that may be earlier than the one before it.
    ledger.lastRecordedAt = ledger.now
    ledger.aheadUntil = null
  }
  const events = seal(request, decision, ledger, deciding.newId)
  for (const [position, event] of events.entries()) {
    await ensure(deciding, request.companyId, refsOf(deciding.model, event))
    project(deciding.model, rows, event)
    ledger.finishing.push(...erasuresOf(deciding.model, request.companyId, event))
    await reactTo(event, events[position + 1] ?? null, ledger, deciding)
  }
  for (const { table, row } of decision.privateRows) rows.put(table, row)
  if (events.length > 0) ledger.commands.push(events)
  const { outcome, subject, remarks, privateRows } = decision
  const at = { companyId: request.companyId, now: ledger.lastRecordedAt }
  const isShown = outcome !== 'deleted' && !request.reply.withoutBodies
  const body = isShown ? await render(subject, at, deciding) : ''
  return { result: { outcome, subject, remarks, body }, events, privateRows }
}

function seal(request: Request, decision: Accepted, ledger: OpenLedger, newEventId: () => string): Envelope[] {
  const single = !request.reply.compose
  const idempotency: IdempotencyRecord | null =
    single && request.idempotency
      ? {
          key: request.idempotency.key,
          request_hash: request.idempotency.requestHash,
          status: request.reply.status(decision.outcome),
        }
      : null
  return decision.events.map((event, position) => {
    const unhashed = {
      id: newEventId(),
      type: event.type,
      version: event.version,
      stream: streamOf(request.companyId),
      revision: ledger.revision + 1,
      recorded_at: ledger.lastRecordedAt,
      subject: event.subject,
      origin: request.origin,
      actor: request.actor,
      request_id: request.requestId,
      idempotency: position === 0 ? idempotency : null,
      previous_hash: ledger.hash,
      data: event.data,
    }
    const { data, ...head } = unhashed
    const envelope: Envelope = { ...head, hash: hashOf(unhashed), data }
    ledger.revision = envelope.revision
    ledger.hash = envelope.hash
    return envelope
  })
}
