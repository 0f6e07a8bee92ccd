import { createHmac } from 'node:crypto'
import { type SigningSecrets, secretsAt } from '#domain/webhook-secret.ts'

/** What a receiver is shown of a delivery besides the body. */
export interface SignedDelivery {
  /** The same in every attempt. */
  readonly id: string
  readonly event: string
  /** Null for a test. */
  readonly revision: number | null
  /** Counts the deliveries of an endpoint; null for a test. */
  readonly sequence: number | null
  /** JSON text, signed and sent byte for byte. */
  readonly body: string
}

/**
 * All headers of one attempt at `now` (milliseconds since 1970): our own (HOOK-12, HOOK-13) and
 * those of Standard Webhooks, so that its libraries verify our deliveries too (HOOK-14).
 */
export function deliveryHeaders(
  delivery: SignedDelivery,
  secrets: SigningSecrets,
  now: number,
): Readonly<Record<string, string>> {
  const { id, event, revision, sequence, body } = delivery
  const { secret, next } = secretsAt(secrets, now)
  const timestamp = String(Math.floor(now / 1000))
  const keys = next === null ? [secret] : [secret, next]
  return {
    'Content-Type': 'application/json; charset=utf-8',
    'User-Agent': 'Tillbook-Webhooks/1',
    'X-Service-Event': event,
    'X-Service-Delivery': id,
    'X-Service-Timestamp': timestamp,
    'X-Service-Signature': specSignature(secret, timestamp, body),
    ...(next === null ? {} : { 'X-Service-Signature-Next': specSignature(next, timestamp, body) }),
    ...(revision === null ? {} : { 'X-Service-Revision': String(revision) }),
    ...(sequence === null ? {} : { 'X-Service-Sequence': String(sequence) }),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': keys.map((key) => standardSignature(key, id, timestamp, body)).join(' '),
  }
}

/** Keyed with the whole text of the secret. */
function specSignature(secret: string, timestamp: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`
}

/** Keyed with the bytes that the secret encodes. */
function standardSignature(secret: string, id: string, timestamp: string, body: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
}
