import { addMilliseconds } from '#domain/instant.ts'
import { PERSON_PARTS, type PersonPart } from '#domain/person-values.ts'
import type { IdKind } from '#domain/record-values.ts'
import { type Refusal, refuse } from '#domain/refusals.ts'
import type { Permission } from '#domain/rights.ts'
import type { Unavailable } from '#lib/errors.ts'
import { createTimeSlicer } from '#lib/fair-sharing.ts'
import type { Transaction } from '#postgres/transaction.ts'
import {
  type Accepted,
  type Envelope,
  grantAll,
  hashEnvelope,
  type IdempotencyRecord,
  type Invocation,
  isRefusal,
  type Lookup,
  type NewEvent,
  type Origin,
  type OutcomeKind,
  type Permit,
  type PrivateRow,
  streamName,
} from '../command.ts'
import { type Ids, idsAfter, LedgerAhead, type OpenLedger } from '../ledgers.ts'
import {
  collectErasures,
  collectRefs,
  ensure,
  project,
  type ReactionContext,
  type ReadModel,
  reactTo,
  render,
} from '../projection.ts'
import { type Keychain, listKeyOwners, personKeyRefs, sealData } from '../sealed-fields.ts'
import type { AnyRef } from '../table.ts'
import { type Changes, type Rows, rowPasts, type WorkingSet } from '../working-set.ts'
import {
  type Answer,
  type AnswerText,
  answerRefs,
  type CommandResult,
  createAnswer,
  findReplay,
  type Idempotency,
  storeAnswer,
  toAnswerStatus,
} from './idempotency.ts'

/** Rows that one statement deletes. Bounds its duration, so that a large company does not run into a time-out. */
const SLICE_ROWS = 10_000

interface Emptying {
  readonly model: ReadModel
  readonly set: WorkingSet
  readonly tx: Transaction
}

/**
 * Runs before an event that empties the company is applied. Deletes the company's rows and their history from the
 * tables that the event names, both stored and in memory. Returns at once for any other event.
 */
export async function resetCompanyRows(
  { model, set, tx }: Emptying,
  companyId: number,
  event: Envelope,
): Promise<void> {
  const tables = model.emptiedBy(event)
  if (tables.length === 0) return
  set.forget(companyId, tables)
  for (const { name } of tables) await deleteAll(tx, name, 'company_id = $1', [companyId])
  const names = tables.map(({ name }) => name)
  await deleteAll(tx, rowPasts.name, 'company_id = $1 and table_name = any($2::text[])', [companyId, names])
}

async function deleteAll(tx: Transaction, table: string, where: string, values: readonly unknown[]): Promise<void> {
  const text = `delete from ${table} where ctid = any(array(select ctid from ${table} where ${where} limit ${SLICE_ROWS}))`
  for (;;) {
    const { rowCount } = await tx.query({ name: `empty_${table}`, text }, values)
    if ((rowCount ?? 0) < SLICE_ROWS) return
  }
}

/**
 * A condition that must still hold when a request is decided, for example that its API key was not revoked in the
 * meantime.
 */
export interface Guard {
  readonly needs: readonly AnyRef[]
  /** `now` is the clock of Postgres (UTC), even if the ledger is ahead of it. */
  holds(rows: Rows, now: string): boolean
  /** Permissions of the user who acts; without it all are granted. */
  permitsOf?(rows: Rows, now: string): Permit
  /** Those that the whole request needs, whatever its commands need. */
  readonly permissions?: readonly Permission[]
  /** Refuses events beyond the limits of the one who acts; `before` has those of the same request. */
  refuseEvents?(rows: Rows, events: readonly NewEvent[], before: readonly NewEvent[], now: string): Refusal | null
}

/** Why a request may not be decided, at the moment of its decision; null if it may. */
export function guardRefusal(guard: Guard | undefined, rows: Rows, now: string): Refusal | null {
  if (!guard) return null
  if (!guard.holds(rows, now)) return refuse('invalid_token')
  const permit = guard.permitsOf?.(rows, now) ?? grantAll
  return guard.permissions?.map((permission) => permit(permission)).find(isRefusal) ?? null
}

/** Condition on the present state of a record, for example that it has the ETag which its writer has read. */
export interface Precondition {
  readonly needs: readonly AnyRef[]
  /** Subject of the record, as `customer/9`; null if there is none. */
  subjectOf(rows: Rows): string | null
  /** `record` is its JSON text; '' if it does not exist. */
  holds(record: string): boolean
}

/** Input of the writer: one command, or the commands of a batch or upload, of one company. */
export interface Request {
  readonly companyId: number
  readonly invocations: readonly Invocation[]
  /** Equivalent number of usual commands, if the request is more work than its commands suggest (writer.ts). */
  readonly weight?: number | undefined
  readonly origin: Origin
  readonly actor: string | null
  readonly requestId: string | null
  readonly guard?: Guard | undefined
  /** The tool of an agent that made the request, as `mcp:createSale`; recorded beside the actor. */
  readonly via?: string | undefined
  /** Decides on the present rows and records nothing: the answer says what would be recorded (idempotency.ts). */
  readonly isDryRun?: boolean | undefined
  /** W3C trace context of the request, passed on to the webhooks that it causes. */
  readonly traceparent?: string | undefined
  readonly precondition?: Precondition | undefined
  readonly idempotency?: Idempotency | undefined
  /** Outcome of the whole request, if it is not the outcome of its command. */
  readonly outcome?: OutcomeKind | undefined
  /**
   * Makes the answer of a request of many commands; without it the request has exactly one. Called in the transaction,
   * because the answer may be stored there.
   */
  readonly compose?: ComposeAnswer | undefined
  /**
   * Reads a stored partial answer under the same Idempotency-Key: a result for each invocation, null where the command
   * was refused and runs again. Without it a partial answer is repeated as it is.
   */
  readonly resume?: ((json: string) => readonly (CommandResult | null)[]) | undefined
  /** True if the records are not used; their JSON text is then not rendered. */
  readonly withoutRecords?: boolean | undefined
}

export type ComposeAnswer = (results: readonly CommandResult[]) => AnswerText

export interface Deciding extends ReactionContext {
  /** Runs a command's lookup on the company's rows in the tables. */
  find(companyId: number, lookup: Lookup): Promise<readonly unknown[]>
  readonly keychain: Keychain
  /**
   * False if person keys are committed before the events (EventStoreDB). A failed append then leaves unused keys
   * behind.
   */
  readonly keysCommitTogether: boolean
}

/** The result of one request, and the ids of its events, which identify it after an unknown outcome. */
export interface Decided {
  readonly answer: Answer | Refusal | Unavailable
  readonly eventIds: readonly string[]
  /** Revision of the first of them, if there are any. */
  readonly fromRevision: number
  /** Rows that no event contains; they are written again when an unknown outcome is resolved. */
  readonly privateRows: readonly PrivateRow[]
}

/** A request with the rows that its commands need. Computed once: for hundreds of commands this is expensive. */
export interface Needing {
  readonly request: Request
  readonly needs: readonly AnyRef[]
}

export const needing = (request: Request): Needing => ({
  request,
  needs: request.invocations.flatMap(({ command, input }) => command.needs(input)),
})

/** Rows to load before `decideRequest`, as far as the input determines them. */
export function collectNeeds(model: ReadModel, { request, needs }: Needing): AnyRef[] {
  return [
    ...model.base,
    ...answerRefs(request),
    ...(request.guard?.needs ?? []),
    ...(request.precondition?.needs ?? []),
    ...needs,
    ...keyRefsOf(model, needs),
  ]
}

/** Keys of persons requested by id: decisions about them may have to seal fields. */
function keyRefsOf({ persons }: ReadModel, needs: readonly AnyRef[]): AnyRef[] {
  const subjects: string[] = []
  for (const { table, by, values } of needs) {
    const kind = persons.get(table)
    if (kind !== undefined && by === 'pk') subjects.push(`${kind}/${values[0]}`)
  }
  return personKeyRefs(subjects, PERSON_PARTS)
}

/** Keys of persons that were requested by another key and exist. */
export function keyRefsOfFound({ persons }: ReadModel, rows: Rows, { needs }: Needing): AnyRef[] {
  const subjects: string[] = []
  for (const ref of needs) {
    const kind = ref.by === 'pk' ? undefined : persons.get(ref.table)
    const found = kind === undefined ? null : (rows.get(ref) as { readonly id: number } | null)
    if (found) subjects.push(`${kind}/${found.id}`)
  }
  return personKeyRefs(subjects, PERSON_PARTS)
}

/**
 * Decides and projects the commands of a request in order, on the working set only. A refused command changes nothing.
 */
export async function decideRequest(request: Request, ledger: OpenLedger, deciding: Deciding): Promise<Decided> {
  const rows = deciding.set.of(request.companyId)
  const fromRevision = ledger.revision + 1
  if (ledger.closed) return { answer: ledger.closed, eventIds: [], fromRevision, privateRows: [] }
  const refused = guardRefusal(request.guard, rows, ledger.now)
  if (refused) return { answer: refused, eventIds: [], fromRevision, privateRows: [] }
  const replay = findReplay(rows, request, ledger)
  const known = replay && !isRefusal(replay) && replay.outcome === 'partial' ? request.resume?.(replay.json) : undefined
  if (replay && !known) return { answer: replay, eventIds: [], fromRevision, privateRows: [] }
  const { aheadUntil } = ledger
  if (aheadUntil !== null && !correctsClock(request))
    return { answer: new LedgerAhead(request.companyId, aheadUntil), eventIds: [], fromRevision, privateRows: [] }
  if (request.precondition && !(await isMet(request.precondition, ledger, deciding)))
    return { answer: refuse('precondition_failed'), eventIds: [], fromRevision, privateRows: [] }
  const results: CommandResult[] = []
  const eventIds: string[] = []
  const events: Envelope[] = []
  const privateRows: PrivateRow[] = []
  const slices = createTimeSlicer(request.companyId)
  for (const [position, invocation] of request.invocations.entries()) {
    if (position > 0) await slices()
    const before = known?.[position]
    if (before) {
      results.push(before)
      continue
    }
    const ran = await runCommand(request, invocation, ledger, { ...deciding, before: events })
    results.push(ran.result)
    for (const event of ran.events) eventIds.push(event.id)
    events.push(...ran.events)
    for (const row of ran.privateRows) privateRows.push(row)
  }
  // A resumed request of which all parts were refused again had no effect.
  const replayed = known?.every((before, position) => before || isRefusal(results[position] ?? null)) ?? false
  const answer = answerOf(request, results, { revision: ledger.revision, replayed })
  if (request.isDryRun && !isRefusal(answer)) {
    const told = { ...answer, revision: ledger.expectedRevision, dryRun: { events, requests: [] } }
    return { answer: told, eventIds, fromRevision, privateRows }
  }
  const { actor, idempotency } = request
  if (idempotency && !isRefusal(answer) && answer.outcome !== 'failed')
    storeAnswer(rows, { actor, idempotency }, answer, ledger)
  return { answer, eventIds, fromRevision, privateRows }
}

/** Under the lock of the ledger: of two writers that have read the same state, one is refused. */
async function isMet(precondition: Precondition, ledger: OpenLedger, deciding: Deciding): Promise<boolean> {
  const { companyId, lastRecordedAt: now } = ledger
  const subject = precondition.subjectOf(deciding.set.of(companyId))
  return precondition.holds(subject === null ? '' : await render(subject, { companyId, now }, deciding))
}

const correctsClock = ({ invocations }: Request): boolean =>
  invocations.length === 1 && invocations[0]?.command.correctsClock === true

function answerOf(
  request: Request,
  results: readonly CommandResult[],
  at: Pick<Answer, 'revision' | 'replayed'>,
): Answer | Refusal {
  if (request.compose) return createAnswer(request.compose(results), { ...at, results })
  const [result] = results
  if (!result || results.length !== 1) throw new Error('a request without compose has one command')
  if (isRefusal(result)) return result
  const { json, remarks } = result
  const meta = remarks === undefined ? null : JSON.stringify(remarks)
  return createAnswer({ outcome: request.outcome ?? result.outcome, json, meta }, { ...at, results })
}

async function runCommand(
  request: Request,
  { command, input }: Invocation,
  ledger: OpenLedger,
  deciding: Deciding & { readonly before: readonly Envelope[] },
): Promise<{ result: CommandResult; events: readonly Envelope[]; privateRows: readonly PrivateRow[] }> {
  const rows = deciding.set.of(request.companyId)
  if (command.needsMore) await ensure(deciding, request.companyId, command.needsMore(rows, input))
  if (command.needsLast) await ensure(deciding, request.companyId, command.needsLast(rows, input))
  if (command.isAlone) ledger.lastRecordedAt = addMilliseconds(ledger.lastRecordedAt, 1)
  const recordedAt = ledger.aheadUntil === null ? ledger.lastRecordedAt : ledger.now
  const now = deciding.model.timeOf(rows, recordedAt)
  const permit = request.guard?.permitsOf?.(rows, now) ?? grantAll
  const permitted = command.permission === undefined ? {} : permit(command.permission)
  if (isRefusal(permitted)) return { result: permitted, events: [], privateRows: [] }
  const lookup = command.lookup?.(rows, input, now)
  if ((lookup || command.isAlone) && request.invocations.length > 1)
    throw new Error('a command that looks rows up, or is alone, is a request by itself')
  const newSubjects = new Set<string>()
  const ids: Partial<Record<IdKind, number>> = { ...ledger.ids }
  const decision = command.decide(rows, input, {
    companyId: request.companyId,
    now,
    revision: ledger.revision + 1,
    recordedAt,
    found: lookup ? await deciding.find(request.companyId, lookup) : [],
    aheadUntil: ledger.aheadUntil,
    origin: request.origin,
    actor: request.actor,
    permit,
    nextId(kind) {
      const id = (ids[kind] ?? 0) + 1
      ids[kind] = id
      newSubjects.add(`${kind}/${id}`)
      return id
    },
  })
  const refused = isRefusal(decision)
    ? decision
    : request.guard?.refuseEvents?.(rows, decision.events, deciding.before, now)
  if (refused || isRefusal(decision)) return { result: refused as Refusal, events: [], privateRows: [] }
  ledger.ids = decision.events.reduce<Ids>(idsAfter, ids)
  if (ledger.aheadUntil !== null) {
    // The accepted command is the clock correction: the only event that may be earlier than its predecessor.
    ledger.lastRecordedAt = ledger.now
    ledger.aheadUntil = null
  }
  await ensureKeys(deciding, request.companyId, decision.events, newSubjects)
  const sealed = seal(request, decision, ledger, deciding)
  const events = sealed.map(({ opened }) => opened)
  for (const [position, event] of events.entries()) {
    await resetCompanyRows(deciding, request.companyId, event)
    await ensure(deciding, request.companyId, collectRefs(deciding.model, event))
    project(deciding.model, rows, event)
    ledger.finishing.push(...collectErasures(deciding.model, request.companyId, event))
    await reactTo(event, events[position + 1] ?? null, ledger, { ...deciding, traceparent: request.traceparent })
  }
  for (const { table, row } of decision.privateRows) rows.put(table, row)
  if (sealed.length > 0) ledger.commands.push(sealed.map(({ stored }) => stored))
  const { outcome, subject, remarks, privateRows } = decision
  const at = { companyId: request.companyId, now: ledger.lastRecordedAt }
  const isShown = outcome !== 'deleted' && !request.withoutRecords
  const json = isShown ? await render(subject, at, deciding) : ''
  return { result: { outcome, subject, remarks, json }, events, privateRows }
}

/** Creates or loads the keys of all persons in the events. */
async function ensureKeys(
  deciding: Deciding,
  companyId: number,
  events: readonly NewEvent[],
  newSubjects: ReadonlySet<string>,
): Promise<void> {
  const { model, set, keysCommitTogether } = deciding
  const refs: AnyRef[] = []
  for (const event of events) {
    for (const [subject, part] of listKeyOwners(event, model.personalFields(event))) {
      const ref = personKeyRefs([subject], [part])
      if (keysCommitTogether && newSubjects.has(subject)) set.markAbsent(companyId, ref)
      else refs.push(...ref)
    }
  }
  await ensure(deciding, companyId, refs)
}

/** An event in stored form and in clear. */
interface SealedEvent {
  readonly stored: Envelope
  readonly opened: Envelope
}

function seal(
  request: Request,
  decision: Accepted,
  ledger: OpenLedger,
  { model, set, keychain, newId }: Deciding,
): SealedEvent[] {
  const single = !request.compose
  const idempotency: IdempotencyRecord | null =
    single && request.idempotency
      ? {
          key: request.idempotency.key,
          request_hash: request.idempotency.requestHash,
          status: toAnswerStatus(request.outcome ?? decision.outcome),
        }
      : null
  const { companyId } = request
  const rows: Changes = set.of(companyId)
  const keyOf = (subject: string, part: PersonPart) =>
    keychain.keyOf(rows, { company_id: companyId, subject, part }, ledger.now)
  return decision.events.map((event, position) => {
    const id = newId()
    const fields = model.personalFields(event)
    const data = fields.length === 0 ? null : sealData(event, id, fields, keyOf)
    const unhashed = {
      id,
      type: event.type,
      version: event.version,
      stream: streamName(companyId),
      revision: ledger.revision + 1,
      recorded_at: ledger.lastRecordedAt,
      subject: event.subject,
      origin: request.origin,
      actor: request.actor,
      ...(request.via !== undefined && { via: request.via }),
      request_id: request.requestId,
      idempotency: position === 0 ? idempotency : null,
      previous_hash: ledger.hash,
      data: data?.stored ?? event.data,
    }
    const { data: _, ...head } = unhashed
    const stored: Envelope = { ...head, hash: hashEnvelope(unhashed), data: unhashed.data }
    ledger.revision = stored.revision
    ledger.hash = stored.hash
    return { stored, opened: data ? { ...stored, data: data.opened } : stored }
  })
}
