import * as z from 'zod'
import { PERMISSIONS, RoleCode } from '#domain/rights.ts'
import { limitedText } from '#domain/text.ts'
import { date, eventType, id, instant, money, percentage, personal, text } from './event-definitions.ts'

/** Plan of a company: `api` adds the integration API; without it the API responds 402. */
export const PLANS = ['basic', 'api'] as const

/** Tax regime as in fiscal documents (CRT 1 to 4); the second is Simples Nacional above the state's ceiling. */
export const TAX_REGIMES = ['simples_nacional', 'simples_nacional_excess', 'normal', 'mei'] as const

/** What a shop sells: decides what is suggested to it. */
export const BUSINESS_TYPES = [
  'grocery',
  'clothing',
  'cafe',
  'restaurant',
  'pharmacy',
  'building_supplies',
  'pet_shop',
  'beauty',
  'stationery',
  'other',
] as const
export type BusinessType = (typeof BUSINESS_TYPES)[number]

export const PAYMENT_KINDS = [
  'cash',
  'card',
  'pix',
  'transfer',
  'credit_account',
  'exchange_credit',
  'promotion',
  'cashback',
  'online',
  'other',
] as const
export type PaymentKind = (typeof PAYMENT_KINDS)[number]

/** Second factors: an authenticator app, or a passkey. */
const SECOND_FACTOR_METHODS = ['totp', 'passkey'] as const
export type SecondFactorMethod = (typeof SECOND_FACTOR_METHODS)[number]

const company = {
  name: text,
  /** Formatted: 12.345.678/0001-95 */
  cnpj: text,
  plan: z.enum(PLANS),
  timezone: text,
  /** An address of another site, or of an uploaded logo below the service: the digest of its content. */
  logo_url: text.nullable(),
  state_registration: text.nullable(),
  tax_regime: z.enum(TAX_REGIMES).nullable(),
  /** Absent if never given. */
  business_type: z.enum(BUSINESS_TYPES).nullable().optional(),
  /** Of the shop, in one line, as its receipts show it; absent if never given. */
  address: text.nullable().optional(),
  phone: text.nullable().optional(),
  /** By which it receives Pix, and the city that its codes name; absent if never given. */
  pix_key: text.nullable().optional(),
  pix_city: text.nullable().optional(),
  /** That a voucher is valid for; absent if never given. */
  voucher_days: z.int().positive().nullable().optional(),
  /** `#rrggbb`; absent if never given. */
  brand_color: z
    .string()
    .regex(/^#[0-9a-f]{6}$/)
    .nullable()
    .optional(),
}

const paymentType = {
  name: text,
  kind: z.enum(PAYMENT_KINDS),
  fee_percentage: percentage,
  /** Days until the receivable of a credit payment is due. */
  due_days: z.int().nonnegative(),
  /** What the acquirer keeps, in percent of the amount; null or absent if unknown. */
  acquirer_rate: percentage.nullable().optional(),
  /** The same of 2 to 6 instalments, and of 7 and more; null or absent: `acquirer_rate`. */
  acquirer_rate_2_6: percentage.nullable().optional(),
  acquirer_rate_7_12: percentage.nullable().optional(),
  /** Whether its fee comes back with what is given back on the card; absent if not. */
  acquirer_fee_refunded: z.boolean().optional(),
  /** Calendar days until the acquirer pays, and from one instalment to the next; null or absent if it does not, or if that is unknown. */
  settles_in_days: z.int().nonnegative().nullable().optional(),
}

const person = { name: personal(text, 'identity'), email: personal(text, 'identity') }

const access = {
  role: RoleCode,
  /** Of a role of the company's own, as it was called then. */
  role_name: text.optional(),
  /** Terms of auditors, absent for other roles; `access_until` is null when an auditor gets another role. */
  access_until: date.nullable().optional(),
  personal_data: z.boolean().optional(),
}

const permissions = z.array(z.enum(PERMISSIONS))

/** Largest return and discount without an approval; null or absent: unlimited. */
const granted = { return_limit: money.nullable().optional(), discount_limit: money.nullable().optional() }

/** The company and its settings: payment types, users, API keys. Secrets are never in an event. */
/** What a link opens. */
const sharedRecord = {
  kind: z.enum(['sale', 'customer', 'company']),
  /** Of the company: `2026-11`. */
  month: limitedText(7)
    .regex(/^\d{4}-\d{2}$/)
    .optional(),
}

export const companyEvents = {
  /** `test` is set for test companies only. */
  CompanyRegistered: eventType('company', { ...company, test: z.boolean().optional() }),
  CompanyUpdated: eventType('company', { changes: z.strictObject(company).partial() }),
  /**
   * The clock was ahead when the previous event was recorded. From here on times follow the corrected clock.
   */
  CompanyClockCorrected: eventType('company', { ahead_until: instant }),
  /**
   * The ledger up to here was restored from a backup: events recorded after `lost_after` may be lost. New ids start
   * above `ids`, since lost events may have used ids up to there.
   */
  InstallationRestored: eventType('company', {
    lost_after: instant,
    reason: text,
    /** Whether this is a deliberate copy, while the original installation continues. */
    copy: z.boolean(),
    /** Highest id, by kind of record, that is not issued again. */
    ids: z.record(text, z.int().positive()),
  }),
  /** A test company was created for this real company. */
  TestTwinMade: eventType('company', { twin_id: id }),
  /** Moves the test company's clock forward. */
  TestClockMoved: eventType('company', { by_ms: z.int().positive() }),
  /** Erases the test company's business records and resets its clock. */
  TestDataErased: eventType('company', {}),
  /** A role of the company's own, with its permissions in full. */
  RoleCreated: eventType('company', { role: RoleCode, role_name: text, ...granted, permissions }),
  /** The permissions of a role in this company, in full; null restores those that the role has by default. */
  RoleAdjusted: eventType('company', {
    role: RoleCode,
    /** Of a role of the company's own. */
    role_name: text.optional(),
    permissions: permissions.nullable(),
    ...granted,
  }),
  RoleRemoved: eventType('company', { role: RoleCode, role_name: text }),
  PaymentTypeCreated: eventType('payment_type', paymentType),
  PaymentTypeUpdated: eventType('payment_type', { changes: z.strictObject(paymentType).partial() }),
  UserCreated: eventType('user', { ...person, ...access }),
  /** The user becomes active by accepting the invitation. */
  UserInvited: eventType('user', { ...person, ...access }),
  /** With a new link; the previous link is invalid. */
  UserInvitationRenewed: eventType('user', {}),
  UserInvitationCancelled: eventType('user', {}),
  UserJoined: eventType('user', {}),
  UserUpdated: eventType('user', {
    changes: z.strictObject({ name: person.name, ...access }).partial(),
  }),
  /** The user cannot log in any more, and open sessions end. */
  UserDeactivated: eventType('user', {}),
  UserReactivated: eventType('user', {}),
  /** The user set another PIN, which approves operations of others. */
  UserPinChanged: eventType('user', {}),
  /** Sessions opened with the previous password end. */
  UserPasswordChanged: eventType('user', {}),
  /** Another user showed a link to a new password for this user. */
  UserPasswordLinkCreated: eventType('user', {}),
  UserSecondFactorAdded: eventType('user', { method: z.enum(SECOND_FACTOR_METHODS) }),
  /** By the user or by an owner; a null method is all of them, with the recovery codes. */
  UserSecondFactorRemoved: eventType('user', { method: z.enum(SECOND_FACTOR_METHODS).nullable() }),
  /** The earlier codes are invalid. */
  UserRecoveryCodesRenewed: eventType('user', {}),
  ApiKeyCreated: eventType('api_key', {
    name: text,
    /** First characters of the key, for recognition. */
    prefix: text,
    scopes: z.array(text),
    expires_at: instant.nullable(),
    /** What a call, and a day of the company, may record at most; absent without a limit. */
    max_amount_per_call: money.optional(),
    max_amount_per_day: money.optional(),
  }),
  ApiKeyRevoked: eventType('api_key', {}),
  /** A link that opens a page of the record without a login: a receipt, a customer's account, a month. It replaces the earlier one. */
  SharedLinkCreated: eventType(['sale', 'customer', 'company'], { ...sharedRecord, expires_at: instant }),
  SharedLinkRevoked: eventType(['sale', 'customer', 'company'], sharedRecord),
} as const

/**
 * Secrets of a store: the access token of its account at the payment provider, and the signing secret of its
 * notifications.
 */
export const STORE_SECRETS = ['access_token', 'notification_secret'] as const

const secrets = z.array(z.enum(STORE_SECRETS))

/** Secrets are never in an event, only which of them were set. */
export const storeEvents = {
  StoreCreated: eventType('store', {
    /** Unique in the whole service, permanently: it is part of the URL that the provider notifies. */
    alias: text,
    commission_percentage: percentage,
    /** Whether it takes the provider's test payments. */
    sandbox: z.boolean(),
    /** Whether a paid order becomes a sale; absent: no. */
    registers_sales: z.boolean().optional(),
    secrets,
  }),
  StoreUpdated: eventType('store', {
    changes: z.strictObject({ commission_percentage: percentage, registers_sales: z.boolean() }).partial(),
  }),
  /** New values replaced these secrets. */
  StoreSecretsReplaced: eventType('store', { secrets }),
  /** Its owner connected an account at the payment provider; this replaced the access token. */
  StoreConnected: eventType('store', { account_id: text, expires_at: instant }),
  /** New tokens of the same account. */
  StoreConnectionRenewed: eventType('store', { expires_at: instant }),
  /** The provider refused new tokens, with this code: the access token ends soon, or has ended. */
  StoreConnectionRefused: eventType('store', { reason: text }),
  StoreEnabled: eventType('store', {}),
  /** A disabled store takes no orders, payments or notifications. */
  StoreDisabled: eventType('store', {}),
} as const
