import { z } from 'zod'
import { refuse } from '#domain/refusal.ts'
import { Id } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { ownCompany } from '#projections/companies.ts'
import { userById } from '#projections/users.ts'
import { changesBetween, isEmpty } from '../records/changes.ts'
import { CreateUserInput } from './create-user.ts'
import { isLastOwner } from './last-owner.ts'

/** Absent is left alone. The address stays: it is what people log in with. */
export const UpdateUserInput = z.strictObject({
  id: Id,
  ...CreateUserInput.pick({ name: true, role: true }).partial().shape,
})
export type UpdateUserInput = z.infer<typeof UpdateUserInput>

/** Changes a user's name or role, which counts from the next call on, also of whoever is logged in. */
export const updateUser = command<UpdateUserInput>({
  needs: ({ id }) => [ownCompany, userById(id)],
  decide(rows, { id, ...fields }) {
    const known = rows.get(userById(id))
    if (!known) return refuse('not_found')
    const changes = changesBetween(known.doc, fields)
    if (isEmpty(changes)) return accept('unchanged', `user/${id}`)
    if (changes.role === 'clerk' && isLastOwner(rows, id)) return refuse('last_owner')
    return accept('updated', `user/${id}`, [event('UserUpdated', { id, changes })])
  },
})
