import * as z from 'zod'
import { IMPOSSIBLE_AT_TILL, Instant, isImpossibleAtTill } from '#domain/instant.ts'
import { fromCents, JsonMoney, MAX_CENTS, toBigCents, toCents } from '#domain/money.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import { Id, limitedText, optionalText, REQUIRED_FIELD } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { CASH_MOVEMENT_KINDS, type ChainWarning } from '#events/till-events.ts'
import {
  accept,
  command,
  type Decision,
  type DecisionContext,
  isRefusal,
  type NewEvent,
  type Permit,
} from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
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
import { saleById } from '#projections/sales.ts'
import { paymentTypeById } from '#projections/stores.ts'
import {
  cashDrawerByUser,
  listDrawerSessions,
  type RefusedMovementRow,
  refusedMovementById,
  sessionAt,
  type TimedCancellation,
} from '#projections/tills.ts'
import { userById } from '#projections/users.ts'
import { isOfTill } from './named-drawers.ts'
import { OfflineId } from './offline-sale-input.ts'
import { tillReceiptEvents } from './pay-accounts.ts'
import { receivableSide } from './receivables-payables.ts'

/** An opening or closing that is being decided; times by the till's clock (UTC), null if not known. */
export interface ChangedSession {
  readonly userId: number
  readonly session_id: string
  readonly opened_at: string | null
  readonly closed_at: string | null
}

const cancellationsOf = (rows: Rows, userId: number): readonly TimedCancellation[] =>
  rows.get(cashDrawerByUser(userId))?.cancellations ?? []

/** Rows that `movedCancellations` reads, once the user's drawer is loaded. */
export const cancellationRefs = (rows: Rows, userId: number): AnyRef[] =>
  cancellationsOf(rows, userId).flatMap(({ sale_id, session_id, user_id }) => [
    saleById(sale_id),
    cashSessionByName(session_id),
    cashDrawerByUser(user_id),
  ])

/**
 * Session that gave the money of a cancelled sale back: the sale's if it was not closed by then, else the one that the
 * canceller had open. All times are of the tills' clocks.
 */
export function drawerAt(
  own: string,
  closedAt: string | null,
  sessions: Parameters<typeof sessionAt>[0],
  at: string,
): string | null {
  const isOpen = closedAt === null || Date.parse(at) < Date.parse(closedAt)
  return isOpen ? own : sessionAt(sessions, at)
}

/** Cancelled sales whose money another session gave back than was known before an opening or closing. */
function movedCancellations(rows: Rows, { userId, ...changed }: ChangedSession) {
  const { session_id, opened_at, closed_at } = changed
  return cancellationsOf(rows, userId).flatMap(({ sale_id, session_id: own, user_id, at }) => {
    const sale = rows.get(saleById(sale_id))
    if (sale?.status !== 'cancelled') return []
    const isChanged = user_id === userId && opened_at !== null
    const sessions = listDrawerSessions(rows, user_id, isChanged ? { session_id, opened_at, closed_at } : undefined)
    const closedAt = own === session_id ? closed_at : (rows.get(cashSessionByName(own))?.closed_at ?? null)
    const drawer = drawerAt(own, closedAt, sessions, at)
    return drawer === sale.cancel_session_id ? [] : { sale_id, drawer }
  })
}

const cancellationMoved = ({ sale_id: id, drawer }: { sale_id: number; drawer: string | null }): NewEvent =>
  event('SaleCancellationMoved', { id, cash_session_id: drawer })

/** Payment types that a closing may count. */
const MAX_COUNTED = 100

/** Counted money: of the drawer under `cash`, of other payment types under their ids. */
const Counted = z
  .record(limitedText(20).regex(/^(cash|[1-9]\d{0,14})$/, 'deve ser cash ou o id de uma forma de pagamento'), JsonMoney)
  .refine((counted) => Object.keys(counted).length <= MAX_COUNTED, `no máximo ${MAX_COUNTED} formas de pagamento`)

const shape = z.object({
  offline_id: OfflineId,
  session_id: OfflineId,
  kind: z.enum(CASH_MOVEMENT_KINDS),
  amount: JsonMoney.nullish(),
  at: Instant,
  reason: optionalText(500),
  receivable_id: Id.nullish(),
  counted: Counted.nullish(),
})

/** Movement of a till's drawer as it is uploaded. Unknown fields are ignored: tills of many versions upload. */
export interface CashMovementUpload {
  readonly offline_id: string
  readonly session_id: string
  readonly kind: (typeof CASH_MOVEMENT_KINDS)[number]
  /** Null if the drawer is closed. */
  readonly amount: string | null
  /** UTC */
  readonly at: string
  readonly reason: string | null
  readonly receivable_id: number | null
  readonly counted: Readonly<Record<string, string>> | null
  /** User who is logged in at the till; not part of what the till sends. */
  readonly userId?: number
  /** From books that are older than the records here: its age is no sign of a wrong clock. Not sent by tills. */
  readonly isHistory?: true
  /** Deviations in the till's chain. */
  readonly noted?: readonly ChainWarning[]
  /** Till that has signed it. */
  readonly tillId?: number | undefined
  /** Made after the end of the user's access: a person decides. */
  readonly isLate?: boolean
}

export const CashMovementInput: z.ZodType<CashMovementUpload> = shape
  .superRefine(({ kind, amount = null, receivable_id = null, counted = null }, context) => {
    const wrong = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message })
    if (kind === 'closed' ? amount !== null : amount === null)
      wrong('amount', kind === 'closed' ? 'não existe no fechamento: envie null' : REQUIRED_FIELD)
    if (kind !== 'closed' && kind !== 'opened' && amount === '0.00') wrong('amount', 'deve ser maior que zero')
    if (kind !== 'closed' && counted !== null) wrong('counted', 'só existe no fechamento')
    if (kind === 'received' ? receivable_id === null : receivable_id !== null)
      wrong('receivable_id', kind === 'received' ? REQUIRED_FIELD : 'só existe em received')
  })
  .transform(({ amount = null, reason = null, receivable_id = null, counted = null, ...movement }) => ({
    ...movement,
    amount,
    reason,
    receivable_id,
    counted,
  }))

/** Lead of a till's clock that is tolerated without a warning. */
const TOLERANCE_MS = 5 * 60_000
const DAY_MS = 86_400_000
/** Age beyond which a fact is told as old. */
const OLD_MS = 60 * DAY_MS

/** Whether a till's clock is ahead beyond the tolerance. */
export const isFarAhead = (at: string, now: string): boolean => Date.parse(at) - Date.parse(now) > TOLERANCE_MS

/**
 * The instant (UTC) that a fact precedes although it should not: its oldest likely one, or the creation of a record that
 * it names, less a day, for what a till without a connection made first. Null if it is not old.
 */
export function findOlder(at: string, now: string, created: readonly (string | undefined)[]): string | null {
  const known = created.flatMap((each) => (each === undefined ? [] : Date.parse(each) - DAY_MS))
  const earliest = Math.max(Date.parse(now) - OLD_MS, ...known)
  return Date.parse(at) < earliest ? new Date(earliest).toISOString() : null
}

type Warnings = CashMovementRow['warnings']

const needs = ({ offline_id, session_id, counted, receivable_id, userId }: CashMovementUpload): AnyRef[] => [
  ownCompany,
  ...(userId === undefined ? [] : [userById(userId), cashDrawerByUser(userId)]),
  ...(receivable_id === null ? [] : [receivableById(receivable_id)]),
  cashMovementById(offline_id),
  refusedMovementById(offline_id),
  cashSessionByName(session_id),
  ...typeIdsOf(counted).map(paymentTypeById),
]

const typeIdsOf = (counted: CashMovementUpload['counted']): number[] =>
  Object.keys(counted ?? {}).flatMap((key) => (key === 'cash' ? [] : Number(key)))

/**
 * Records what a till did with its drawer. It is a fact: a movement of a session that is not open yet, or closed
 * already, is recorded too. One of another user's drawer is kept for a person. A repeated upload records nothing.
 */
export const recordCashMovement = command<CashMovementUpload>({
  needs,
  needsMore: (rows, upload) => ownerRefs(rows, upload),
  needsLast(rows, { kind, userId }) {
    return kind === 'opened' && userId !== undefined ? cancellationRefs(rows, userId) : []
  },
  decide: decideMovement,
})

/** Closes a session, and records what its sales had brought by then. */
export const closeCashSession = command<CashMovementUpload>({
  needs,
  needsMore: (rows, upload) => ownerRefs(rows, upload),
  needsLast(rows, upload) {
    const { userId } = inDrawer(rows, upload)
    return userId === undefined ? [] : cancellationRefs(rows, userId)
  },
  lookup: (rows, upload) => takingsLookup(upload.session_id, movedBy(rows, inDrawer(rows, upload))),
  decide: decideMovement,
})

/** The movement as one of the drawer's owner: operators of the till that moved it first share it. */
function inDrawer(rows: Rows, upload: CashMovementUpload): CashMovementUpload & { readonly owner_id?: number } {
  const { session_id, kind, userId, tillId } = upload
  const known = rows.get(cashSessionByName(session_id))
  if (!known || !isOfTill(known, tillId) || !isOfOtherUser(known, kind, userId)) return upload
  const owner_id = known.owner as number
  return { ...upload, userId: owner_id, owner_id }
}

function ownerRefs(rows: Rows, upload: CashMovementUpload): AnyRef[] {
  const { owner_id } = inDrawer(rows, upload)
  return owner_id === undefined ? [] : [userById(owner_id), cashDrawerByUser(owner_id)]
}

/** Cancelled sales whose money another session gave back, as an opening or closing of a user's drawer tells. */
export function movedBy(
  rows: Rows,
  { kind, session_id, at, userId }: Pick<CashMovementUpload, 'kind' | 'session_id' | 'at' | 'userId'>,
) {
  if (userId === undefined) return []
  const [closed, known] = [rows.get(cashSessionByName(session_id))?.closed_at ?? null, listDrawerSessions(rows, userId)]
  const opened_at = known.find((each) => each.session_id === session_id)?.opened_at ?? null
  return movedCancellations(rows, {
    ...{ userId, session_id },
    opened_at: kind === 'opened' ? at : opened_at,
    closed_at: kind === 'closed' ? at : closed && new Date(closed).toISOString(),
  })
}

/** A repeated upload, an upload with invalid content, one of another user's drawer, or a new movement. */
function decideMovement(rows: Rows, upload: CashMovementUpload, context: DecisionContext): Decision {
  if (isImpossibleAtTill(upload.at, context.now)) return refuseField('at', IMPOSSIBLE_AT_TILL)
  const counted = countedOf(rows, upload)
  if (counted !== null && isRefusal(counted)) return counted
  const { session_id, kind, amount, at, reason, receivable_id, userId } = upload
  const content: CashMovement = { session_id, kind, amount, at, reason, receivable_id, counted }
  const refused = rows.get(refusedMovementById(upload.offline_id))
  if (refused) return decideRefusedAgain(refused, content)
  const repeated = rows.get(cashMovementById(upload.offline_id))
  if (repeated) return decideRepeated(repeated, content)
  const known = rows.get(cashSessionByName(session_id))
  const moving = inDrawer(rows, upload)
  const code = whyRefused(moving, known)
  if (code && userId !== undefined)
    return keepRefused(rows, known?.id ?? context.nextId('cash_session'), {
      ...{ ...content, offline_id: upload.offline_id, user_id: userId, code },
    })
  return recordMovement(rows, moving, content, context)
}

/**
 * Whether a movement is of another user's drawer. Before its opening a session is of who moved it first; who opens it has
 * it from then on.
 */
const isOfOtherUser = (
  { owner, opened_at }: Readonly<CashSessionRow>,
  kind: CashMovement['kind'],
  userId: number | undefined,
): boolean => userId !== undefined && owner !== null && owner !== userId && (kind !== 'opened' || opened_at !== null)

function whyRefused(
  { kind, userId, isLate }: CashMovementUpload,
  known: Readonly<CashSessionRow> | null,
): RefusedMovementRow['payload']['code'] | null {
  if (isLate) return 'access_ended'
  return known && isOfOtherUser(known, kind, userId) ? 'session_of_other' : null
}

/** Movements of a user that may wait for a person. */
const MAX_REFUSED = 200

/** Keeps a movement for a person (CASH-1000). */
function keepRefused(rows: Rows, id: number, sent: Omit<DataOf<'CashMovementRefused'>, 'id'>): Decision {
  if ((rows.get(cashDrawerByUser(sent.user_id))?.refused_count ?? 0) >= MAX_REFUSED)
    return refuseField('offline_id', 'há movimentos recusados demais deste usuário: resolva-os no painel')
  const refused = event('CashMovementRefused', { ...sent, id })
  return accept('created', refused.subject, [refused], [], { warnings: [], refusal: sent.code })
}

const conflictWith = (id: number): Refusal => refuse('duplicate_resource', { field: 'offline_id', conflicting_id: id })

/** The answer to an upload that was refused before: what became of it. */
function decideRefusedAgain(
  { payload: sent, state, note }: Readonly<RefusedMovementRow>,
  content: CashMovement,
): Decision {
  if (!isSame(sent, content)) return conflictWith(sent.id)
  const became = { recorded: {}, refused: { refusal: sent.code }, resolved: { resolution: { note } } }[state]
  return accept('unchanged', `cash_session/${sent.id}`, [], [], { warnings: [], ...became })
}

function decideRepeated(
  { cash_session_id, doc, warnings }: Readonly<CashMovementRow>,
  content: CashMovement,
): Decision {
  if (!isSame(doc, content)) return conflictWith(cash_session_id)
  return accept('unchanged', `cash_session/${cash_session_id}`, [], [], { warnings })
}

const isSame = (a: CashMovement, b: CashMovement): boolean =>
  JSON.stringify(identityOf(a)) === JSON.stringify(identityOf(b))

const identityOf = ({ session_id, kind, amount, at, reason, receivable_id, counted }: CashMovement) => [
  ...[session_id, kind, amount, Date.parse(at), reason, receivable_id],
  counted?.map(({ payment_type_id, amount }) => [payment_type_id, amount]),
]

/** What is told about a movement beside its content. `userId`: whose drawer it is. */
type Told = Pick<CashMovementUpload, 'offline_id' | 'userId' | 'isHistory' | 'noted' | 'tillId'> &
  Pick<DataOf<'CashMoved'>, 'settles' | 'owner_id'>

/** Records a movement that is not recorded yet. */
export function recordMovement(rows: Rows, told: Told, content: CashMovement, context: DecisionContext): Decision {
  const { session_id, kind, at, reason } = content
  const { now } = context
  const known = rows.get(cashSessionByName(session_id))
  const isLate = known?.closed_at !== undefined && known.closed_at !== null && kind !== 'closed'
  const warnings: Warnings = [
    ...(isLate ? (['session_closed'] as const) : []),
    ...(isFarAhead(at, now) ? (['at_in_future'] as const) : []),
    ...(isOld(rows, told, at, now) ? (['at_old'] as const) : []),
    ...(told.noted ?? []),
  ]
  const id = known?.id ?? context.nextId('cash_session')
  const { offline_id, userId, settles, owner_id, tillId } = told
  const movement = {
    ...{ id, session_id, offline_id, at, reason, warnings },
    ...(settles && { settles }),
    ...(owner_id !== undefined && { owner_id }),
    ...(tillId !== undefined && { till_id: tillId }),
  }
  const events = eventsOf(rows, content, { known, movement, userId, context })
  return isRefusal(events) ? events : accept('created', `cash_session/${id}`, events, [], { warnings })
}

const isOld = (rows: Rows, { userId, isHistory }: Told, at: string, now: string): boolean =>
  !isHistory &&
  findOlder(at, now, [userId === undefined ? undefined : rows.get(userById(userId))?.doc.created_at]) !== null

interface Recording {
  readonly known: Readonly<CashSessionRow> | null
  readonly movement: Omit<DataOf<'CashSessionOpened'>, 'amount'>
  readonly userId: number | undefined
  readonly context: DecisionContext
}

function eventsOf(
  rows: Rows,
  { session_id, kind, amount, at, receivable_id, counted }: CashMovement,
  { known, movement, userId, context }: Recording,
): readonly NewEvent[] | Refusal {
  const moved = () => movedBy(rows, { kind, session_id, at, userId }).map(cancellationMoved)
  if (kind === 'closed' || amount === null) {
    if (known?.closed_at) return refuse('session_closed')
    const [{ takings }] = context.found as readonly [{ readonly takings: CashTakings }]
    return [event('CashSessionClosed', { ...movement, counted, takings }), ...moved()]
  }
  if (kind === 'opened')
    return known?.opened_at ? refuse('session_open') : [event('CashSessionOpened', { ...movement, amount }), ...moved()]
  if (toCents(known?.doc[kind] ?? '0.00') + toCents(amount) > MAX_CENTS)
    return refuseField('amount', 'a soma é grande demais')
  const paid =
    receivable_id === null
      ? []
      : receive(rows, receivable_id, { cents: toCents(amount), at, cash_session_id: session_id }, context.permit)
  return isRefusal(paid) ? paid : [event('CashMoved', { ...movement, amount, kind, receivable_id }), ...paid]
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
  if (!paid || !isSeen) return refuseField('receivable_id', 'conta não encontrada')
  return paid.excess_cents > 0 ? refuseField('amount', `é mais que o valor em aberto, ${fromCents(open)}`) : paid.events
}

/** The drawer first, with all that was counted in cash; then the other payment types by id. */
function countedOf(rows: Rows, { counted }: CashMovementUpload): CashMovement['counted'] | Refusal {
  if (counted === null) return null
  const sums = new Map<number | null, bigint>()
  for (const [key, amount] of Object.entries(counted)) {
    const type = key === 'cash' ? null : rows.get(paymentTypeById(Number(key)))
    if (key !== 'cash' && !type) return refuseField(`counted.${key}`, 'forma de pagamento não encontrada')
    const way = !type || type.doc.is_cash ? null : type.id
    sums.set(way, (sums.get(way) ?? 0n) + toBigCents(amount))
  }
  if ((sums.get(null) ?? 0n) > BigInt(MAX_CENTS)) return refuseField('counted', 'a soma é grande demais')
  return [...sums]
    .map(([payment_type_id, cents]) => ({ payment_type_id, amount: fromCents(Number(cents)) }))
    .sort((a, b) => (a.payment_type_id ?? 0) - (b.payment_type_id ?? 0))
}
