import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import type { AdjustedRoles, Role } from '#domain/rights.ts'
import { companysTimeSql } from '#projections/companies.ts'
import { type SharedLink, type SharedRecord, sharedRecordKey } from '#projections/record-links.ts'

/** Path of all links; a token follows. */
export const SHARED = '/l'

const NONCE_BYTES = 32
const TOKEN = /^[A-Za-z0-9_-]{43}$/

/** The live link of a record, for users who may see it. */
export interface LiveLink extends Pick<SharedLink, 'expires_at' | 'opened_at' | 'last_opened_at' | 'times_opened'> {
  /** Null if it was made where the company lived before. */
  readonly url: string | null
}

/** What a link opens. */
export interface OpenedLink {
  readonly companyId: number
  /** As `sale/9`. */
  readonly record: string
  /** Of the maker now; null unless active. */
  readonly makerRole: Role | null
  readonly roles: AdjustedRoles
  readonly expiresAt: string
  readonly timezone: string
  /** The company's day. */
  readonly today: string
}

/** Links that open a page of a record without a login. */
export interface SharedLinks {
  create(): Pick<SharedLink, 'nonce'> & { readonly token_hash: Buffer }
  /** Null if there is none, or it has ended. */
  find(companyId: number, shared: SharedRecord): Promise<LiveLink | null>
  /** Null for everything that opens nothing. `isCounted`: it is opened by a person. */
  open(token: string, isCounted: boolean): Promise<OpenedLink | null>
}

interface SharedLinkOptions {
  readonly pool: Pool
  readonly publicUrl: string
  readonly requestSecret: Buffer
}

/**
 * Only hashes of tokens are stored. A page shows a link again because its token is made of the stored nonce with a secret
 * of the installation, which the database keeps sealed.
 */
export function createSharedLinks({ pool, publicUrl, requestSecret }: SharedLinkOptions): SharedLinks {
  const tokenOf = (nonce: Buffer): string =>
    createHmac('sha256', requestSecret).update('shared link\n').update(nonce).digest('base64url')
  return {
    create() {
      const nonce = randomBytes(NONCE_BYTES)
      return { nonce, token_hash: hashOf(tokenOf(nonce)) }
    },
    async find(companyId, shared) {
      const { rows } = await pool.query<SharedLink>({ ...FIND, values: [companyId, sharedRecordKey(shared)] })
      if (!rows[0]) return null
      const { nonce, token_hash, ...link } = rows[0]
      const token = tokenOf(nonce)
      return { ...link, url: token_hash?.equals(hashOf(token)) ? `${publicUrl}${SHARED}/${token}` : null }
    },
    async open(token, isCounted) {
      if (!TOKEN.test(token)) return null
      const { rows } = await pool.query<OpenedLink>({ ...(isCounted ? OPEN : SEE), values: [hashOf(token)] })
      return rows[0] ?? null
    },
  }
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

const FIND = {
  name: 'find_shared_link',
  text: `select token_hash, nonce, expires_at, opened_at, last_opened_at, times_opened from ops.shared_links
         where company_id = $1 and record = $2 and token_hash is not null and expires_at > clock_timestamp()`,
}

/** Of companies that have not moved away. */
const LIVE = `c.company_id = l.company_id and l.token_hash = $1 and l.expires_at > clock_timestamp()
  and exists (select from ops.ledgers g where g.company_id = l.company_id and g.closed_at is null)`

const OPENED = `l.company_id as "companyId", l.record, l.expires_at as "expiresAt", c.timezone, c.roles,
  (select u.doc ->> 'role' from users u where u.company_id = l.company_id and u.id = l.made_by
    and u.doc ->> 'status' = 'active') as "makerRole",
  (${companysTimeSql('clock_timestamp()')} at time zone c.timezone)::date::text as today`

const SEE = { name: 'see_shared_link', text: `select ${OPENED} from ops.shared_links l, companies c where ${LIVE}` }

const OPEN = {
  name: 'open_shared_link',
  text: `update ops.shared_links l set opened_at = coalesce(l.opened_at, clock_timestamp()), last_opened_at = clock_timestamp(),
           times_opened = least(l.times_opened, 1000000) + 1
         from companies c where ${LIVE} returning ${OPENED}`,
}
