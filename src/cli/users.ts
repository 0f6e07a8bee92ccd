import { CreateUserInput, createUser } from '../../commands/users/create-user.ts'
import type { UserObject } from '../../projections/users.ts'
import { runAsSystem } from '../access/as-system.ts'
import { hashPassword, Password } from '../access/passwords.ts'
import { ROLES } from '../events/companies.ts'
import { accepted, checked, companyOf, required, verb } from './verb.ts'

const UserFields = CreateUserInput.omit({ password_hash: true }).extend({ password: Password })

export const userVerbs = {
  create: verb({
    summary: 'lets a person log in at the counter and in the panel',
    flags: {
      company: required('ID'),
      name: required('NAME'),
      email: required('ADDRESS'),
      password: required('PASSWORD'),
      role: required(ROLES.join('|')),
    },
    async run(context, { company, ...values }) {
      const { password, ...fields } = checked(UserFields, values)
      const core = await context.core()
      const companyId = await companyOf(core, company)
      const input = { ...fields, password_hash: await hashPassword(password) }
      return accepted(await runAsSystem<UserObject>(core.writer, companyId, createUser, input))
    },
  }),
}
