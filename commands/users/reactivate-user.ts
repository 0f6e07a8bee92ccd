import { z } from 'zod'
import { refuse } from '#domain/refusal.ts'
import { Id } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { userById } from '#projections/users.ts'

export const ReactivateUserInput = z.strictObject({ id: Id })
export type ReactivateUserInput = z.infer<typeof ReactivateUserInput>

/** Lets a user log in again, with the same password. What was open before stays closed. */
export const reactivateUser = command<ReactivateUserInput>({
  needs: ({ id }) => [userById(id)],
  decide(rows, { id }) {
    const known = rows.get(userById(id))
    if (!known) return refuse('not_found')
    if (known.doc.status === 'active') return accept('unchanged', `user/${id}`)
    return accept('updated', `user/${id}`, [event('UserReactivated', { id })])
  },
})
