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
import { ROLES } from '#events/companies.ts'
import type { Command } from '#ledger/command.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { UserObject } from '#projections/users.ts'
import { accepted, type Context, checked, companyOf, given, optional, Refused, required, secret, verb } from './verb.ts'

const UserFields = CreateUserInput.omit({ password_hash: true }).extend({ password: Password })
const NamedByEmail = CreateUserInput.pick({ email: true })
const Passwords = NamedByEmail.extend({ password: Password })
const Changes = NamedByEmail.extend(UpdateUserInput.omit({ id: true }).shape)

/** Flags that name a user of a company. */
const NAMED = { company: required('ID'), email: required('ADDRESS') }

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
    `select id from read.users where company_id = $1 and doc->>'email' = $2`,
    [companyId, email],
  )
  if (!rows[0]) throw new Refused(refuse('not_found', { email }))
  return accepted(await runAsSystem<UserObject>(core.writer, companyId, command, { id: rows[0].id, ...rest }))
}

const switching = (summary: string, command: Command<{ id: number }>) =>
  verb({
    summary,
    flags: NAMED,
    run: (context, { company, ...values }) => onUser(context, company, checked(NamedByEmail, values), command),
  })

export const userVerbs = {
  create: verb({
    summary: 'lets a person log in at the counter and in the panel',
    flags: {
      ...NAMED,
      name: required('NAME'),
      password: secret(required('PASSWORD')),
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
  list: verb({
    summary: 'lists the users of a company, also inactive ones',
    flags: { company: required('ID') },
    async run(context, { company }) {
      const core = await context.core()
      const companyId = await companyOf(core, company)
      const { rows } = await core.pool.query<{ doc: UserObject }>(
        'select doc from read.users where company_id = $1 order by id',
        [companyId],
      )
      return rows.map((row) => row.doc)
    },
  }),
  update: verb({
    summary: 'changes the name or the role of a user; one owner must be left',
    flags: { ...NAMED, name: optional('NAME'), role: optional(ROLES.join('|')) },
    run: (context, { company, ...values }) => onUser(context, company, checked(Changes, given(values)), updateUser),
  }),
  'set-password': verb({
    summary: 'gives a user another password and ends whatever was open with the old one, in the panel and at tills',
    flags: { ...NAMED, password: secret(required('PASSWORD')) },
    async run(context, { company, ...values }) {
      const { email, password } = checked(Passwords, values)
      return onUser(context, company, { email, password_hash: await hashPassword(password) }, changePassword)
    },
  }),
  deactivate: switching('shuts a user out, in the panel and at tills, from the next call on', deactivateUser),
  reactivate: switching('lets a user log in again', reactivateUser),
}
