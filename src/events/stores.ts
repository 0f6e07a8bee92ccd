import * as z from 'zod'
import { eventType, instant, percentage, text } from './define.ts'

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
