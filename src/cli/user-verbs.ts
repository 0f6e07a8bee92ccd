import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import { createMailer } from '#access/email.ts'
import { createLogin } from '#access/login.ts'
import { createInvitations } from '#access/one-time-links.ts'
import { hashPassword, Password } from '#access/passwords.ts'
import { createSecondFactors } from '#access/second-factors.ts'
import { InviteFields, inviteUser, renewInvitation } from '#commands/invitation-commands.ts'
import {
  CreateUserInput,
  changePassword,
  createUser,
  deactivateUser,
  reactivateUser,
  recordSecondFactorRemoval,
  UpdateUserInput,
  updateUser,
} from '#commands/user-commands.ts'
import type { Config } from '#config/config.ts'
import { webAddressSetting } from '#config/setting-values.ts'
import { demoCompany } from '#demo/companies/demo-seed.ts'
import {
  type CashMovement,
  type Credentials,
  createDrawer,
  createReturnDesk,
  createSession,
  type OfflineReturn,
} from '#demo/till/demo-drawer.ts'
import { createLine, openQueue } from '#demo/till/demo-sales.ts'
import { createTill, playDay } from '#demo/till/demo-till.ts'
import { refuse, refuseField } from '#domain/refusals.ts'
import type { Command } from '#ledger/command.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { UserObject } from '#projections/users.ts'
import {
  type Context,
  companyIdFrom,
  givenFlags,
  Refused,
  requireAccepted,
  type Verb,
  type Verbs,
  validateInput,
} from './verb.ts'

const UserFields = CreateUserInput.omit({ password_hash: true }).extend({ password: Password })
const NamedByEmail = CreateUserInput.pick({ email: true })
const Passwords = NamedByEmail.extend({ password: Password })
const Changes = NamedByEmail.extend(UpdateUserInput.omit({ id: true }).shape)

/** Runs a command on the user of a company with an e-mail address. */
async function onUser<I extends { id: number }>(
  context: Context,
  company: string,
  { email, ...rest }: { readonly email: string } & Omit<I, 'id'>,
  command: Command<I>,
): Promise<UserObject> {
  const { core, companyId } = await companyIdFrom(context, company)
  const { rows } = await core.pool.query<{ id: number }>(
    `select id from users where company_id = $1 and doc->>'email' = $2`,
    [companyId, email],
  )
  if (!rows[0]) throw new Refused(refuse('not_found', { email }))
  return requireAccepted(await runAsSystem<UserObject>(core.writer, companyId, command, { id: rows[0].id, ...rest }))
}

interface AccessFlags {
  readonly 'access-until'?: string | undefined
  readonly 'personal-data'?: string | undefined
}

/** Converts flags to the user fields of commands. */
function fieldsOf({ 'access-until': access_until, 'personal-data': personalData, ...fields }: AccessFlags): object {
  const personal_data = personalData === 'yes' || personalData === 'no' ? personalData === 'yes' : personalData
  return givenFlags({ ...fields, access_until, personal_data })
}

const switchVerb = (command: Command<{ id: number }>): Verb<'user deactivate' | 'user reactivate'> => ({
  run: (context, { company, ...values }) => onUser(context, company, validateInput(NamedByEmail, values), command),
})

/** E-mails an invitation link, or prints it without a mail server. An open or revoked invitation is sent again. */
async function invite(context: Context, company: string, fields: z.infer<typeof InviteFields>): Promise<object> {
  const { SMTP_URL, SMTP_FROM, PUBLIC_URL: publicUrl } = context.config
  const { core, companyId } = await companyIdFrom(context, company)
  const { pool, writer } = core
  const mailer = SMTP_URL === undefined ? null : createMailer(SMTP_URL, SMTP_FROM)
  try {
    const invitations = createInvitations({ pool, writer, login: createLogin(pool), mailer, publicUrl })
    const { link, ...made } = invitations.create()
    const { rows } = await pool.query<{ id: number }>(
      `select id from users where company_id = $1 and email = $2 and doc->>'status' in ('invited', 'cancelled')`,
      [companyId, fields.email],
    )
    const [open] = rows
    const user = requireAccepted(
      open
        ? await runAsSystem<UserObject>(writer, companyId, renewInvitation, { id: open.id, ...made })
        : await runAsSystem<UserObject>(writer, companyId, inviteUser, { ...fields, ...made }),
    )
    const isSent = await invitations.send({ link }, { email: fields.email, companyId })
    return isSent ? user : { ...user, link }
  } finally {
    mailer?.close()
  }
}

export const userVerbs: Omit<Verbs<'user'>, 'user list'> = {
  'user invite': {
    run: (context, { company, ...values }) => invite(context, company, validateInput(InviteFields, fieldsOf(values))),
  },
  'user create': {
    async run(context, { company, ...values }) {
      const { password, ...fields } = validateInput(UserFields, fieldsOf(values))
      const { core, companyId } = await companyIdFrom(context, company)
      const input = { ...fields, password_hash: await hashPassword(password) }
      return requireAccepted(await runAsSystem<UserObject>(core.writer, companyId, createUser, input))
    },
  },
  'user update': {
    run: (context, { company, ...values }) =>
      onUser(context, company, validateInput(Changes, fieldsOf(values)), updateUser),
  },
  'user set-password': {
    async run(context, { company, ...values }) {
      const { email, password } = validateInput(Passwords, values)
      return onUser(context, company, { email, password_hash: await hashPassword(password) }, changePassword)
    },
  },
  'user remove-second-factor': {
    async run(context, { company, ...values }) {
      const { email } = validateInput(NamedByEmail, values)
      const user = await onUser(context, company, { email, method: null }, recordSecondFactorRemoval)
      const { pool, vault } = await context.core()
      const { PUBLIC_URL: publicUrl } = context.config
      await createSecondFactors({ pool, vault, publicUrl, mailer: null, log: () => {} }).remove(email, null)
      return user
    },
  },
  'user deactivate': switchVerb(deactivateUser),
  'user reactivate': switchVerb(reactivateUser),
}

const SALES = 25
const Plan = z.strictObject({ sales: z.int().min(0).max(10_000), url: webAddressSetting })
/** Small, so that a few sales need several uploads. */
const PORTION = 10

/** Simulates a day of an offline till against a running service, with connection failures at critical moments. */
export const tillVerbs: Verbs<'till'> = {
  till: {
    async run({ config }, { url = config.PUBLIC_URL, email, password, demo, sales, queue: file = null }) {
      const credentials = await credentialsOf(config, demo ? {} : { email, password })
      const plan = validateInput(Plan, { sales: sales === undefined ? SALES : Number(sales), url })
      // Progress goes to standard error; the report is the result.
      const say = (text: string) => void process.stderr.write(`${text}\n`)
      const line = createLine(plan.url)
      const session = createSession({ line, credentials, say, random: Math.random })
      const queue = await openQueue(file)
      const world = { random: Math.random, now: () => new Date(), newId: randomUUID }
      // Beside the queue of sales: all survive a power failure.
      const movements = await openQueue<CashMovement>(file === null ? null : `${file}.cash`)
      const drawer = createDrawer({ session, queue: movements, world, say })
      const returns = await openQueue<OfflineReturn>(file === null ? null : `${file}.returns`)
      const desk = createReturnDesk({ session, queue: returns, drawer, world, say })
      const client = createTill({ session, queue, drawer, world, say, portion: PORTION })
      return playDay({ line, session, queue, drawer, desk, till: client, say }, plan.sales)
    },
  },
}

/** The given credentials, or those of the first demonstration company. */
async function credentialsOf(
  config: Config,
  { email, password }: { readonly email?: string | undefined; readonly password?: string | undefined },
): Promise<Credentials> {
  if (email !== undefined && password !== undefined) return { email, password }
  if (email !== undefined || password !== undefined) {
    throw new Refused(refuseField(email === undefined ? 'email' : 'password', 'give --email and --password together'))
  }
  return (await demoCompany(config)).user
}
