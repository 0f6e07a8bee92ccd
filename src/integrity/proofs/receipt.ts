import { deflateRawSync } from 'node:zlib'
import type { Envelope } from '#ledger/envelope.ts'

/** Path of the page that verifies receipts. */
export const RECEIPT_PAGE = '/conferir'

/** An event with a proof of its inclusion in a ledger with a signed head. */
export interface ProvedEvent {
  /** As stored, with personal fields sealed. */
  readonly event: Envelope
  /** C2SP tlog-proof with the ledger's checkpoint. */
  readonly proof: string
}

/** Receipt: proof of a sale that the buyer can verify offline (PROOF-40). */
export interface Receipt extends ProvedEvent {
  readonly version: 1
  /** Proof of a cancellation before the receipt was made. */
  readonly cancellation?: ProvedEvent
}

/** Above the capacity of the largest QR code. The cost of the decimal form grows with the square of its length. */
const MOST_DEFLATED_BYTES = 3_000

/**
 * Encodes a receipt in decimal digits: deflated JSON behind a first hex digit that preserves zeros (PROOF-46). A QR
 * code stores three digits in ten bits, and URLs accept digits. Null if it does not fit in a QR code.
 */
export function digitsOf(receipt: Receipt): string | null {
  const deflated = deflateRawSync(JSON.stringify(receipt), { level: 9 })
  return deflated.length > MOST_DEFLATED_BYTES ? null : BigInt(`0x1${deflated.toString('hex')}`).toString()
}

/**
 * Fragment of the page's URL, which browsers do not send: the receipt, or the hash of its event if the receipt is too
 * long.
 */
export const HASH_FRAGMENT = 'hash='
