import { z } from 'zod'
import { eventType, percentage, text } from './define.ts'

/** What a store keeps secret: the key to its account at the payment provider, and the one that signs its notifications. */
export const STORE_SECRETS = ['access_token', 'notification_secret'] as const

const secrets = z.array(z.enum(STORE_SECRETS))

/** Online stores. Secrets are never in an event: only which of them were set. */
export const storeEvents = {
  StoreCreated: eventType('store', {
    /** Unique in the whole service and for ever: it is part of the address that the provider notifies. */
    alias: text,
    commission_percentage: percentage,
    /** Whether its payments are the provider's test payments. */
    sandbox: z.boolean(),
    secrets,
  }),
  StoreUpdated: eventType('store', { changes: z.strictObject({ commission_percentage: percentage }).partial() }),
  /** These secrets have new values; the old ones are gone. */
  StoreSecretsReplaced: eventType('store', { secrets }),
  StoreEnabled: eventType('store', {}),
  /** A disabled store takes no orders, payments or notifications. */
  StoreDisabled: eventType('store', {}),
} as const
