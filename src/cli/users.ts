import { hashPassword, Password } from '#access/passwords.ts'
import {
  CreateUserInput,
  changePassword,
  createUser,
  deactivateUser,
  reactivateUser,
  UpdateUserInput,
  updateUser,
} from '#commands/users.ts'
import { refuse } from '#domain/refusal.ts'
import type { Command } from '#ledger/command.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { UserObject } from '#projections/users.ts'
import { accepted, type Context, checked, companyOf, given, Refused, type Verb, type Verbs } from './verb.ts'

const UserFields = CreateUserInput.omit({ password_hash: true }).extend({ password: Password })
const NamedByEmail = CreateUserInput.pick({ email: true })
const Passwords = NamedByEmail.extend({ password: Password })
const Changes = NamedByEmail.extend(UpdateUserInput.omit({ id: true }).shape)

/** Runs a command on the user of a company who has an e-mail address. */
async function onUser<I extends { id: number }>(
  context: Context,
  company: string,
  { email, ...rest }: { readonly email: string } & Omit<I, 'id'>,
  command: Command<I>,
): Promise<UserObject> {
  const core = await context.core()
  const companyId = await companyOf(core, company)
  const { rows } = await core.pool.query<{ id: number }>(
    `select id from users where company_id = $1 and doc->>'email' = $2`,
    [companyId, email],
  )
  if (!rows[0]) throw new Refused(refuse('not_found', { email }))
  return accepted(await runAsSystem<UserObject>(core.writer, companyId, command, { id: rows[0].id, ...rest }))
}

const switching = (command: Command<{ id: number }>): Verb<'user deactivate' | 'user reactivate'> => ({
  run: (context, { company, ...values }) => onUser(context, company, checked(NamedByEmail, values), command),
})

export const verbs: Verbs<'user'> = {
  'user create': {
    async run(context, { company, ...values }) {
      const { password, ...fields } = checked(UserFields, values)
      const core = await context.core()
      const companyId = await companyOf(core, company)
      const input = { ...fields, password_hash: await hashPassword(password) }
      return accepted(await runAsSystem<UserObject>(core.writer, companyId, createUser, input))
    },
  },
  'user list': {
    async run(context, { company }) {
      const core = await context.core()
      const companyId = await companyOf(core, company)
      const { rows } = await core.pool.query<{ doc: UserObject }>(
        'select doc from users where company_id = $1 order by id',
        [companyId],
      )
      return rows.map((row) => row.doc)
    },
  },
  'user update': {
    run: (context, { company, ...values }) => onUser(context, company, checked(Changes, given(values)), updateUser),
  },
  'user set-password': {
    async run(context, { company, ...values }) {
      const { email, password } = checked(Passwords, values)
      return onUser(context, company, { email, password_hash: await hashPassword(password) }, changePassword)
    },
  },
  'user deactivate': switching(deactivateUser),
  'user reactivate': switching(reactivateUser),
}
