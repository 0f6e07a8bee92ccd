import { z } from 'zod'
import { ROLES } from '#domain/roles.ts'
import { date, eventType, id, instant, percentage, personal, text } from './define.ts'

/** What a company pays for: `api` is the add-on for the integration API; without it the API answers 402. */
export const PLANS = ['basic', 'api'] as const

/** How a company is taxed, as fiscal documents tell it (CRT 1 to 4); the second is Simples Nacional above the state's ceiling. */
export const TAX_REGIMES = ['simples_nacional', 'simples_nacional_excess', 'normal', 'mei'] as const

export const PAYMENT_KINDS = [
  'cash',
  'card',
  'pix',
  'transfer',
  'credit_account',
  'exchange_credit',
  'promotion',
  'cashback',
  'other',
] as const
export type PaymentKind = (typeof PAYMENT_KINDS)[number]

const company = {
  name: text,
  /** Formatted: 12.345.678/0001-95 */
  cnpj: text,
  plan: z.enum(PLANS),
  timezone: text,
  logo_url: text.nullable(),
  /** These two are absent in events from before companies had them. */
  state_registration: text.nullish(),
  tax_regime: z.enum(TAX_REGIMES).nullish(),
}

const paymentType = {
  name: text,
  kind: z.enum(PAYMENT_KINDS),
  fee_percentage: percentage,
  /** Days until a receivable made by a credit-on-account payment is due. */
  due_days: z.int().nonnegative(),
}

const person = { name: personal(text, 'identity'), email: personal(text, 'identity') }

const access = {
  role: z.enum(ROLES),
  /** These two are absent in events from before there were auditors; of other roles they say nothing. */
  access_until: date.nullable().optional(),
  personal_data: z.boolean().optional(),
}

/** The company itself and what it configures: payment types, users, API keys. Secrets are never in an event. */
export const companyEvents = {
  /** `test` is absent in events from before there were test companies. */
  CompanyRegistered: eventType('company', { ...company, test: z.boolean().optional() }),
  CompanyUpdated: eventType('company', { changes: z.strictObject(company).partial() }),
  /** The last event before was recorded by a clock that ran ahead; from here on times are those of the clock again (LEDGER-20). */
  CompanyClockCorrected: eventType('company', { ahead_until: instant }),
  /**
   * The ledger, as it is up to here, comes from a backup: what was recorded after `lost_after` may be lost. Ids go on beyond those
   * that may have been given out since (OPS-84).
   */
  InstallationRestored: eventType('company', {
    lost_after: instant,
    reason: text,
    /** Whether this is a copy made on purpose, beside the installation that goes on. */
    copy: z.boolean(),
    /** By kind of record: no id up to this one is given out any more. */
    ids: z.record(text, z.int().positive()),
  }),
  /** A test company was made for this one, which is real. */
  TestTwinMade: eventType('company', { twin_id: id }),
  /** From then on the day of this test company is so much later than it was. */
  TestClockMoved: eventType('company', { by_ms: z.int().positive() }),
  /** This test company has no records of its business any more, and its day is everybody's again. */
  TestDataErased: eventType('company', {}),
  PaymentTypeCreated: eventType('payment_type', paymentType),
  PaymentTypeUpdated: eventType('payment_type', { changes: z.strictObject(paymentType).partial() }),
  UserCreated: eventType('user', { ...person, ...access }),
  /** Somebody was asked to join the company, and belongs to it when the invitation is accepted. */
  UserInvited: eventType('user', { ...person, ...access }),
  /** With another link; the one before is over. */
  UserInvitationRenewed: eventType('user', {}),
  UserInvitationCancelled: eventType('user', {}),
  UserJoined: eventType('user', {}),
  UserUpdated: eventType('user', {
    changes: z.strictObject({ name: person.name, ...access }).partial(),
  }),
  /** From then on the user cannot log in, and whatever was open is closed. */
  UserDeactivated: eventType('user', {}),
  UserReactivated: eventType('user', {}),
  /** Whatever was open with the password before is closed. */
  UserPasswordChanged: eventType('user', {}),
  ApiKeyCreated: eventType('api_key', {
    name: text,
    /** The first characters of the key, to recognise it by. */
    prefix: text,
    scopes: z.array(text),
    expires_at: instant.nullable(),
  }),
  ApiKeyRevoked: eventType('api_key', {}),
} as const
