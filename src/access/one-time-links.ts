import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { Pool } from 'pg'
import * as z from 'zod'
import { type RegisterCompanyInput, registerCompany } from '#commands/company-commands.ts'
import { acceptInvitation, hasJoined, INVITATION_DAYS } from '#commands/invitation-commands.ts'
import { type CreateUserInput, changePassword, createUser, usePasswordLink } from '#commands/user-commands.ts'
import type { Vault } from '#crypto/vault.ts'
import type { Refusal } from '#domain/refusals.ts'
import { type AdjustedRoles, isLinkHeld, type Role, toRolePermissions } from '#domain/rights.ts'
import { boundedText, Email } from '#domain/text.ts'
import { invoke, isRefusal } from '#ledger/command.ts'
import { nextCompanyId } from '#ledger/ledgers.ts'
import { asSystem, asUser, runAs, runCommands } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { MASKED_NAME } from '#projections/companies.ts'
import { COMPANY_FIELDS } from '#records/company-settings.ts'
import { createPeople, type Membership } from './company-users.ts'
import { installationSecret, opaqueTokens, INVITATION_TOKENS as TOKENS } from './credentials.ts'
import { invitationEmail, type Mailer, passwordEmail, type ShopBrand, toShopBrand } from './email.ts'
import type { Login, LoginFailure, LoginSource } from './login.ts'
import { type AddressLimit, createAddressLimit } from './login-limits.ts'
import { hashPassword, Password } from './passwords.ts'

/** An invitation that can be accepted. */
export interface OpenInvitation {
  readonly userId: number
  readonly companyId: number
  readonly companyName: string
  readonly email: string
}

/** Content of a new invitation's e-mail; only the hash of the token is stored. */
export interface NewInvitation {
  readonly token_hash: Buffer
  readonly link: string
}

export interface Invitations {
  create(): NewInvitation
  /** Sends the link by e-mail; false if it was not sent and the inviting user must pass it on. */
  send(
    invitation: Pick<NewInvitation, 'link'>,
    to: { readonly email: string; readonly companyId: number },
  ): Promise<boolean>
  find(token: string): Promise<OpenInvitation | null>
  /**
   * Adds the holder of the link to the company, with their password from any company, or with a new one if they have
   * none. `over`: the link was used, replaced, withdrawn, or has expired, or its maker or person has changed.
   */
  accept(
    token: string,
    password: string,
    from: LoginSource,
  ): Promise<{ readonly kind: 'joined' | 'over' } | LoginFailure>
}

interface InvitationOptions {
  readonly pool: Pool
  readonly writer: Writer
  readonly login: Login
  /** Null without e-mail: the panel then shows links to the inviting user. */
  readonly mailer: Mailer | null
  readonly publicUrl: string
}

export function createInvitations(options: InvitationOptions): Invitations {
  const { pool, writer, login, mailer, publicUrl } = options
  const people = createPeople(pool)

  async function find(token: string): Promise<OpenInvitation | null> {
    const hash = TOKENS.hashOf(token)
    if (!hash) return null
    const { rows } = await pool.query<FoundInvitation>({ ...FIND, values: [hash] })
    if (!rows[0]) return null
    const { role, forOwner, madeBy, makerRole, roles, companies, joined, ...invitation } = rows[0]
    const maker = makerRole && toRolePermissions(makerRole, roles)
    if (madeBy !== null && !isLinkHeld(maker, { role: toRolePermissions(role, roles), forOwner })) return null
    return hasJoined({ companies }, joined) ? null : invitation
  }

  return {
    create() {
      const token = TOKENS.make()
      const link = `${publicUrl}/painel/convite?codigo=${token}`
      return { token_hash: TOKENS.hashOf(token) as Buffer, link }
    },
    async send({ link }, { email, companyId }) {
      if (!mailer) return false
      const { rows } = await pool.query<ShopBrand>(
        `select ${MASKED_NAME} as name, c.doc ->> 'logo_url' as "logoUrl", c.doc ->> 'brand_color' as color
         from companies c where c.company_id = $1`,
        [companyId],
      )
      if (!rows[0]) throw new Error(`company ${companyId} is not registered`)
      const letter = invitationEmail(toShopBrand(rows[0], publicUrl), link, INVITATION_DAYS)
      await mailer.send({ id: randomUUID(), to: [email], ...letter })
      return true
    },
    find,
    async accept(token, password, { address, requestId }) {
      const invitation = await find(token)
      if (!invitation) return { kind: 'over' }
      const { email } = invitation
      let generation = 0
      if (!(await people.begin(invitation, password))) {
        const confirmed = await login.confirm({ email, password }, { address, isInside: false })
        if (confirmed.kind !== 'right') return confirmed
        generation = confirmed.person.generation
      }
      const token_hash = TOKENS.hashOf(token) as Buffer
      const input = { id: invitation.userId, token_hash, generation }
      const joined = await runAs(writer, asUser(invitation, 'panel', requestId), acceptInvitation, input)
      return { kind: isRefusal(joined) ? 'over' : 'joined' }
    },
  }
}

interface FoundInvitation extends OpenInvitation {
  readonly role: Role
  readonly forOwner: boolean
  readonly companies: readonly number[]
  /** Other companies that the person is a user of now. */
  readonly joined: readonly number[]
  readonly madeBy: number | null
  /** Null unless the maker is active. */
  readonly makerRole: Role | null
  readonly roles: AdjustedRoles
}

const FIND = {
  name: 'find_invitation',
  text: `select i.user_id as "userId", i.company_id as "companyId", ${MASKED_NAME} as "companyName", u.doc ->> 'email' as email,
           u.doc ->> 'role' as role, i.for_owner as "forOwner", i.companies, i.made_by as "madeBy", maker.doc ->> 'role' as "makerRole", c.roles,
           array(select o.company_id from users o where o.email = u.email and o.company_id <> i.company_id
             and o.doc ->> 'status' = 'active') as joined
         from ops.invitations i
         join users u on u.company_id = i.company_id and u.id = i.user_id and u.doc ->> 'status' = 'invited'
         left join users maker on maker.company_id = i.company_id and maker.id = i.made_by and maker.doc ->> 'status' = 'active'
         join companies c on c.company_id = i.company_id
         where i.token_hash = $1 and i.expires_at > clock_timestamp()`,
}

/**
 * Lifetime of a link, and the minimum pause before another one to the same address, which prevents floods of e-mail.
 */
export const LINK_MINUTES = 60
const PAUSE_MINUTES = 10
/** Links that a network may request. */
const ASKED_PER_MINUTE = 10

/** Reset of forgotten passwords by a link sent to the person's address. */
export interface PasswordLinks {
  /** Whether e-mail is configured. */
  readonly isAvailable: boolean
  readonly asked: AddressLimit
  /**
   * Sends a link if the address belongs to a user of a company. Runs in the background, because the response time would
   * tell whether it does.
   */
  ask(email: string): void
  /** A link to be handed over, also without e-mail; it replaces an earlier link. Null without a login. */
  issue(email: string, made: HandedOver): Promise<string | null>
  /** The company that a link was made in, or the person's only one; null without one. */
  companyOf(token: string): Promise<number | null>
  /**
   * Sets the password by a link, once. False if the link has expired, the password has changed since, or its
   * maker or person has.
   */
  use(token: string, password: string, requestId: string): Promise<boolean>
}

/** Who made a link for a user of the company, and the user's role then. */
interface HandedOver {
  readonly companyId: number
  readonly madeBy: number
  readonly role: Role
}

interface PasswordLinkOptions {
  readonly pool: Pool
  readonly writer: Writer
  readonly login: Login
  readonly mailer: Mailer | null
  readonly publicUrl: string
  readonly log: (message: string, error: unknown) => void
}

const PASSWORD_TOKENS = opaqueTokens('tb_password_')

interface TakenLink {
  readonly email: string
  /** The person's generation when the link was sent; null for older links without it. */
  readonly generation: number | null
  /** Null for a mailed link. */
  readonly company_id: number | null
  readonly made_by: number | null
  readonly for_owner: boolean | null
}

export function createPasswordLinks(options: PasswordLinkOptions): PasswordLinks {
  const { pool, writer, login, mailer, publicUrl, log } = options

  /** Null within the pause after the last link. */
  async function create(email: string, pauseMinutes: number, made?: HandedOver): Promise<string | null> {
    const token = PASSWORD_TOKENS.make()
    const maker = made ? [made.companyId, made.madeBy, made.role === 'owner'] : [null, null, null]
    const { rowCount } = await pool.query({
      ...KEEP,
      values: [email, PASSWORD_TOKENS.hashOf(token), pauseMinutes, ...maker],
    })
    return rowCount === 0 ? null : `${publicUrl}/painel/nova-senha?codigo=${token}`
  }

  async function send(mailer: Mailer, email: string): Promise<void> {
    const [membership, ...others] = await login.membershipsOf(email)
    if (!membership) return
    const link = await create(email, PAUSE_MINUTES)
    if (link === null) return
    const { companyName: name, logoUrl, brandColor: color } = membership
    // The login of several shops has the brand of none.
    const shop = others.length > 0 ? null : toShopBrand({ name, logoUrl, color }, publicUrl)
    const letter = passwordEmail(link, LINK_MINUTES, shop)
    await mailer.send({ id: randomUUID(), to: [email], ...letter })
  }

  /** The company in which the password is changed: its maker's, if the link was handed over. */
  async function membershipFor({ email, company_id }: TakenLink): Promise<Membership | undefined> {
    const memberships = await login.membershipsOf(email)
    return company_id === null ? memberships[0] : memberships.find(({ holder }) => holder.companyId === company_id)
  }

  return {
    isAvailable: mailer !== null,
    asked: createAddressLimit({ perMinute: ASKED_PER_MINUTE }),
    ask(email) {
      if (mailer) void send(mailer, email).catch((error) => log('access: password link e-mail failed', error))
    },
    issue: (email, made) => create(email, 0, made),
    async companyOf(token) {
      const hash = PASSWORD_TOKENS.hashOf(token)
      if (!hash) return null
      const { rows } = await pool.query<{ id: number | null }>({ ...COMPANY_OF, values: [hash, LINK_MINUTES] })
      return rows[0]?.id ?? null
    },
    async use(token, password, requestId) {
      const hash = PASSWORD_TOKENS.hashOf(token)
      if (!hash) return false
      const { rows } = await pool.query<TakenLink>({ ...TAKE, values: [hash, LINK_MINUTES] })
      const [taken] = rows
      if (!taken) return false
      const password_hash = await hashPassword(password)
      const membership = await membershipFor(taken)
      if (!membership) return false
      const { holder } = membership
      const { generation, made_by, for_owner } = taken
      const changed = await runAs(
        writer,
        asUser(holder, 'panel', requestId),
        made_by === null ? changePassword : usePasswordLink,
        {
          id: holder.userId,
          password_hash,
          latest_generation: generation ?? undefined,
          ...(made_by !== null && { handed_over: { made_by, for_owner: for_owner === true } }),
        },
      )
      return !isRefusal(changed)
    },
  }
}

const KEEP = {
  name: 'keep_password_link',
  // Stores nothing for an address that is being erased.
  text: `insert into ops.password_links as l (email, token_hash, sent_at, generation, company_id, made_by, for_owner)
         select email, $2, clock_timestamp(), generation, $4::bigint, $5::bigint, $6::boolean from ops.persons where email = $1 for key share
         on conflict (email) do update set token_hash = excluded.token_hash, sent_at = excluded.sent_at, generation = excluded.generation,
           company_id = excluded.company_id, made_by = excluded.made_by, for_owner = excluded.for_owner
         where l.sent_at < clock_timestamp() - make_interval(mins => $3)`,
}

const COMPANY_OF = {
  name: 'company_of_password_link',
  text: `select coalesce(l.company_id, (select min(u.company_id) from users u where u.email = l.email and u.doc ->> 'status' = 'active'
           having count(*) = 1)) as id
         from ops.password_links l where l.token_hash = $1 and l.sent_at > clock_timestamp() - make_interval(mins => $2)`,
}

const TAKE = {
  name: 'take_password_link',
  text: `delete from ops.password_links
         where token_hash = $1 and sent_at > clock_timestamp() - make_interval(mins => $2) 
         returning email, generation, company_id, made_by, for_owner`,
}

/** The first company of an installation, and its owner. */
export const FirstRunInput = z.strictObject({
  company: COMPANY_FIELDS.name.whole,
  cnpj: COMPANY_FIELDS.cnpj.whole,
  timezone: COMPANY_FIELDS.timezone.whole,
  name: boundedText(120),
  email: Email,
  password: Password,
})
type FirstRunInput = z.infer<typeof FirstRunInput>

interface FirstRunOptions {
  readonly pool: Pool
  readonly vault: Vault
  readonly writer: Writer
  readonly publicUrl: string
  /** Creates the ledger of a new company. @throws Unavailable */
  found(companyId: number): Promise<void>
}

/** Creates the first company of an empty installation, for the holder of a link that its operator has. */
export interface FirstRun {
  /** Null as soon as there is a company, or has been one. */
  link(): Promise<string | null>
  isOpen(code: string): Promise<boolean>
  /** `over`: the code is wrong, or there is a company. */
  create(code: string, input: FirstRunInput, requestId: string): Promise<'created' | 'over' | Refusal>
}

const IS_EMPTY = `select not exists (select from ops.ledgers where revision >= 0)
  and not exists (select from ops.company_moves) and not exists (select from companies) as empty`

/** Two forms at a time: the second one waits, and finds a company. */
const LOCK = {
  name: 'lock_first_run',
  text: `select pg_advisory_xact_lock(hashtextextended('tillbook first run', 0))`,
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()

export function createFirstRun({ pool, vault, writer, found, publicUrl }: FirstRunOptions): FirstRun {
  /** 256 bits, the same in all processes of the database: a restart prints the same link. */
  const makeCode = async () => (await installationSecret(pool, vault, 'first_run')).toString('base64url')

  async function isEmpty(): Promise<boolean> {
    const { rows } = await pool.query<{ empty: boolean }>(IS_EMPTY)
    return rows[0]?.empty === true
  }

  const isOpen = async (code: string): Promise<boolean> =>
    (await isEmpty()) && timingSafeEqual(digestOf(code), digestOf(await makeCode()))

  return {
    link: async () => ((await isEmpty()) ? `${publicUrl}/painel/primeiro-acesso?codigo=${await makeCode()}` : null),
    isOpen,
    async create(code, { company, password, name, email, ...fields }, requestId) {
      const password_hash = await hashPassword(password)
      return inTransaction(pool, async (tx) => {
        await tx.query(LOCK)
        if (!(await isOpen(code))) return 'over'
        const id = await nextCompanyId(pool)
        await found(id)
        const registration: RegisterCompanyInput = { id, name: company, plan: 'basic', ...fields }
        const owner: CreateUserInput = { name, email, role: 'owner', password_hash }
        // One request: a company without its owner could not be entered, and would close the link.
        const answer = await runCommands(
          writer,
          asSystem(id, requestId),
          [invoke(registerCompany, registration), invoke(createUser, owner)],
          { compose: () => ({ outcome: 'created', json: '' }), withoutRecords: true },
        )
        if (isRefusal(answer)) return answer
        const refused = answer.results.find(isRefusal)
        if (refused) throw new Error(`the first company ${id} was made without its owner: ${refused.refused}`)
        return 'created'
      })
    },
  }
}
