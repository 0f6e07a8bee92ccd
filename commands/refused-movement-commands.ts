import * as z from 'zod'
import { invalid, refuse } from '#domain/refusals.ts'
import { boundedText } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { cashDrawerOf, refusedMovementById } from '#projections/cash-drawers.ts'
import { type CashMovement, cashMovementById, cashSessionByName } from '#projections/cash-sessions.ts'
import { takingsLookup } from '#projections/cash-takings.ts'
import { ownCompany } from '#projections/companies.ts'
import { receivableById } from '#projections/finance.ts'
import { userById } from '#projections/users.ts'
import { movedBy, recordMovement } from './cash-commands.ts'
import { cancellationRefs } from './moved-cancellations.ts'
import { OfflineId } from './offline-sale-input.ts'

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
  const sent = rows.get(refusedMovementById(offline_id))?.sent
  return sent ? { ...sent, session_id, userId: ownerIn(rows, sent, session_id) } : null
}

/** Records a refused movement as the till made it, in the session that a person chooses (CASH-1001). */
export const recordRefusedMovement = command<Recorded>({
  permission: 'see_all_sales',
  needs: (input) => [...refusedRefs(input), cashMovementById(input.offline_id), cashSessionByName(input.session_id)],
  needsMore(rows, input) {
    const movement = movementOf(rows, input)
    if (!movement) return []
    const { user_id, userId, receivable_id } = movement
    return [
      ...[...new Set([user_id, userId])].flatMap((id) => [userById(id), cashDrawerOf(id)]),
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
    if (!known && kind !== 'opened') return invalid('session_id', 'não é uma sessão de caixa')
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
    return refused ? [cashDrawerOf(refused.user_id)] : []
  },
  decide(rows, { offline_id, note }, { permit }) {
    const granted = permit('cash_sessions')
    if ('refused' in granted) return granted
    const refused = rows.get(refusedMovementById(offline_id))
    if (!refused || refused.state === 'recorded') return refuse('not_found')
    const { id, user_id } = refused.sent
    if (refused.state === 'resolved') return accept('unchanged', `cash_session/${id}`)
    return accept('updated', `cash_session/${id}`, [
      event('RefusedCashMovementResolved', { id, offline_id, user_id, note }),
    ])
  },
})
