import { expect } from 'chai'
import type { IdKind } from '#domain/record-values.ts'
import { type RefusalCode, refuse } from '#domain/refusals.ts'
import {
  type Accepted,
  type Command,
  type Decision,
  type Envelope,
  GENESIS_HASH,
  grantAll,
  isRefusal,
  type NewEvent,
  type Origin,
  type OutcomeKind,
  type Permit,
  streamName,
} from '#ledger/command.ts'
import { collectRefs, findRecordView, project } from '#ledger/projection.ts'
import type { AnyRef, Table } from '#ledger/table.ts'
import { createWorkingSet, type Rows, type WorkingSet } from '#ledger/working-set.ts'
import { resetCompanyRows } from '#ledger/write/unit-of-work.ts'
import type { Transaction } from '#postgres/transaction.ts'
import { readModel } from '#projections/index.ts'
import { assertDeclared } from './declared-events.ts'

/** Company of all events of a scenario. */
export const COMPANY_ID = 7

/** First id of each kind for the command of a scenario. */
export const FIRST_NEW_ID = 1001

/** Event n of a scenario is recorded n minutes after this time; a command runs one minute after the last event. */
const START_MS = Date.parse('2026-03-10T15:00:00.000Z')
const MINUTE_MS = 60_000

/** Time of event `n` of a scenario (UTC). */
export const minute = (n: number): string => new Date(START_MS + n * MINUTE_MS).toISOString()

/** Row history columns that event `n` of a scenario leaves in a row that it creates. */
export const lineageOf = (n: number) => ({
  revision: n,
  changed_at: minute(n),
  first_revision: n,
  past_revisions: null,
})

/** A past event, with further fields of its envelope. */
interface Past extends NewEvent {
  readonly origin?: Origin
  readonly actor?: string | null
}

/** An event that another channel caused. */
export const from = (origin: Origin, event: NewEvent): Past => ({ ...event, origin })

/** An event with an actor: `api_key/7`. */
export const by = (actor: string, event: NewEvent): Past => ({ ...event, actor })

/** Rows of the events so far; rows that no event created are known to be absent. */
export interface Scenario {
  /**
   * Runs a command, by default from the channel `api` with key 1, on a ledger that may be ahead of the clock. Its
   * events are added to the scenario; `found` is the result of its lookup, `permit` what the actor
   * may do: everything by default.
   */
  when<I>(
    command: Command<I>,
    input: I,
    origin?: Origin,
    actor?: string,
    aheadUntil?: string | null,
    found?: readonly unknown[],
    permit?: Permit,
  ): Promise<Decided>
  /** Adds an event. */
  happens(event: Past): Promise<void>
  /** All rows that the events added to a table or changed. */
  changed<R>(table: Table<R>): readonly Readonly<R>[]
  /** Rows as a decision reads them, loaded for `refs`. */
  rows(...refs: AnyRef[]): Promise<Rows>
  /** The API's view of the record at a time (UTC), by default that of the last event; null if it does not exist. */
  show(subject: string, now?: string): Promise<unknown>
}

/** Result of a command. */
export interface Decided {
  readonly decision: Decision
  /** Asserts exactly these events, in this order. */
  accepts(outcome: OutcomeKind, ...events: readonly NewEvent[]): void
  /** Asserts this refusal, without events. */
  refuses(code: RefusalCode, details?: Record<string, unknown>): void
}

/** An empty Postgres: the working set finds no rows. */
const nothing: Transaction = {
  query: async () => ({ rows: [], rowCount: 0, command: 'SELECT', oid: 0, fields: [] }),
}

/** Scenario with these events, in an otherwise empty read model. */
export async function given(...events: readonly Past[]): Promise<Scenario> {
  const set = createWorkingSet()
  const rows = set.of(COMPANY_ID)
  const taken = new Map<IdKind, number>()
  let revision = -1
  const load = async (refs: readonly AnyRef[]) => {
    set.queue(COMPANY_ID, refs)
    await Promise.all(set.load(nothing))
  }
  const happen = async (event: Past) => {
    const envelope = envelopeOf(event, ++revision)
    await resetCompanyRows({ model: readModel, set, tx: nothing }, COMPANY_ID, envelope)
    await load(collectRefs(readModel, envelope))
    project(readModel, rows, envelope)
  }
  for (const event of events) await happen(event)
  return {
    async when(command, input, origin = 'api', actor = 'api_key/1', aheadUntil = null, found = [], permit = grantAll) {
      await load([...readModel.base, ...command.needs(input)])
      if (command.needsMore) await load(command.needsMore(rows, input))
      if (command.needsLast) await load(command.needsLast(rows, input))
      const nextId = counting(taken)
      const recordedAt = minute(revision + 1)
      const now = readModel.timeOf(rows, recordedAt)
      const at = {
        companyId: COMPANY_ID,
        now,
        revision: revision + 1,
        recordedAt,
        aheadUntil,
        origin,
        actor,
        permit,
        nextId,
        found,
      }
      const decision = command.decide(rows, input, at)
      if (!isRefusal(decision)) for (const event of decision.events) await happen({ ...event, origin, actor })
      return decided(decision)
    },
    happens: happen,
    changed: (table) => set.changedOf(table),
    async rows(...refs) {
      await load(refs)
      return rows
    },
    show: (subject, now = minute(revision)) => show(set, load, subject, now),
  }
}

async function show(set: WorkingSet, load: (refs: readonly AnyRef[]) => Promise<void>, subject: string, now: string) {
  const { view, id } = findRecordView(readModel, subject)
  const rows = set.of(COMPANY_ID)
  await load(view.refs(id))
  if (view.refsMore) await load(view.refsMore(rows, id))
  return JSON.parse(view.render(rows, id, now) ?? 'null')
}

/** The ledger of these events, which `given` projects. */
export const ledgerOf = (...events: readonly Past[]): Envelope[] => events.map(envelopeOf)

function envelopeOf({ origin = 'api', actor = null, ...event }: Past, revision: number): Envelope {
  assertDeclared(event)
  return {
    ...event,
    id: `00000000-0000-7000-8000-${String(revision).padStart(12, '0')}`,
    stream: streamName(COMPANY_ID),
    revision,
    recorded_at: minute(revision),
    origin,
    actor,
    request_id: null,
    idempotency: null,
    previous_hash: GENESIS_HASH,
    hash: GENESIS_HASH,
  }
}

/** Ids from FIRST_NEW_ID on. */
function counting(taken: Map<IdKind, number>): (kind: IdKind) => number {
  return (kind) => {
    const count = taken.get(kind) ?? 0
    taken.set(kind, count + 1)
    return FIRST_NEW_ID + count
  }
}

function decided(decision: Decision): Decided {
  return {
    decision,
    accepts(outcome, ...events) {
      expect(decision).to.include({ outcome })
      expect(decision).to.have.deep.property('events', events)
      const [first] = events
      if (first) expect(decision).to.include({ subject: first.subject })
    },
    refuses(code, details) {
      expect(decision).to.deep.equal(refuse(code, details))
    },
  }
}

/** Events and private rows of an accepted command. */
export function recorded({ decision }: Decided): Pick<Accepted, 'events' | 'privateRows'> {
  if (isRefusal(decision)) throw new Error(decision.refused)
  return decision
}
