import { z } from 'zod'
import { forgotten, invalid, type Refusal, refuse } from '#domain/refusal.ts'
import { Email, Id, text } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { ROLES } from '#events/companies.ts'
import { accept, command } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { companyOf, ownCompany } from '#projections/companies.ts'
import { type Person, personByEmail, persons, userByEmail, userById } from '#projections/users.ts'
import { changesBetween, isEmpty, type RecordId } from './records.ts'

/** The password comes hashed: neither it nor its hash may enter an event. */
export const CreateUserInput = z.strictObject({
  name: text(120),
  email: Email,
  role: z.enum(ROLES),
  password_hash: z.string(),
})
export type CreateUserInput = z.infer<typeof CreateUserInput>

/** The refusal of an address that a user of the company has; whoever it belongs to elsewhere is nobody's business here. */
export function takenEmail(rows: Rows, email: string): Refusal | null {
  const holder = rows.get(userByEmail(email))
  return holder && refuse('duplicate_resource', { field: 'email', conflicting_id: holder.id })
}

/**
 * Lets a person log in to the company, at the counter and in the panel, without being asked: for operators. The password is for
 * a person whom no company knows; another one's stays as it is.
 */
export const createUser = command<CreateUserInput>({
  needs: ({ email }) => [userByEmail(email), personByEmail(email)],
  decide(rows, { password_hash, ...user }, { nextId }) {
    const taken = takenEmail(rows, user.email)
    if (taken) return taken
    const created = event('UserCreated', { id: nextId('user'), ...user })
    const person: Person = { email: user.email, password_hash, generation: 0 }
    const isKnown = rows.get(personByEmail(user.email)) !== null
    return accept('created', created.subject, [created], isKnown ? [] : [{ table: persons, row: person }])
  },
})

/** Absent is left alone. The e-mail stays: it is what people log in with. */
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
    if (known.doc.forgotten_at !== null) return forgotten(`user/${id}`)
    const changes = changesBetween(known.doc, fields)
    if (isEmpty(changes)) return accept('unchanged', `user/${id}`)
    if (changes.role === 'clerk' && isLastOwner(rows, id)) return refuse('last_owner')
    return accept('updated', `user/${id}`, [event('UserUpdated', { id, changes })])
  },
})

/** The password comes hashed: neither it nor its hash may enter an event. */
export const ChangePasswordInput = z.strictObject({
  id: Id,
  password_hash: z.string(),
  /** Of users who change their own: the hash that their old password was found to fit. It must still be the one in force. */
  verified_hash: z.string().optional(),
})
export type ChangePasswordInput = z.infer<typeof ChangePasswordInput>

/** Gives a person another password and ends whatever was open with the old one, in all companies, in the same transaction. */
export const changePassword = command<ChangePasswordInput>({
  needs: ({ id }) => [userById(id)],
  needsMore(rows, { id }) {
    const user = rows.get(userById(id))
    return user?.doc.email ? [personByEmail(user.doc.email)] : []
  },
  decide(rows, { id, password_hash, verified_hash }) {
    const user = rows.get(userById(id))
    // Whoever has not accepted an invitation is nobody whose password this company could change.
    if (user?.doc.status !== 'active' && user?.doc.status !== 'inactive') return refuse('not_found')
    const { email } = user.doc
    if (email === null) return forgotten(`user/${id}`)
    // None where it was lost with the Postgres that it was in.
    const person = rows.get(personByEmail(email))
    if (verified_hash !== undefined && person?.password_hash !== verified_hash)
      return invalid('current_password', 'está incorreta')
    const row: Person = { email, password_hash, generation: (person?.generation ?? 0) + 1 }
    const changed = event('UserPasswordChanged', { id })
    return accept('updated', changed.subject, [changed], [{ table: persons, row }])
  },
})

/**
 * Shuts a user out of the company, from the next call on, wherever they are logged in to it; other companies are untouched. An
 * invitation is taken back. Name, e-mail and history stay. Nobody does it to themselves: they could not undo it.
 */
export const deactivateUser = command<RecordId>({
  needs: ({ id }) => [ownCompany, userById(id)],
  decide(rows, { id }, { actor }) {
    const known = rows.get(userById(id))
    if (!known) return refuse('not_found')
    const { status } = known.doc
    if (status === 'inactive' || status === 'cancelled') return accept('unchanged', `user/${id}`)
    if (status === 'invited') return accept('updated', `user/${id}`, [event('UserInvitationCancelled', { id })])
    if (actor === `user/${id}`) return invalid('id', 'não pode ser o próprio usuário')
    if (isLastOwner(rows, id)) return refuse('last_owner')
    return accept('updated', `user/${id}`, [event('UserDeactivated', { id })])
  },
})

/** Lets a user log in again, with the same password. Sessions of before stay closed. */
export const reactivateUser = command<RecordId>({
  needs: ({ id }) => [userById(id)],
  decide(rows, { id }) {
    const known = rows.get(userById(id))
    if (!known) return refuse('not_found')
    if (known.doc.forgotten_at !== null) return forgotten(`user/${id}`)
    if (known.doc.status === 'active') return accept('unchanged', `user/${id}`)
    if (known.doc.status !== 'inactive') return invalid('id', 'só entra na empresa quem aceita o convite')
    return accept('updated', `user/${id}`, [event('UserReactivated', { id })])
  },
})

/** Whether nobody but this user could still administer the company: keys, users and webhooks are for owners. */
export function isLastOwner(rows: Rows, userId: number): boolean {
  const { active_owners } = companyOf(rows)
  return active_owners.length === 1 && active_owners[0] === userId
}
