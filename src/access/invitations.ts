import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { acceptInvitation, INVITATION_DAYS } from '#commands/invitations.ts'
import { isRefusal } from '#ledger/command.ts'
import { assertOnThisShard, type MigrationState } from '#ledger/migration-state.ts'
import { asUser, runAs } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { type ShopBrand, toShopBrand } from '#notifications/branded-email.ts'
import { invitationEmail } from '#notifications/email-templates.ts'
import type { Mailer } from '#notifications/mailer.ts'
import { MASKED_NAME } from '#projections/companies.ts'
import type { Login, LoginFailure, LoginSource } from './login.ts'
import { INVITATION_TOKENS as TOKENS } from './opaque-token.ts'
import { type People, peopleOf } from './people.ts'

/** An invitation that can be accepted. */
export interface OpenInvitation {
  readonly userId: number
  readonly companyId: number
  readonly companyName: string
  readonly email: string
}

/** Content of a new invitation's e-mail; only the hash of the token is stored. */
export interface NewInvitation {
  readonly tokenHash: Buffer
  readonly link: string
}

export interface Invitations {
  create(): NewInvitation
  /** Sends the link by e-mail; false if it was not sent and the inviting user must pass it on. */
  send(invitation: NewInvitation, to: { readonly email: string; readonly companyId: number }): Promise<boolean>
  /** @throws WrongShardError */
  find(token: string): Promise<OpenInvitation | null>
  /**
   * Adds the holder of the link to the company, with their password from any company, or with a new one if they have
   * none. `over`: the link was used, replaced, withdrawn, or has expired.
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
  /** By default those of `pool`. */
  readonly people?: People
  /** Null without e-mail: the panel then shows links to the inviting user. */
  readonly mailer: Mailer | null
  readonly publicUrl: string
}

export function createInvitations(options: InvitationOptions): Invitations {
  const { pool, writer, login, mailer, publicUrl, people = peopleOf(pool) } = options

  async function find(token: string): Promise<OpenInvitation | null> {
    const hash = TOKENS.hashOf(token)
    if (!hash) return null
    const { rows } = await pool.query<OpenInvitation & { readonly move: MigrationState | null }>({
      ...FIND,
      values: [hash],
    })
    if (!rows[0]) return null
    const { move, ...invitation } = rows[0]
    assertOnThisShard(invitation.companyId, move)
    return invitation
  }

  return {
    create() {
      const token = TOKENS.make()
      return { tokenHash: TOKENS.hashOf(token) as Buffer, link: `${publicUrl}/painel/convite?codigo=${token}` }
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
      if (!(await people.begin(invitation, password))) {
        const confirmed = await login.confirm({ email: invitation.email, password }, { address, isInside: false })
        if (confirmed.kind !== 'right') return confirmed
      }
      const token_hash = TOKENS.hashOf(token) as Buffer
      const input = { id: invitation.userId, token_hash }
      const joined = await runAs(writer, asUser(invitation, 'panel', requestId), acceptInvitation, input)
      return { kind: isRefusal(joined) ? 'over' : 'joined' }
    },
  }
}

const FIND = {
  name: 'find_invitation',
  text: `select i.user_id as "userId", i.company_id as "companyId", ${MASKED_NAME} as "companyName", u.doc ->> 'email' as email, l.move
         from ops.invitations i
         join users u on u.company_id = i.company_id and u.id = i.user_id and u.doc ->> 'status' = 'invited'
         join companies c on c.company_id = i.company_id
         join ops.ledgers l on l.company_id = i.company_id
         where i.token_hash = $1 and i.expires_at > clock_timestamp()`,
}
