import { IMPOSSIBLE_AT_TILL, isImpossibleAtTill } from '#domain/instant.ts'
import { fromCents, MAX_CENTS, toBigCents, toCents } from '#domain/money.ts'
import { invalid, type Refusal, refuse } from '#domain/refusal.ts'
import { event } from '#events/catalogue.ts'
import { accept, command, type Decision, type DecisionContext, isRefusal, type Permit } from '#ledger/command.ts'
import type { NewEvent } from '#ledger/envelope.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { cashDrawerOf, sessionsOf } from '#projections/cash-drawers.ts'
import {
  type CashMovement,
  type CashMovementRow,
  type CashSessionRow,
  cashMovementById,
  cashSessionByName,
} from '#projections/cash-sessions.ts'
import { type CashTakings, takingsLookup } from '#projections/cash-takings.ts'
import { ownCompany } from '#projections/companies.ts'
import { receivableById } from '#projections/finance.ts'
import { paymentTypeById } from '#projections/payment-types.ts'
import { userById } from '#projections/users.ts'
import { tillReceiptEvents } from '../finance/account-payments.ts'
import { receivableSide } from '../finance/receivables.ts'
import { findOlder, isFarAhead } from '../till-clock.ts'
import { cancellationMoved, cancellationRefs, movedCancellations } from './moved-cancellations.ts'
import type { CashMovementUpload } from './movement-input.ts'

type Warnings = CashMovementRow['warnings']

const needs = ({ offline_id, session_id, counted, receivable_id, userId }: CashMovementUpload): AnyRef[] => [
  ownCompany,
  ...(userId === undefined ? [] : [userById(userId), cashDrawerOf(userId)]),
  ...(receivable_id === null ? [] : [receivableById(receivable_id)]),
  cashMovementById(offline_id),
  cashSessionByName(session_id),
  ...typeIdsOf(counted).map(paymentTypeById),
]

const typeIdsOf = (counted: CashMovementUpload['counted']): number[] =>
  Object.keys(counted ?? {}).flatMap((key) => (key === 'cash' ? [] : Number(key)))

/**
 * Records what a till did with its drawer. It is a fact: a movement of a session that is not open yet, or closed
 * already, is recorded too. A repeated upload records nothing.
 */
export const recordCashMovement = command<CashMovementUpload>({
  needs,
  needsMore: (rows, { kind, userId }) =>
    kind === 'opened' && userId !== undefined ? cancellationRefs(rows, userId) : [],
  decide: (rows, upload, context) =>
    decideMovement(rows, upload, context, (known, movement) => move(rows, upload, known, movement, context.permit)),
})

/** Closes a session, and records what its sales had brought by then. */
export const closeCashSession = command<CashMovementUpload>({
  needs,
  needsMore: (rows, { userId }) => (userId === undefined ? [] : cancellationRefs(rows, userId)),
  lookup: (rows, upload) => takingsLookup(upload.session_id, movedBy(rows, upload)),
  decide: (rows, upload, context) =>
    decideMovement(rows, upload, context, (known, { id, content, warnings }) => {
      if (known?.closed_at) return refuse('session_closed')
      const [found] = context.found as readonly [{ readonly takings: CashTakings }]
      const { at, reason, counted } = content
      const { session_id, offline_id } = upload
      const { takings } = found
      const movement = { id, session_id, offline_id, at, reason, warnings }
      const moved = movedBy(rows, upload).map(cancellationMoved)
      return { events: [event('CashSessionClosed', { ...movement, counted, takings }), ...moved], warnings }
    }),
})

/** Cancelled sales whose money another session gave back, as an opening or closing tells. */
function movedBy(rows: Rows, { kind, session_id, at, userId }: CashMovementUpload) {
  if (userId === undefined) return []
  const [closed, known] = [rows.get(cashSessionByName(session_id))?.closed_at ?? null, sessionsOf(rows, userId)]
  const opened_at = known.find((each) => each.session_id === session_id)?.opened_at ?? null
  return movedCancellations(rows, {
    ...{ userId, session_id },
    opened_at: kind === 'opened' ? at : opened_at,
    closed_at: kind === 'closed' ? at : closed && new Date(closed).toISOString(),
  })
}

/** A movement that is not recorded yet, ready to be. */
interface NewMovement {
  readonly id: number
  readonly content: CashMovement
  readonly warnings: Warnings
}

interface Recorded {
  readonly events: readonly NewEvent[]
  readonly warnings: Warnings
}

type Recording = (known: Readonly<CashSessionRow> | null, movement: NewMovement) => Recorded | Refusal

/** A repeated upload, an upload with invalid content, or a new movement, which `record` turns into events. */
function decideMovement(
  rows: Rows,
  upload: CashMovementUpload,
  { now, nextId }: Pick<DecisionContext, 'now' | 'nextId'>,
  record: Recording,
): Decision {
  if (isImpossibleAtTill(upload.at, now)) return invalid('at', IMPOSSIBLE_AT_TILL)
  const counted = countedOf(rows, upload)
  if (counted !== null && isRefusal(counted)) return counted
  const { session_id, kind, amount, at, reason, receivable_id } = upload
  const content: CashMovement = { session_id, kind, amount, at, reason, receivable_id, counted }
  const repeated = rows.get(cashMovementById(upload.offline_id))
  if (repeated) return decideRepeated(repeated, content)
  const known = rows.get(cashSessionByName(session_id))
  if (known && isOfOtherUser(known, upload)) return invalid('session_id', 'é a gaveta de outro usuário')
  const isLate = known?.closed_at !== undefined && known.closed_at !== null && kind !== 'closed'
  const warnings: Warnings = [
    ...(isLate ? (['session_closed'] as const) : []),
    ...(isFarAhead(at, now) ? (['at_in_future'] as const) : []),
    ...(isOld(rows, upload, now) ? (['at_old'] as const) : []),
  ]
  const id = known?.id ?? nextId('cash_session')
  const recorded = record(known, { id, content, warnings })
  if (isRefusal(recorded)) return recorded
  return accept('created', `cash_session/${id}`, recorded.events, [], { warnings: recorded.warnings })
}

/**
 * Whether a movement is of another user's drawer. Before its opening a session is of who moved it first; who opens it has
 * it from then on.
 */
const isOfOtherUser = ({ owner, opened_at }: Readonly<CashSessionRow>, { kind, userId }: CashMovementUpload): boolean =>
  owner !== null && userId !== undefined && owner !== userId && (kind !== 'opened' || opened_at !== null)

const isOld = (rows: Rows, { at, userId, isHistory }: CashMovementUpload, now: string): boolean =>
  !isHistory &&
  findOlder(at, now, [userId === undefined ? undefined : rows.get(userById(userId))?.doc.created_at]) !== null

function decideRepeated(
  { cash_session_id, doc, warnings }: Readonly<CashMovementRow>,
  content: CashMovement,
): Decision {
  if (JSON.stringify(identityOf(doc)) !== JSON.stringify(identityOf(content)))
    return refuse('duplicate_resource', { field: 'offline_id', conflicting_id: cash_session_id })
  return accept('unchanged', `cash_session/${cash_session_id}`, [], [], { warnings })
}

const identityOf = ({ session_id, kind, amount, at, reason, receivable_id, counted }: CashMovement) => [
  ...[session_id, kind, amount, Date.parse(at), reason, receivable_id],
  counted?.map(({ payment_type_id, amount }) => [payment_type_id, amount]),
]

function move(
  rows: Rows,
  upload: CashMovementUpload,
  known: Readonly<CashSessionRow> | null,
  { id, content: { kind, amount, at, reason, receivable_id }, warnings }: NewMovement,
  permit: Permit,
): Recorded | Refusal {
  if (kind === 'closed' || amount === null) throw new Error('cash: closeCashSession records closings')
  const { session_id, offline_id } = upload
  const movement = { id, session_id, offline_id, at, reason, warnings, amount }
  if (kind === 'opened') {
    if (known?.opened_at) return refuse('session_open')
    const moved = movedBy(rows, upload).map(cancellationMoved)
    return { events: [event('CashSessionOpened', movement), ...moved], warnings }
  }
  if (toCents(known?.doc[kind] ?? '0.00') + toCents(amount) > MAX_CENTS)
    return invalid('amount', 'a soma é grande demais')
  const moved = event('CashMoved', { ...movement, kind, receivable_id })
  if (receivable_id === null) return { events: [moved], warnings }
  const paid = receive(rows, receivable_id, { cents: toCents(amount), at, cash_session_id: session_id }, permit)
  return isRefusal(paid) ? paid : { events: [moved, ...paid], warnings }
}

/**
 * Pays an account with cash that a till received: by a user who may receive, at most what is open. A settled one is not
 * shown to users who do not see all sales.
 */
function receive(
  rows: Rows,
  receivableId: number,
  received: { readonly cents: number; readonly at: string; readonly cash_session_id: string },
  permit: Permit,
): readonly NewEvent[] | Refusal {
  const granted = permit('receive')
  if (isRefusal(granted)) return granted
  const paid = tillReceiptEvents(receivableSide, rows, receivableId, { ...received, payment_method: 'cash' })
  const open = rows.get(receivableById(receivableId))?.open_cents ?? 0
  const isSeen = open > 0 || !isRefusal(permit('see_all_sales'))
  if (!paid || !isSeen) return invalid('receivable_id', 'conta não encontrada')
  return paid.excess_cents > 0 ? invalid('amount', `é mais que o valor em aberto, ${fromCents(open)}`) : paid.events
}

/** The drawer first, with all that was counted in cash; then the other payment types by id. */
function countedOf(rows: Rows, { counted }: CashMovementUpload): CashMovement['counted'] | Refusal {
  if (counted === null) return null
  const sums = new Map<number | null, bigint>()
  for (const [key, amount] of Object.entries(counted)) {
    const type = key === 'cash' ? null : rows.get(paymentTypeById(Number(key)))
    if (key !== 'cash' && !type) return invalid(`counted.${key}`, 'forma de pagamento não encontrada')
    const way = !type || type.doc.is_cash ? null : type.id
    sums.set(way, (sums.get(way) ?? 0n) + toBigCents(amount))
  }
  if ((sums.get(null) ?? 0n) > BigInt(MAX_CENTS)) return invalid('counted', 'a soma é grande demais')
  return [...sums]
    .map(([payment_type_id, cents]) => ({ payment_type_id, amount: fromCents(Number(cents)) }))
    .sort((a, b) => (a.payment_type_id ?? 0) - (b.payment_type_id ?? 0))
}
