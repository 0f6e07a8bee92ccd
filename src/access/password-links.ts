import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { changePassword, usePasswordLink } from '#commands/users.ts'
import type { Role } from '#domain/roles.ts'
import { isRefusal } from '#ledger/command.ts'
import { asUser, runAs } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { toShopBrand } from '#notifications/branded-email.ts'
import { passwordEmail } from '#notifications/email-templates.ts'
import type { Mailer } from '#notifications/mailer.ts'
import type { Login } from './login.ts'
import { type AddressLimit, createAddressLimit } from './minute-limit.ts'
import { opaqueTokens } from './opaque-token.ts'
import { hashPassword } from './passwords.ts'
import type { Membership } from './people.ts'

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
  /**
   * Sets the password by a link, once. False if the link has expired, the password has changed since (PANEL-342), or its
   * maker or person has (ROLE-721).
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

const TOKENS = opaqueTokens('tb_password_')

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
    const token = TOKENS.make()
    const maker = made ? [made.companyId, made.madeBy, made.role === 'owner'] : [null, null, null]
    const { rowCount } = await pool.query({ ...KEEP, values: [email, TOKENS.hashOf(token), pauseMinutes, ...maker] })
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
      if (mailer) void send(mailer, email).catch((error) => log('a link to a new password could not be sent', error))
    },
    issue: (email, made) => create(email, 0, made),
    async use(token, password, requestId) {
      const hash = TOKENS.hashOf(token)
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

const TAKE = {
  name: 'take_password_link',
  text: `delete from ops.password_links
         where token_hash = $1 and sent_at > clock_timestamp() - make_interval(mins => $2) 
         returning email, generation, company_id, made_by, for_owner`,
}
