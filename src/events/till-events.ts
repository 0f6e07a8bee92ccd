import * as z from 'zod'
import { eventType, text } from './event-definitions.ts'

/** Deviations in the chain of a till. */
export const CHAIN_WARNINGS = ['till_signature', 'till_chain', 'till_number'] as const
export type ChainWarning = (typeof CHAIN_WARNINGS)[number]

const number = z.int().positive()
const hash = text.regex(/^[0-9a-f]{64}$/)
/** First and last of consecutive numbers. */
const range = z.tuple([number, number])

export const tillEvents = {
  /** `x`, `y`: the public key on the curve P256, base64url. */
  TillRegistered: eventType('till', { name: text, x: text, y: text }),
  /** An element of the till's chain has come, even if what it says was refused. */
  TillElementReceived: eventType('till', {
    number,
    /** Of the element in RFC 8785 form, with its signature. */
    hash,
    /** Without it; null if it came from paper. */
    content_hash: hash.nullable(),
    /** Null if it came from paper. */
    previous: hash.nullable(),
    warnings: z.array(z.enum(CHAIN_WARNINGS)),
    /** The next element names another predecessor. */
    breaks_next: z.literal(true).optional(),
  }),
  /** Numbers that have not come, told once. */
  TillGapDetected: eventType('till', { missing: z.array(range) }),
  /** A person does not expect these numbers any more. */
  TillElementsGivenUp: eventType('till', { from: number, to: number, reason: text }),
  TillEnded: eventType('till', {}),
} as const
