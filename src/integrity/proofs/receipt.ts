import { deflateRawSync } from 'node:zlib'
import type { Envelope } from '#ledger/envelope.ts'

/** Below the service's address: the page that verifies receipts. */
export const RECEIPT_PAGE = '/conferir'

/** An event with the proof that it is in a ledger whose head was signed. */
export interface ProvedEvent {
  /** As it is stored, personal fields sealed. */
  readonly event: Envelope
  /** Text of C2SP tlog-proof; its checkpoint is the ledger's. */
  readonly proof: string
}

/** What whoever bought something holds against the shop, and against us (PROOF-40). */
export interface Receipt extends ProvedEvent {
  readonly version: 1
  /** That the sale was cancelled before the receipt was made. */
  readonly cancellation?: ProvedEvent
}

/** Above the capacity of the largest QR code. The cost of the decimal form grows with the square of its length. */
const MOST_DEFLATED_BYTES = 3_000

/**
 * A receipt in decimal digits, of which a QR code takes three in ten bits, and an address any number: its JSON, deflated, behind
 * a first hex digit that keeps zeros (PROOF-46). Null where no code has room for it.
 */
export function digitsOf(receipt: Receipt): string | null {
  const deflated = deflateRawSync(JSON.stringify(receipt), { level: 9 })
  return deflated.length > MOST_DEFLATED_BYTES ? null : BigInt(`0x1${deflated.toString('hex')}`).toString()
}

/** Behind the `#` of the page's address, which browsers send to nobody: the receipt, or the hash of its event where it is too long. */
export const HASH_FRAGMENT = 'hash='
