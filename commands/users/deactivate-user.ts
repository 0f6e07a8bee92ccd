import { z } from 'zod'
import { invalid, refuse } from '#domain/refusal.ts'
import { Id } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { ownCompany } from '#projections/companies.ts'
import { userById } from '#projections/users.ts'
import { isLastOwner } from './last-owner.ts'

export const DeactivateUserInput = z.strictObject({ id: Id })
export type DeactivateUserInput = z.infer<typeof DeactivateUserInput>

/**
 * Shuts a user out, from the next call on, wherever somebody is logged in. Name, address and history stay. Nobody does it to
 * themselves, since they could not undo it.
 */
export const deactivateUser = command<DeactivateUserInput>({
  needs: ({ id }) => [ownCompany, userById(id)],
  decide(rows, { id }, { actor }) {
    const known = rows.get(userById(id))
    if (!known) return refuse('not_found')
    if (known.doc.status === 'inactive') return accept('unchanged', `user/${id}`)
    if (actor === `user/${id}`) return invalid('id', 'não pode ser o próprio usuário')
    if (isLastOwner(rows, id)) return refuse('last_owner')
    return accept('updated', `user/${id}`, [event('UserDeactivated', { id })])
  },
})
