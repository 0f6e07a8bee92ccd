import { randomBytes } from 'node:crypto'
import { SECRET_BYTES, webhookSecretOf } from '#domain/webhook-secret.ts'
import { newId } from '#lib/ids.ts'
import type { Config } from './config.ts'

/** Settings of the operator that interfaces use, and randomness. */
export interface Environment {
  /** Public base URL, without trailing slash. */
  readonly publicUrl: string
  /** Whether webhooks may use http and private addresses. */
  readonly allowPrivateTargets: boolean
  /** Years after its authorization for which a fiscal document needs personal data. */
  readonly retentionYears: number
  /** Commission of stores that owners create: percent with two decimals. */
  readonly storeCommission: string
  /** Generates a UUID. */
  newId(): string
  /** Generates a signing secret. */
  newSecret(): string
}

export const createEnvironment = (config: Config): Environment => ({
  publicUrl: config.PUBLIC_URL,
  allowPrivateTargets: config.WEBHOOK_ALLOW_PRIVATE,
  retentionYears: config.RETENTION_YEARS,
  storeCommission: config.STORE_COMMISSION_PERCENT,
  newId,
  newSecret: () => webhookSecretOf(randomBytes(SECRET_BYTES)),
})
