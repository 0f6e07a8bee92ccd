import { z } from 'zod'
import { invalid, refuse } from '#domain/refusal.ts'
import { Email, Id, text } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { ROLES } from '#events/companies.ts'
import { accept, command } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { companyOf, ownCompany } from '#projections/companies.ts'
import {
  credentialsByEmail,
  credentialsById,
  type UserCredentials,
  userById,
  userCredentials,
} from '#projections/users.ts'
import { changesBetween, isEmpty, type RecordId } from './records.ts'

/** The password comes hashed: neither it nor its hash may enter an event. */
export const CreateUserInput = z.strictObject({
  name: text(120),
  email: Email,
  role: z.enum(ROLES),
  password_hash: z.string(),
})
export type CreateUserInput = z.infer<typeof CreateUserInput>

/** Lets a person log in, at the counter and in the panel. The e-mail belongs to one user of the whole service. */
export const createUser = command<CreateUserInput>({
  needs: ({ email }) => [credentialsByEmail(email)],
  ids: () => ({ user: 1 }),
  decide(rows, { password_hash, ...user }, { companyId, nextId }) {
    const holder = rows.get(credentialsByEmail(user.email))
    // Named only if it is the company's own: nobody learns of other companies' users.
    const conflicting_id = holder?.company_id === companyId ? holder.user_id : undefined
    if (holder) return refuse('duplicate_resource', { field: 'email', ...(conflicting_id && { conflicting_id }) })
    const created = event('UserCreated', { id: nextId('user'), ...user })
    const credentials: UserCredentials = {
      user_id: Number(created.subject.slice('user/'.length)),
      company_id: companyId,
      email: user.email,
      password_hash,
    }
    return accept('created', created.subject, [created], [{ table: userCredentials, row: credentials }])
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

/** Gives a user another password and ends all sessions and tokens of the old one, in the same transaction. */
export const changePassword = command<ChangePasswordInput>({
  needs: ({ id }) => [userById(id), credentialsById(id)],
  // Credentials are lost with the Postgres they were in, the user is not; another may have taken the e-mail meanwhile.
  needsMore(rows, { id }) {
    const user = rows.get(userById(id))
    return user ? [credentialsByEmail(user.doc.email)] : []
  },
  decide(rows, { id, password_hash, verified_hash }, { companyId }) {
    const user = rows.get(userById(id))
    if (!user) return refuse('not_found')
    if (verified_hash !== undefined && rows.get(credentialsById(id))?.password_hash !== verified_hash)
      return invalid('current_password', 'está incorreta')
    const { email } = user.doc
    const holder = rows.get(credentialsByEmail(email))
    if (holder && holder.user_id !== id) return refuse('duplicate_resource', { field: 'email' })
    const credentials: UserCredentials = { user_id: id, company_id: companyId, email, password_hash }
    const changed = event('UserPasswordChanged', { id })
    return accept('updated', changed.subject, [changed], [{ table: userCredentials, row: credentials }])
  },
})

/**
 * Shuts a user out, from the next call on, wherever they are logged in. Name, e-mail and history stay. Nobody does it to
 * themselves: they could not undo it.
 */
export const deactivateUser = command<RecordId>({
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

/** Lets a user log in again, with the same password. Sessions of before stay closed. */
export const reactivateUser = command<RecordId>({
  needs: ({ id }) => [userById(id)],
  decide(rows, { id }) {
    const known = rows.get(userById(id))
    if (!known) return refuse('not_found')
    if (known.doc.status === 'active') return accept('unchanged', `user/${id}`)
    return accept('updated', `user/${id}`, [event('UserReactivated', { id })])
  },
})

/** Whether nobody but this user could still administer the company: keys, users and webhooks are for owners. */
function isLastOwner(rows: Rows, userId: number): boolean {
  const { active_owners } = companyOf(rows)
  return active_owners.length === 1 && active_owners[0] === userId
}
