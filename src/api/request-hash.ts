import { createHash, createHmac } from 'node:crypto'
import { canonicalJson } from '#ledger/envelope.ts'
import type { Idempotency } from '#ledger/write/idempotency.ts'

/** A POST as it arrived. */
interface Arrived {
  /** Without its query. */
  readonly path: string
  /** What its JSON means; an absent body is an empty object. */
  readonly body: unknown
  /** Its bytes; absent where there are none. */
  readonly rawBody: Buffer | undefined
}

/**
 * Tells a request from others under its Idempotency-Key by path and body (IDEM-2). Bodies are compared by their canonical form
 * (RFC 8785), so that order of members, blanks and spelling of equal numbers and texts do not matter; of a member that is there
 * twice the last counts, as it does for whoever reads the body. Hashes stay in the ledger for ever and bodies hold personal
 * data: `secret` keeps anybody from finding what was sent by trying (IDEM-8).
 */
export function identify(key: string, request: Arrived, secret: Buffer): Idempotency {
  const { path, rawBody = '' } = request
  return {
    key,
    requestHash: createHmac('sha256', secret).update(`POST ${path}\n`).update(meaningOf(request)).digest('hex'),
    formerHash: createHash('sha256').update(`POST ${path}\n`).update(rawBody).digest('hex'),
  }
}

/** What has no canonical form, as a number beyond all measure or a hundred thousand levels, is compared by its bytes. */
function meaningOf({ body, rawBody = Buffer.alloc(0) }: Arrived): string | Buffer {
  try {
    return canonicalJson(body as object)
  } catch {
    return rawBody
  }
}
