import { z } from 'zod'
import { refuse } from '#domain/refusal.ts'
import { Email, text } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { ROLES } from '#events/companies.ts'
import { accept, command } from '#ledger/command.ts'
import { credentialsByEmail, type UserCredentials, userCredentials } from '#projections/users.ts'

/** The password comes hashed: neither it nor its hash may enter an event. */
export const CreateUserInput = z.strictObject({
  name: text(120),
  email: Email,
  role: z.enum(ROLES),
  password_hash: z.string(),
})
export type CreateUserInput = z.infer<typeof CreateUserInput>

/** Lets a person log in, at the counter and in the panel. The address belongs to one user of the whole service. */
export const createUser = command<CreateUserInput>({
  needs: ({ email }) => [credentialsByEmail(email)],
  ids: () => ({ user: 1 }),
  decide(rows, { password_hash, ...user }, { companyId, nextId }) {
    const holder = rows.get(credentialsByEmail(user.email))
    // Whose it is, is only told when it is the company's own: nobody learns of other companies' users.
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
