import { createHmac } from 'node:crypto'
import { type SigningSecrets, secretsAt } from '#domain/webhook-secret.ts'

/** Headers of a delivery, besides its body. */
export interface SignedDelivery {
  /** Equal in all attempts. */
  readonly id: string
  readonly event: string
  /** Null for a test. */
  readonly revision: number | null
  /** Number of the delivery within its endpoint; null for a test. */
  readonly sequence: number | null
  /** W3C trace context of the request that caused the event; null or absent if it had none. */
  readonly traceparent?: string | null
  /** JSON text, signed and sent byte for byte. */
  readonly body: string
}

/**
 * All headers of an attempt at `now` (ms since 1970): ours (HOOK-13) and those of Standard Webhooks, so that
 * its libraries verify our deliveries.
 */
export function deliveryHeaders(
  delivery: SignedDelivery,
  secrets: SigningSecrets,
  now: number,
): Readonly<Record<string, string>> {
  const { id, event, revision, sequence, traceparent, body } = delivery
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
    ...(traceparent ? { traceparent } : {}),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': keys.map((key) => standardSignature(key, id, timestamp, body)).join(' '),
  }
}

/** HMAC keyed with the whole text of the secret. */
function specSignature(secret: string, timestamp: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`
}

/** HMAC keyed with the bytes that the secret encodes. */
function standardSignature(secret: string, id: string, timestamp: string, body: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
}
