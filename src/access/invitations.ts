import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { acceptInvitation, hasJoined, INVITATION_DAYS } from '#commands/invitations.ts'
import { type AdjustedRoles, isLinkHeld, permissionsOf } from '#domain/permissions.ts'
import type { Role } from '#domain/roles.ts'
import { isRefusal } from '#ledger/command.ts'
import { asUser, runAs } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { type ShopBrand, toShopBrand } from '#notifications/branded-email.ts'
import { invitationEmail } from '#notifications/email-templates.ts'
import type { Mailer } from '#notifications/mailer.ts'
import { MASKED_NAME } from '#projections/companies.ts'
import type { Login, LoginFailure, LoginSource } from './login.ts'
import { INVITATION_TOKENS as TOKENS } from './opaque-token.ts'
import { peopleOf } from './people.ts'

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
   * none. `over`: the link was used, replaced, withdrawn, or has expired, or its maker or person has changed (ROLE-722).
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
  const people = peopleOf(pool)

  async function find(token: string): Promise<OpenInvitation | null> {
    const hash = TOKENS.hashOf(token)
    if (!hash) return null
    const { rows } = await pool.query<FoundInvitation>({ ...FIND, values: [hash] })
    if (!rows[0]) return null
    const { role, forOwner, madeBy, makerRole, roles, companies, joined, ...invitation } = rows[0]
    const maker = makerRole && permissionsOf(makerRole, roles)
    if (madeBy !== null && !isLinkHeld(maker, { role, forOwner })) return null
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
