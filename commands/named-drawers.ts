import type * as z from 'zod'
import { fromCents, MAX_CENTS, toCents } from '#domain/money.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { ExternalId } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { type DecisionContext, isRefusal, type NewEvent } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { type CashSessionRow, cashSessionByName } from '#projections/cash-sessions.ts'

/** Open session of a drawer that money goes into or out of, as a person names it; null or absent: no drawer. */
export const NamedSession = ExternalId.nullish()

type SessionName = z.infer<typeof NamedSession>

export const namedSessionRefs = (name: SessionName): AnyRef[] => (name ? [cashSessionByName(name)] : [])

/** Whether a till has moved a session first: its operators share the drawer. */
export const isOfTill = (session: Readonly<CashSessionRow> | null | undefined, tillId: number | undefined): boolean =>
  tillId !== undefined && session?.till_id === tillId

/**
 * Whether another user has opened the session that a till names, at another till; an unknown one may be opened later. It
 * is loaded.
 */
export function isOfOther(rows: Rows, name: SessionName, userId: number | undefined, tillId?: number): boolean {
  const session = name ? rows.get(cashSessionByName(name)) : null
  const openedBy = isOfTill(session, tillId) ? null : (session?.doc.opened_by ?? null)
  return openedBy !== null && userId !== undefined && openedBy !== userId
}

type Mover = Pick<DecisionContext, 'actor' | 'permit'>

/** Whether the actor may see and move a drawer: the own one, or with `see_all_sales` any. */
const isDrawerSeen = ({ owner }: Readonly<CashSessionRow>, { actor, permit }: Mover): boolean =>
  (owner !== null && actor === `user/${owner}`) || !isRefusal(permit('see_all_sales'))

/** The session of a drawer that the actor may see; null for an unknown one, and for those of others. It is loaded. */
export function seenDrawer(rows: Rows, name: string, mover: Mover): Readonly<CashSessionRow> | null {
  const session = rows.get(cashSessionByName(name))
  return session && isDrawerSeen(session, mover) ? session : null
}

const CLOSED = refuseField('cash_session_id', 'não é uma sessão de caixa aberta')

/** Refusal of a session that is unknown to the actor or closed: its drawer has been counted. */
export function findClosedSession(rows: Rows, name: SessionName, mover: Mover): Refusal | null {
  return !name || seenDrawer(rows, name, mover)?.closed_at === null ? null : CLOSED
}

type MovedAccount = Pick<DataOf<'CashMoved'>, 'receivable_id' | 'payable_id'> & { readonly cents: number }

/** Cash of accounts that a person puts into an open drawer, or takes out of it. */
export interface AccountCash {
  readonly session: string
  /** Names the movements; unique in the company. */
  readonly movementId: string
  readonly kind: DataOf<'CashMoved'>['kind']
  readonly reason: string | null
  readonly accounts: readonly MovedAccount[]
}

/** Movements of an open drawer that the actor may see, which is loaded; none of nothing. */
export function moveNamedDrawer(
  rows: Rows,
  { session, movementId, kind, reason, accounts }: AccountCash,
  { actor, now, permit }: Pick<DecisionContext, 'actor' | 'now' | 'permit'>,
): NewEvent[] | Refusal {
  const drawer = seenDrawer(rows, session, { actor, permit })
  if (!drawer || drawer.closed_at !== null) return CLOSED
  const moved = accounts.filter(({ cents }) => cents > 0)
  const sum = moved.reduce((cents, each) => cents + each.cents, toCents(drawer.doc[kind]))
  if (sum > MAX_CENTS) return refuseField('cash_session_id', 'a soma da gaveta é grande demais')
  return moved.map(({ cents, ...account }, n) =>
    event('CashMoved', {
      ...{ id: drawer.id, session_id: session, offline_id: `${movementId}/${n}`, kind, amount: fromCents(cents) },
      ...{ at: now, reason, warnings: [], ...account, ...pickOwner(drawer, actor) },
    }),
  )
}

/** Member of a movement's event: whose drawer it is, if that is not the actor's. */
export const pickOwner = ({ owner }: Readonly<CashSessionRow>, actor: string | null): { owner_id?: number } =>
  owner === null || actor === `user/${owner}` ? {} : { owner_id: owner }
