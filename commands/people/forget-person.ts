import * as z from 'zod'
import { dateInZone } from '#domain/instant.ts'
import { PERSON_PARTS, type PersonKind } from '#domain/personal-data.ts'
import { invalid, type Refusal, refuse } from '#domain/refusal.ts'
import { boundedText } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { FORGETTING_GROUNDS, type ForgettingGround } from '#events/persons.ts'
import { accept, command, type Decision, type DecisionContext } from '#ledger/command.ts'
import type { NewEvent } from '#ledger/envelope.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { plainSql } from '#postgres/table-marks.ts'
import { ownCompany, timezoneOf } from '#projections/companies.ts'
import { erasureRef } from '#projections/erasures.ts'
import { orderById } from '#projections/orders.ts'
import { customerById, supplierById } from '#projections/people.ts'
import { userById } from '#projections/users.ts'
import { isLastOwner } from '../users.ts'
import { documentsSince, type Holding, type HoldingPeriod, holdingPeriod, holdingStatement } from './retention.ts'

/** Grounds that a caller may give; `restored_backup` is reserved for the service. */
const ASKED = FORGETTING_GROUNDS.filter((ground) => ground !== 'restored_backup')

/**
 * Body of POST /customers/{id}/forget. With `queue`, data that records still need is erased later, and the rest at
 * once; contacts stay while accounts or orders are open.
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
  const { name, text } = holdingStatement(kind)
  return { name, text: plainSql(text), values: [id, documentsSince(retention_years, dateInZone(now, zone), zone)] }
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
    const due_on = holding.until ?? holding.today
    // A restored backup brought back contacts whose keys were destroyed before.
    const events =
      holding.hasOpen && !isRestored
        ? [queuedUntil(why, due_on, true)]
        : [contactForgotten(why, holding), queuedUntil(why, due_on)]
    return accept(waiting, subject, events)
  },
})

/**
 * Runs a queued erasure from its due day on, and erases contacts that were kept for open accounts or orders once none is
 * open. The service checks again what needs the person: a dated need postpones it, an undated one makes it wait (PRIV-5).
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
    const holding = holdingOf(rows, input, context)
    if (!queued?.due_on) return accept('unchanged', subject)
    const { until, today } = holding
    const { due_on, keeps_contact, ground, reason } = queued
    const freesContact = keeps_contact && !holding.hasOpen
    if (due_on > today && !freesContact) return accept('unchanged', subject)
    const why = { kind, id, ground, reason }
    if (holding.count === 0) return forget(record, why, holding, rows)
    if (until === null) return accept('unchanged', subject)
    if (freesContact) return accept('updated', subject, [contactForgotten(why, holding), queuedUntil(why, until)])
    if (until <= today) return accept('unchanged', subject)
    return accept('updated', subject, [queuedUntil(why, until, keeps_contact)])
  },
})

type ForgettingReason = Omit<DataOf<'PersonForgettingQueued'>, 'due_on'>

const toForgettingReason = ({ kind, id, ground, reason }: ForgettingReason): ForgettingReason => ({
  kind,
  id,
  ground,
  reason,
})

const queuedUntil = (why: ForgettingReason, due_on: string, keepsContact = false): NewEvent =>
  event('PersonForgettingQueued', {
    ...toForgettingReason(why),
    due_on,
    ...(keepsContact && { keeps_contact: true }),
  })

const subjectsOf = (
  { kind, id }: ForgettingReason,
  { finished_orders }: Pick<Holding, 'finished_orders'>,
): string[] => [`${kind}/${id}`, ...finished_orders.map((order) => `order/${order}`)]

const contactForgotten = (why: ForgettingReason, holding: Pick<Holding, 'finished_orders'>): NewEvent =>
  event('PersonForgotten', { ...toForgettingReason(why), parts: ['contact'], subjects: subjectsOf(why, holding) })

function forget(
  record: PersonRecord,
  why: ForgettingReason,
  holding: Pick<Holding, 'finished_orders'>,
  rows: Rows,
): Decision {
  const subject = `${why.kind}/${why.id}`
  const subjects = subjectsOf(why, holding)
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

interface HoldingDetails extends HoldingPeriod, Omit<Holding, 'needs'> {
  /** Current day in the company's time zone. */
  readonly today: string
}

function holdingOf(rows: Rows, { retention_years }: PersonRetention, { found, now }: DecisionContext): HoldingDetails {
  const [{ needs, count, finished_orders }] = found as [Holding]
  const zone = timezoneOf(rows)
  return { ...holdingPeriod(needs, retention_years, zone), count, finished_orders, today: dateInZone(now, zone) }
}

const detailsOf = ({ until, needed_by, count }: HoldingDetails) => ({ until, needed_by, count })
