import * as z from 'zod'
import { MAX_CENTS } from '#domain/money.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import { boundedText } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { accept, command, isRefusal, type Permit } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { type CashMovement, cashMovementById, cashSessionByName } from '#projections/cash-sessions.ts'
import { takingsLookup } from '#projections/cash-takings.ts'
import { ownCompany } from '#projections/companies.ts'
import { receivableById } from '#projections/finance.ts'
import { offlineSaleById } from '#projections/fiscal-documents.ts'
import { customerById } from '#projections/people.ts'
import {
  awaitedReturnsBySale,
  hasExpired,
  type OfflineReturnRow,
  offlineReturnByReturn,
  returnsOfUser,
} from '#projections/returns.ts'
import { type SaleRow, saleById } from '#projections/sales.ts'
import { paymentTypeById } from '#projections/stores.ts'
import { cashDrawerByUser, refusedMovementById } from '#projections/tills.ts'
import { userById } from '#projections/users.ts'
import { cancellationRefs, movedBy, recordMovement } from './cash-commands.ts'
import { namedSessionRefs } from './named-drawers.ts'
import type { ReturnRefusal } from './offline-returns.ts'
import { OfflineId } from './offline-sale-input.ts'
import { decideOfflineReturn, returnedRefs } from './record-offline-return.ts'

/** Named by the till. */
interface RefusedMovement {
  readonly offline_id: string
}

export const ChosenSession = z.strictObject({ session_id: OfflineId })

type Recorded = RefusedMovement & z.infer<typeof ChosenSession>

const refusedRefs = ({ offline_id }: RefusedMovement) => [ownCompany, refusedMovementById(offline_id)]

/** Whose drawer a refused movement is in a session: of who opened that, or of the till that uploaded it. */
function ownerIn(rows: Rows, { kind, user_id }: DataOf<'CashMovementRefused'>, sessionId: string): number {
  const owner = kind === 'opened' ? null : rows.get(cashSessionByName(sessionId))?.owner
  return owner ?? user_id
}

/** The movement as it is to be recorded; null if it was not refused. */
function movementOf(rows: Rows, { offline_id, session_id }: Recorded) {
  const sent = rows.get(refusedMovementById(offline_id))?.payload
  return sent ? { ...sent, session_id, userId: ownerIn(rows, sent, session_id) } : null
}

/** Records a refused movement as the till made it, in the session that a person chooses. */
export const recordRefusedMovement = command<Recorded>({
  permission: 'see_all_sales',
  needs: (input) => [...refusedRefs(input), cashMovementById(input.offline_id), cashSessionByName(input.session_id)],
  needsMore(rows, input) {
    const movement = movementOf(rows, input)
    if (!movement) return []
    const { user_id, userId, receivable_id } = movement
    return [
      ...[...new Set([user_id, userId])].flatMap((id) => [userById(id), cashDrawerByUser(id)]),
      ...(receivable_id === null ? [] : [receivableById(receivable_id)]),
    ]
  },
  needsLast(rows, input) {
    const movement = movementOf(rows, input)
    return movement ? cancellationRefs(rows, movement.userId) : []
  },
  lookup(rows, input) {
    const movement = movementOf(rows, input)
    return takingsLookup(input.session_id, movement ? movedBy(rows, movement) : [])
  },
  decide(rows, input, context) {
    const granted = context.permit('cash_sessions')
    if ('refused' in granted) return granted
    const refused = rows.get(refusedMovementById(input.offline_id))
    const movement = movementOf(rows, input)
    if (!refused || !movement) return refuse('not_found')
    const known = rows.get(cashSessionByName(input.session_id))
    const { offline_id, user_id, userId, session_id, kind, amount, at, reason, receivable_id, counted } = movement
    if (refused.state === 'recorded')
      return accept('unchanged', `cash_session/${rows.get(cashMovementById(offline_id))?.cash_session_id}`)
    if (refused.state === 'resolved') return refuse('not_found')
    if (!known && kind !== 'opened') return refuseField('session_id', 'não é uma sessão de caixa')
    const content: CashMovement = { session_id, kind, amount, at, reason, receivable_id, counted }
    return recordMovement(rows, { offline_id, userId, settles: { user_id, owner_id: userId } }, content, context)
  },
})

export const RefusedMovementNote = z.strictObject({ note: boundedText(2_000) })

/** Resolves a refused movement without recording it: no drawer changes. */
export const resolveRefusedMovement = command<RefusedMovement & z.infer<typeof RefusedMovementNote>>({
  permission: 'see_all_sales',
  needs: refusedRefs,
  needsMore(rows, { offline_id }) {
    const refused = rows.get(refusedMovementById(offline_id))
    return refused ? [cashDrawerByUser(refused.user_id)] : []
  },
  decide(rows, { offline_id, note }, { permit }) {
    const granted = permit('cash_sessions')
    if ('refused' in granted) return granted
    const refused = rows.get(refusedMovementById(offline_id))
    if (!refused || refused.state === 'recorded') return refuse('not_found')
    const { id, user_id } = refused.payload
    if (refused.state === 'resolved') return accept('unchanged', `cash_session/${id}`)
    return accept('updated', `cash_session/${id}`, [
      event('RefusedCashMovementResolved', { id, offline_id, user_id, note }),
    ])
  },
})

/** The id that the return has been given. */
interface RefusedReturn {
  readonly id: number
}

const sentOf = (rows: Rows, { id }: RefusedReturn): DataOf<'ReturnAwaited'> | null =>
  rows.get(offlineReturnByReturn(id))?.payload ?? null

function saleOf(rows: Rows, { sale_id, sale_offline_id }: DataOf<'ReturnAwaited'>): Readonly<SaleRow> | null {
  const id = sale_id ?? (sale_offline_id === null ? null : rows.get(offlineSaleById(sale_offline_id))?.sale_id)
  return id === null || id === undefined ? null : rows.get(saleById(id))
}

const uploadRefs = (sent: DataOf<'ReturnAwaited'>) => [
  ...[userById(sent.user_id), returnsOfUser(sent.user_id)],
  ...(sent.sale_offline_id === null
    ? []
    : [offlineSaleById(sent.sale_offline_id), awaitedReturnsBySale(sent.sale_offline_id)]),
]

/** Whether a person may decide about it, at a time (UTC). */
const isOpen = ({ state, uploaded_at }: Readonly<OfflineReturnRow>, now: string): boolean =>
  state === 'refused' || (state === 'waiting' && hasExpired(uploaded_at, now))

/**
 * Records a return that a till uploaded and that was refused, as the till made it: by a person who may return so much,
 * and who may see the sale. What was not the buyer's is not given to the buyer by anybody.
 */
export const recordRefusedReturn = command<RefusedReturn>({
  needs: ({ id }) => [ownCompany, offlineReturnByReturn(id)],
  needsMore(rows, input) {
    const sent = sentOf(rows, input)
    if (!sent) return []
    return [
      ...uploadRefs(sent),
      ...namedSessionRefs(sent.cash_session_id),
      ...(sent.sale_id === null ? [] : [saleById(sent.sale_id)]),
      ...(sent.customer_id === null ? [] : [customerById(sent.customer_id)]),
      ...sent.refunds.map(({ payment_type_id }) => paymentTypeById(payment_type_id)),
    ]
  },
  needsLast(rows, input) {
    const sent = sentOf(rows, input)
    if (!sent) return []
    const known = sent.sale_offline_id === null ? null : rows.get(offlineSaleById(sent.sale_offline_id))
    if (known) return [saleById(known.sale_id), ...returnedRefs(known)]
    const sale = saleOf(rows, sent)
    return sale ? [...returnedRefs(sale), ...(sale.customer_id === null ? [] : [customerById(sale.customer_id)])] : []
  },
  decide(rows, input, { now, permit }) {
    const known = rows.get(offlineReturnByReturn(input.id))
    const sent = sentOf(rows, input)
    if (!known || !sent) return refuse('not_found')
    if (known.state === 'recorded') return accept('unchanged', `return/${input.id}`)
    if (!isOpen(known, now)) return refuse('not_found')
    const seen = permit('see_all_sales')
    if (isRefusal(seen)) return seen
    const sale = saleOf(rows, sent)
    if (!sale) return refuse('return_refused', { reason: 'sale_unknown' })
    const recorded = decideOfflineReturn(rows, sent, sale, { now, permit, isSettled: true })
    if (typeof recorded === 'string') return notRecorded(recorded, permit)
    return isRefusal(recorded) ? recorded : accept('created', `return/${input.id}`, recorded)
  },
})

/** The refusal that says why a person may not record it either. */
function notRecorded(reason: ReturnRefusal, permit: Permit): Refusal {
  const granted = reason === 'permission_required' ? permit('return_goods', { cents: MAX_CENTS, before: 0 }) : null
  return granted && isRefusal(granted) ? granted : refuse('return_refused', { reason })
}

export const RefusedReturnNote = z.strictObject({ note: boundedText(2_000) })

/** Resolves a refused return without recording it: its drawer has given the money anyway. */
export const resolveRefusedReturn = command<RefusedReturn & z.infer<typeof RefusedReturnNote>>({
  permission: 'see_all_sales',
  needs: ({ id }) => [ownCompany, offlineReturnByReturn(id)],
  needsMore(rows, input) {
    const sent = sentOf(rows, input)
    return sent ? uploadRefs(sent) : []
  },
  decide(rows, { id, note }, { now, permit }) {
    const granted = permit('return_goods')
    if (isRefusal(granted)) return granted
    const known = rows.get(offlineReturnByReturn(id))
    if (!known?.payload) return refuse('not_found')
    if (known.state === 'resolved') return accept('unchanged', `return/${id}`)
    if (!isOpen(known, now)) return refuse('not_found')
    const { offline_id, user_id, sale_offline_id } = known.payload
    return accept('updated', `return/${id}`, [
      event('RefusedReturnResolved', { id, offline_id, user_id, sale_offline_id, note }),
    ])
  },
})
