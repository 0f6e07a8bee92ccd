import { z } from 'zod'
import { invalid, refuse } from '#domain/refusal.ts'
import { Id } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import {
  credentialsByEmail,
  credentialsById,
  type UserCredentials,
  userById,
  userCredentials,
} from '#projections/users.ts'

/** The password comes hashed: neither it nor its hash may enter an event. */
export const ChangePasswordInput = z.strictObject({
  id: Id,
  password_hash: z.string(),
  /** Of users who change their own: the hash that their old password was found to fit. It must still be the one in force. */
  verified_hash: z.string().optional(),
})
export type ChangePasswordInput = z.infer<typeof ChangePasswordInput>

/** Gives a user another password and closes whatever was open with the one before, in the same transaction. */
export const changePassword = command<ChangePasswordInput>({
  needs: ({ id }) => [userById(id), credentialsById(id)],
  // Credentials are lost with the Postgres they were in, the user is not; another may have taken the address meanwhile.
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
