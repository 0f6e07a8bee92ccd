import { z } from 'zod'
import { addYears, dateInZone, startOfDay } from '#domain/instant.ts'
import { PERSON_PARTS, type PersonKind } from '#domain/personal-data.ts'
import { invalid, type Refusal, refuse } from '#domain/refusal.ts'
import { boundedText } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { FORGETTING_GROUNDS, type ForgettingGround } from '#events/persons.ts'
import { accept, command, type Decision, type DecisionContext } from '#ledger/command.ts'
import type { NewEvent } from '#ledger/envelope.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { ownCompany, timezoneOf } from '#projections/companies.ts'
import { erasureRef } from '#projections/erasures.ts'
import { orderById } from '#projections/orders.ts'
import { customerById, supplierById } from '#projections/people.ts'
import { userById } from '#projections/users.ts'
import { isLastOwner } from '../users.ts'
import { type Holding, holdingStatement } from './retention.ts'

/** Grounds that a caller may give; `restored_backup` is reserved for the service. */
const ASKED = FORGETTING_GROUNDS.filter((ground) => ground !== 'restored_backup')

/**
 * Body of POST /customers/{id}/forget. With `queue`, data that records still need is erased later, and the rest at
 * once.
 */
export const ForgetInput = z.strictObject({
  ground: z.enum(ASKED),
  /** A reference to the request. It is stored, so it must not name the person. */
  reason: boundedText(200).nullish(),
  queue: z.boolean().nullish(),
})

/** Person, and the years after its authorization for which a fiscal document needs the person. */
interface PersonRetention {
  readonly kind: PersonKind
  readonly id: number
  readonly retention_years: number
}

export interface ForgetPerson extends PersonRetention {
  readonly ground: ForgettingGround
  readonly reason?: string | null | undefined
  readonly queue?: boolean | null | undefined
}

/** Common fields of all records about a person. */
interface PersonRecord {
  readonly deleted_at?: string | null
  readonly doc: { readonly forgotten_at: string | null }
}

const REFS: Readonly<Record<PersonKind, (id: number) => AnyRef>> = {
  customer: customerById,
  supplier: supplierById,
  user: userById,
  order: orderById,
}

const recordOf = (rows: Rows, { kind, id }: PersonRetention): Readonly<PersonRecord> | null => rows.get(REFS[kind](id))

const needs = ({ kind, id }: PersonRetention) => [ownCompany, REFS[kind](id), erasureRef(`${kind}/${id}`)]

/** Finds what still needs the person: documents authorized within the retention period, and open records. */
const lookup = (rows: Rows, { kind, id, retention_years }: PersonRetention, now: string) => {
  const zone = timezoneOf(rows)
  return {
    ...holdingStatement(kind),
    values: [id, startOfDay(addYears(dateInZone(now, zone), -retention_years), zone)],
  }
}

/**
 * Erases a person's data for good (PRIV-1): encryption keys are deleted, amounts and identifiers stay. Refused with
 * `retention_required` while records need the identity, unless it is queued: then the rest is erased at once (PRIV-4).
 * Repeating it changes nothing.
 */
export const forgetPerson = command<ForgetPerson>({
  permission: 'erase_people',
  needs,
  lookup,
  decide(rows, input, context) {
    const { kind, id, reason = null } = input
    const record = recordOf(rows, input)
    if (!record) return refuse('not_found')
    const subject = `${kind}/${id}`
    if (record.doc.forgotten_at !== null) return accept(record.deleted_at ? 'deleted' : 'unchanged', subject)
    const isRestored = input.ground === 'restored_backup'
    const refusal = kind === 'user' && !isRestored ? userRefusal(rows, id, context) : null
    if (refusal) return refusal
    const why = { ...input, reason }
    const holding = holdingOf(rows, input, context)
    if (holding.count === 0 || (isRestored && !input.queue)) return forget(record, why, holding, rows)
    if (!input.queue) return refuse('retention_required', detailsOf(holding))
    // A deleted record is not shown, so its status is not `queued`.
    const waiting = record.deleted_at ? 'deleted' : 'queued'
    if (rows.get(erasureRef(subject))?.due_on) return accept(waiting, subject)
    const { until, finished_orders, today } = holding
    return accept(waiting, subject, [
      event('PersonForgotten', {
        ...toForgettingReason(why),
        parts: ['contact'],
        subjects: [subject, ...finished_orders.map((order) => `order/${order}`)],
      }),
      event('PersonForgettingQueued', { ...toForgettingReason(why), due_on: until ?? today }),
    ])
  },
})

/**
 * Runs a queued erasure from its due day on. The service checks again what needs the person: a dated need postpones it,
 * an undated one makes it wait (PRIV-5).
 */
export const forgetDue = command<PersonRetention>({
  needs,
  lookup,
  decide(rows, input, context) {
    const { kind, id } = input
    const subject = `${kind}/${id}`
    const record = recordOf(rows, input)
    const queued = rows.get(erasureRef(subject))
    if (!record) return refuse('not_found')
    const { today, until, ...holding } = holdingOf(rows, input, context)
    if (!queued?.due_on || queued.due_on > today) return accept('unchanged', subject)
    const why = { kind, id, ground: queued.ground, reason: queued.reason }
    if (holding.count === 0) return forget(record, why, holding, rows)
    if (until === null || until <= today) return accept('unchanged', subject)
    return accept('updated', subject, [event('PersonForgettingQueued', { ...why, due_on: until })])
  },
})

type ForgettingReason = Omit<DataOf<'PersonForgettingQueued'>, 'due_on'>

const toForgettingReason = ({ kind, id, ground, reason }: ForgettingReason): ForgettingReason => ({
  kind,
  id,
  ground,
  reason,
})

function forget(
  record: PersonRecord,
  why: ForgettingReason,
  { finished_orders }: Pick<Holding, 'finished_orders'>,
  rows: Rows,
): Decision {
  const subject = `${why.kind}/${why.id}`
  const subjects = [subject, ...finished_orders.map((order) => `order/${order}`)]
  const forgotten = event('PersonForgotten', { ...toForgettingReason(why), parts: [...PERSON_PARTS], subjects })
  const before = why.kind === 'user' ? endAccess(rows, why.id) : []
  return accept(record.deleted_at ? 'deleted' : 'updated', subject, [...before, forgotten])
}

/** An erased user cannot log in. */
function endAccess(rows: Rows, id: number): NewEvent[] {
  const status = rows.get(userById(id))?.doc.status
  if (status === 'active') return [event('UserDeactivated', { id })]
  return status === 'invited' ? [event('UserInvitationCancelled', { id })] : []
}

/** Same rules as for a deactivation: not oneself, and not the last owner (PANEL-8). */
function userRefusal(rows: Rows, id: number, { actor }: DecisionContext): Refusal | null {
  if (actor === `user/${id}`) return invalid('id', 'não pode ser o próprio usuário')
  return isLastOwner(rows, id) ? refuse('last_owner') : null
}

interface HoldingDetails extends Omit<Holding, 'needs'> {
  readonly needed_by: readonly { kind: string; id: number; until: string | null }[]
  /** First day on which no document needs the person; null without dated needs. */
  readonly until: string | null
  /** Current day in the company's time zone. */
  readonly today: string
}

function holdingOf(rows: Rows, { retention_years }: PersonRetention, { found, now }: DecisionContext): HoldingDetails {
  const [{ needs, count, finished_orders }] = found as [Holding]
  const zone = timezoneOf(rows)
  const dated = needs.map(({ kind, id, since }) => ({
    kind,
    id,
    until: since && addYears(dateInZone(new Date(since).toISOString(), zone), retention_years, 1),
  }))
  const until = dated
    .map((need) => need.until)
    .reduce((last, day) => (day !== null && day > (last ?? '') ? day : last), null)
  return { count, finished_orders, needed_by: dated, until, today: dateInZone(now, zone) }
}

const detailsOf = ({ until, needed_by, count }: HoldingDetails) => ({ until, needed_by, count })
