import * as z from 'zod'
import { eventType, id, instant, money, signedMoney, text } from './event-definitions.ts'

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

/** What a till reports of its drawer. */
export const CASH_MOVEMENT_KINDS = ['opened', 'in', 'out', 'received', 'closed'] as const

/** Why the count of a drawer differs from what was expected. */
export const DIFFERENCE_REASONS = [
  'change',
  'payment_method',
  'unrecorded_movement',
  'unrecorded_sale',
  'miscount',
  'unknown',
  'other',
] as const

/** Problems of a recorded movement. */
export const CASH_WARNINGS = ['session_closed', 'at_in_future', 'at_old', ...CHAIN_WARNINGS] as const

/** Why an uploaded movement waits for a person: of another user's drawer, or made after the end of the user's access. */
export const MOVEMENT_REFUSALS = ['session_of_other', 'access_ended'] as const

const movement = {
  /** Identifier of the session, given by the till; unique in the company. */
  session_id: text,
  /** Identifier of the movement, given by the till. */
  offline_id: text,
  /** By the till's clock. */
  at: instant,
  reason: text.nullable(),
  warnings: z.array(z.enum(CASH_WARNINGS)),
  /** Of a refused upload that a person recorded: who uploaded it, and whose drawer it is. */
  settles: z.strictObject({ user_id: id, owner_id: id }).optional(),
  /** Whose drawer it is, if another user moves it: in the panel, or at the till that opened it. */
  owner_id: id.optional(),
  /** Till that signed it. */
  till_id: id.optional(),
}

/** Money by payment type; null stands for the drawer, to which all payment types in cash belong. */
const paymentTypeId = id.nullable()

/** What the till counted; null if it did not count. */
const counted = z.array(z.strictObject({ payment_type_id: paymentTypeId, amount: money })).nullable()

/** Movements may arrive in any order: each of these events may be the first of its session. */
export const cashEvents = {
  /** `amount`: opening float. */
  CashSessionOpened: eventType('cash_session', { ...movement, amount: money }),
  /** Cash that came into the drawer or left it without a sale. */
  CashMoved: eventType('cash_session', {
    ...movement,
    kind: z.enum(['in', 'out', 'received']),
    amount: money,
    /** Account that was received, or whose receipt was given back; null for other movements. */
    receivable_id: id.nullable(),
    /** Account that was paid out of the drawer, or whose payment came back. */
    payable_id: id.optional(),
  }),
  CashSessionClosed: eventType('cash_session', {
    ...movement,
    counted,
    /** What sales and returns had brought when the closing was recorded; later ones are not in it. */
    takings: z.strictObject({
      /** Payment type in cash that stands for the drawer. */
      drawer: paymentTypeId,
      sales: z.int().nonnegative(),
      ways: z.array(
        z.strictObject({
          payment_type_id: id,
          is_cash: z.boolean(),
          sold: signedMoney,
          cancelled: signedMoney,
          returned: signedMoney,
        }),
      ),
    }),
  }),
  /** The latest one counts, as long as the difference is the explained one. */
  CashDifferenceExplained: eventType('cash_session', {
    reason: z.enum(DIFFERENCE_REASONS),
    note: text.nullable(),
    /** The largest of a payment type. */
    difference: signedMoney,
  }),
  /** Not recorded, for a reason. A person records it in a session, or resolves it otherwise. */
  CashMovementRefused: eventType('cash_session', {
    session_id: text,
    offline_id: text,
    user_id: id,
    kind: z.enum(CASH_MOVEMENT_KINDS),
    amount: money.nullable(),
    at: instant,
    reason: text.nullable(),
    receivable_id: id.nullable(),
    counted,
    code: z.enum(MOVEMENT_REFUSALS),
  }),
  RefusedCashMovementResolved: eventType('cash_session', { offline_id: text, user_id: id, note: text }),
} as const
