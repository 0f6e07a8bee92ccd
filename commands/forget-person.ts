import * as z from 'zod'
import { addYears, dateInZone, startOfDay } from '#domain/instant.ts'
import { PERSON_PARTS, type PersonKind } from '#domain/person-values.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import { boundedText } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { FORGETTING_GROUNDS, type ForgettingGround } from '#events/person-events.ts'
import { accept, command, type Decision, type DecisionContext, type NewEvent } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import { markTable, plainSql } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { getTimezone, ownCompany } from '#projections/companies.ts'
import { IS_OPEN } from '#projections/finance.ts'
import { orderById } from '#projections/orders.ts'
import { customerById, erasureRef, supplierById } from '#projections/people.ts'
import { userById } from '#projections/users.ts'
import { isLastOwner } from './user-commands.ts'

export const NEEDS = ['sale', 'receivable', 'payable', 'order', 'store_credit'] as const

/** Record that needs a person's identity. */
export interface Need {
  readonly kind: (typeof NEEDS)[number]
  readonly id: number
  /** Authorization of a sale's fiscal document (UTC); null for open records, which have no date. */
  readonly since: string | null
}

/** Records that need the person, and finished records about the person. */
export interface Holding {
  /** First of each kind: sales by newest document, the others by id. */
  readonly needs: readonly Need[]
  readonly count: number
  /** Orders of the person that are neither erased nor pending. */
  readonly finished_orders: readonly number[]
}

/** What the needs of a person say about time. */
export interface HoldingPeriod {
  readonly needed_by: readonly { kind: Need['kind']; id: number; until: string | null }[]
  /** First day on which no document needs the person; null without dated needs. */
  readonly until: string | null
  /** Whether an account or an order of the person is open. */
  readonly hasOpen: boolean
}

export function holdingPeriod(needs: readonly Need[], retentionYears: number, zone: string): HoldingPeriod {
  const needed_by = needs.map(({ kind, id, since }) => ({
    kind,
    id,
    until: since && addYears(dateInZone(new Date(since).toISOString(), zone), retentionYears, 1),
  }))
  const days = needed_by.flatMap(({ until }) => until ?? [])
  return { needed_by, until: days.sort().at(-1) ?? null, hasOpen: days.length < needed_by.length }
}

/** Authorization from which a document still needs its person (UTC). `today` is the company's day. */
export const documentsSince = (retentionYears: number, today: string, zone: string): string =>
  startOfDay(addYears(today, -retentionYears), zone)

/** Listed records per kind. The first determines the date; the count covers the rest. */
const TOLD = 10

/** SQL of one kind of records that need the person. */
interface Source {
  readonly kind: Need['kind']
  readonly from: string
  readonly since: string
  readonly order: string
}

const sales: Source = {
  kind: 'sale',
  from: `${markTable('sales')} where company_id = $1 and customer_id = $2 and documented_at >= $3`,
  since: 'documented_at',
  order: 'documented_at desc',
}
const accounts = (kind: 'receivable' | 'payable'): Source => ({
  kind,
  from: `${markTable(`${kind}s`)} where company_id = $1 and party_id = $2 and ${IS_OPEN}`,
  since: 'null',
  order: 'id',
})
const orders = (column: 'customer_id' | 'id'): Source => ({
  kind: 'order',
  from: `${markTable('orders')} where company_id = $1 and ${column} = $2 and status = 'pending'`,
  since: 'null',
  order: 'id',
})

/** Store credit that the customer may still spend, or spent beyond the balance; its id is the customer's. */
const storeCredit: Source = {
  kind: 'store_credit',
  from: `${markTable('customer_credits')} where company_id = $1 and id = $2 and balance <> 0`,
  since: 'null',
  order: 'id',
}

const SOURCES: Readonly<Record<PersonKind, readonly Source[]>> = {
  customer: [sales, accounts('receivable'), orders('customer_id'), storeCredit],
  supplier: [accounts('payable')],
  user: [],
  order: [orders('id')],
}

const needsOf = ({ kind, from, since, order }: Source): string =>
  `(select '${kind}' as kind, id, ${since}::timestamptz as since from ${from} order by ${order} limit ${TOLD})`

const countOf = ({ from }: Source): string => `(select count(*) from ${from})`

const FINISHED = `select id from ${markTable('orders')}
  where company_id = $1 and customer_id = $2 and status <> 'pending' and doc->>'forgotten_at' is null order by id`

/** Statement of a reader that returns one `Holding` of the person of this kind ($2), counting documents since $3 (UTC). */
export function holdingStatement(kind: PersonKind): { name: string; text: string } {
  const sources = SOURCES[kind]
  const needs = sources.length > 0 ? sources.map(needsOf).join(' union all ') : 'select null, null, null where false'
  const count = sources.length > 0 ? sources.map(countOf).join(' + ') : '0'
  const finished = kind === 'customer' ? FINISHED : 'select 0 where false'
  return {
    name: `holding_of_${kind}`,
    text: `select (select coalesce(json_agg(json_build_object('kind', kind, 'id', id, 'since', since)), '[]')
                   from (${needs}) n(kind, id, since)) as needs,
                  (${count})::int as count,
                  array(${finished}) as finished_orders
           where $1::bigint is not null and $2::bigint is not null and $3::timestamptz is not null`,
  }
}

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
  const zone = getTimezone(rows)
  const { name, text } = holdingStatement(kind)
  return { name, text: plainSql(text), values: [id, documentsSince(retention_years, dateInZone(now, zone), zone)] }
}

/**
 * Erases a person's data for good: encryption keys are deleted, amounts and identifiers stay. Refused with
 * `retention_required` while records need the identity, unless it is queued: then the rest is erased at once.
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
 * open. The service checks again what needs the person: a dated need postpones it, an undated one makes it wait.
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

/** Same rules as for a deactivation: not oneself, and not the last owner. */
function userRefusal(rows: Rows, id: number, { actor }: DecisionContext): Refusal | null {
  if (actor === `user/${id}`) return refuseField('id', 'não pode ser o próprio usuário')
  return isLastOwner(rows, id) ? refuse('last_owner') : null
}

interface HoldingDetails extends HoldingPeriod, Omit<Holding, 'needs'> {
  /** Current day in the company's time zone. */
  readonly today: string
}

function holdingOf(rows: Rows, { retention_years }: PersonRetention, { found, now }: DecisionContext): HoldingDetails {
  const [{ needs, count, finished_orders }] = found as [Holding]
  const zone = getTimezone(rows)
  return { ...holdingPeriod(needs, retention_years, zone), count, finished_orders, today: dateInZone(now, zone) }
}

const detailsOf = ({ until, needed_by, count }: HoldingDetails) => ({ until, needed_by, count })
