import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import type { Vault } from '#crypto/vault.ts'
import type { Writer } from '#ledger/write/writer.ts'
import {
  type ApiAuthenticator,
  createApiAuthenticator,
  KEY_BYTES,
  type NewKey,
  newKey,
  type QuotaLimits,
  toKeyMode,
} from './api-authenticator.ts'
import { createPeople, type People } from './company-users.ts'
import { createShownShops, type Mailer, type ShownShops } from './email.ts'
import { createLogin, type Login } from './login.ts'
import { type AddressLimit, createAddressLimit, createMinuteLimit, type MinuteLimit } from './login-limits.ts'
import { createMorningMails, type MorningMails } from './morning-mails.ts'
import {
  createFirstRun,
  createInvitations,
  createPasswordLinks,
  type FirstRun,
  type Invitations,
  type PasswordLinks,
} from './one-time-links.ts'
import type { PanelLimits } from './open-sessions.ts'
import { createSecondFactors, type SecondFactors } from './second-factors.ts'
import { createSessions, type Sessions } from './sessions.ts'
import { createSharedLinks, type SharedLinks } from './shared-links.ts'
import { createTokens, type Tokens } from './till-access.ts'

/** How often clients may ask. */
export interface Limits {
  /** Of API keys. */
  readonly quota: QuotaLimits
  readonly panel: PanelLimits
  /** Of clients without a key or login. */
  readonly addresses: AddressLimit
  /** Of checkout and receipt pages per address. */
  readonly checkouts: AddressLimit
  readonly pictures: AddressLimit
  /** Of payment notifications per IP address. */
  readonly notifications: AddressLimit
  /** Of signed payment notifications per store and IP address. */
  readonly signedNotifications: MinuteLimit
}

/** Limits of a process per minute. */
interface MinuteRates extends Pick<Limits, 'quota' | 'panel' | 'addresses'> {
  readonly checkouts: number
  readonly pictures: number
  readonly notifications: number
}

export const createLimits = ({ checkouts, pictures, notifications, ...limits }: MinuteRates): Limits => ({
  ...limits,
  checkouts: createAddressLimit({ perMinute: checkouts }),
  pictures: createAddressLimit({ perMinute: pictures }),
  notifications: createAddressLimit({ perMinute: notifications }),
  signedNotifications: createMinuteLimit({ perMinute: notifications }),
})

/** Who may enter: keys of programs, logins of persons, sessions of browsers, tokens of tills. */
export interface Access {
  readonly authenticator: ApiAuthenticator
  readonly login: Login
  readonly invitations: Invitations
  readonly firstRun: FirstRun
  readonly passwordLinks: PasswordLinks
  readonly morningMails: MorningMails
  readonly sharedLinks: SharedLinks
  readonly shownShops: ShownShops
  readonly secondFactors: SecondFactors
  readonly companiesOf: People['companiesOf']
  readonly sessions: Sessions
  readonly tokens: Tokens
  /** Requests of tills per token. */
  readonly tillRequests: MinuteLimit
  /** Creates a key, which an owner passes on to an integration. */
  newKey(isTest: boolean): NewKey
}

interface AccessOptions {
  readonly pool: Pool
  /** Connections of the statements that look up keys, logins, sessions and tokens. */
  readonly gate: Pool
  readonly writer: Writer
  readonly vault: Vault
  readonly mailer: Mailer | null
  readonly publicUrl: string
  readonly limits: Pick<Limits, 'quota' | 'panel'>
  /** Requests per minute of a till's token. */
  readonly tillRequestsPerMinute: number
  /** Null if tokens of tills are valid until they are revoked. */
  readonly tokenDays: number | null
  readonly requestSecret: Buffer
  readonly log: (message: string, error: unknown) => void
  /** Creates the ledger of a new company. @throws Unavailable */
  found(companyId: number): Promise<void>
}

export function createAccess(options: AccessOptions): Access {
  const { gate, limits, log } = options
  const login = createLogin(gate)
  const links = { ...options, login }
  const onError = (error: unknown) => log('access: session use not recorded', error)
  return {
    authenticator: createApiAuthenticator(gate, limits.quota),
    login,
    invitations: createInvitations(links),
    firstRun: createFirstRun(options),
    passwordLinks: createPasswordLinks(links),
    morningMails: createMorningMails(options.pool, options.mailer),
    sharedLinks: createSharedLinks(options),
    shownShops: createShownShops(options.pool, options.requestSecret),
    secondFactors: createSecondFactors(links),
    companiesOf: createPeople(gate).companiesOf,
    sessions: createSessions(gate, onError, limits.panel),
    tokens: createTokens(gate, { days: options.tokenDays, secret: options.requestSecret }),
    tillRequests: createMinuteLimit({ perMinute: options.tillRequestsPerMinute }),
    newKey: (isTest) => newKey(randomBytes(KEY_BYTES), toKeyMode(isTest)),
  }
}
