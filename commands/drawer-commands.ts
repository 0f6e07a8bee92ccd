import * as z from 'zod'
import { Money } from '#domain/money.ts'
import { refuse, refuseField } from '#domain/refusals.ts'
import { optionalText } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { DIFFERENCE_REASONS } from '#events/till-events.ts'
import { accept, command, isRefusal } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { type CashMovement, cashMovementById, cashSessionByName } from '#projections/cash-sessions.ts'
import { type CashTakings, largestDifference, takingsLookup } from '#projections/cash-takings.ts'
import { ownCompany } from '#projections/companies.ts'
import { cashDrawerByUser, listDrawerSessions, openSessionIn } from '#projections/tills.ts'
import { userById } from '#projections/users.ts'
import { PositiveMoney } from '#records/accounts.ts'
import { cancellationRefs, movedBy, recordMovement } from './cash-commands.ts'
import { pickOwner, seenDrawer } from './named-drawers.ts'

/** A movement in the panel; the ids are new ones. */
interface DrawerMovement {
  readonly session_id: string
  readonly offline_id: string
}

const Reason = { reason: optionalText(500) }

export const OpenDrawer = z.strictObject({ amount: Money, ...Reason })
export const MoveDrawer = z.strictObject({ amount: PositiveMoney, ...Reason })
export const CloseDrawer = z.strictObject({ counted: Money, ...Reason })

const movementRefs = ({ session_id, offline_id }: DrawerMovement): AnyRef[] => [
  ownCompany,
  cashSessionByName(session_id),
  cashMovementById(offline_id),
]

const userRefs = (userId: number): AnyRef[] => [userById(userId), cashDrawerByUser(userId)]

const contentOf = (
  { session_id }: DrawerMovement,
  content: Pick<CashMovement, 'kind' | 'amount' | 'at'> & { readonly reason?: string | null | undefined },
  counted: CashMovement['counted'] = null,
): CashMovement => ({ ...content, session_id, reason: content.reason ?? null, receivable_id: null, counted })

/** Opens a drawer of the acting user, who may have one open (DRAWER-1240). */
export const openDrawer = command<DrawerMovement & { readonly userId: number } & z.infer<typeof OpenDrawer>>({
  permission: 'cash_sessions',
  needs: (input) => [...movementRefs(input), ...userRefs(input.userId)],
  needsMore: (rows, { userId }) => cancellationRefs(rows, userId),
  decide(rows, input, context) {
    const { userId, offline_id, amount, reason } = input
    if (openSessionIn(listDrawerSessions(rows, userId)) !== null)
      return refuseField('amount', 'você já tem uma gaveta aberta: feche-a antes de abrir outra')
    const content = contentOf(input, { kind: 'opened', amount, at: context.now, reason })
    return recordMovement(rows, { offline_id, userId }, content, context)
  },
})

const ownerIn = (rows: Rows, { session_id }: DrawerMovement): number | null =>
  rows.get(cashSessionByName(session_id))?.owner ?? null

/** Supply (`in`) or bleed (`out`) of an open drawer. A bleed may exceed what is expected: a refusal would tell it. */
export const moveDrawer = command<DrawerMovement & { readonly kind: 'in' | 'out' } & z.infer<typeof MoveDrawer>>({
  permission: 'cash_sessions',
  needs: movementRefs,
  needsMore(rows, input) {
    const owner = ownerIn(rows, input)
    return owner === null ? [] : userRefs(owner)
  },
  decide(rows, input, context) {
    const { session_id, offline_id, kind, amount, reason } = input
    const drawer = seenDrawer(rows, session_id, context)
    if (!drawer) return refuse('not_found')
    if (drawer.closed_at !== null) return refuse('session_closed')
    const told = { offline_id, userId: drawer.owner ?? undefined, ...pickOwner(drawer, context.actor) }
    return recordMovement(rows, told, contentOf(input, { kind, amount, at: context.now, reason }), context)
  },
})

/** What a closing of the drawer is decided by beside its rows. */
const closingOf = (rows: Rows, input: DrawerMovement, now: string) => ({
  ...({ kind: 'closed', session_id: input.session_id, at: now } as const),
  userId: ownerIn(rows, input) ?? undefined,
})

/** Closes a drawer by the count of its cash. */
export const closeDrawer = command<DrawerMovement & z.infer<typeof CloseDrawer>>({
  permission: 'cash_sessions',
  needs: movementRefs,
  needsMore(rows, input) {
    const owner = ownerIn(rows, input)
    return owner === null ? [] : userRefs(owner)
  },
  needsLast(rows, input) {
    const owner = ownerIn(rows, input)
    return owner === null ? [] : cancellationRefs(rows, owner)
  },
  lookup: (rows, input, now) => takingsLookup(input.session_id, movedBy(rows, closingOf(rows, input, now))),
  decide(rows, input, context) {
    const { session_id, offline_id, counted, reason } = input
    const drawer = seenDrawer(rows, session_id, context)
    if (!drawer) return refuse('not_found')
    const told = { offline_id, userId: drawer.owner ?? undefined, ...pickOwner(drawer, context.actor) }
    const closing = { kind: 'closed', amount: null, at: context.now, reason } as const
    return recordMovement(rows, told, contentOf(input, closing, [{ payment_type_id: null, amount: counted }]), context)
  },
})

export const DifferenceExplanation = z
  .strictObject({ reason: z.enum(DIFFERENCE_REASONS, 'escolha um motivo'), note: optionalText(500) })
  .refine(({ reason, note }) => reason !== 'other' || (note ?? '') !== '', {
    path: ['note'],
    error: 'diga o que aconteceu',
  })

/** Explains the present difference of a closed drawer, which is then no task any more (DRAWER-1243). */
export const explainDifference = command<{ readonly session_id: string } & z.infer<typeof DifferenceExplanation>>({
  permission: 'see_all_sales',
  needs: ({ session_id }) => [ownCompany, cashSessionByName(session_id)],
  lookup: (_rows, { session_id }) => takingsLookup(session_id, []),
  decide(rows, { session_id, reason, note = null }, { permit, found }) {
    const granted = permit('cash_sessions')
    if (isRefusal(granted)) return granted
    const session = rows.get(cashSessionByName(session_id))
    if (!session) return refuse('not_found')
    const { id, doc } = session
    const [{ takings }] = found as readonly [{ readonly takings: CashTakings }]
    const difference = session.closed_at === null ? null : largestDifference(doc, takings)
    if (difference === null || difference === '0.00')
      return refuseField('reason', 'a gaveta não tem diferença para explicar')
    const { explained } = doc
    if (explained?.reason === reason && explained.note === note && explained.difference === difference)
      return accept('unchanged', `cash_session/${id}`)
    return accept('updated', `cash_session/${id}`, [event('CashDifferenceExplained', { id, reason, note, difference })])
  },
})
