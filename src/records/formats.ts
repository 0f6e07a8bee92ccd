import * as z from 'zod'

/** Text and number formats of answers; narrower than those of requests. */

/** The service's own identifier of a record. */
export const ContractRecordId = z.int().positive()

/** Exactly 2 decimals, never negative. */
export const Amount = z.string().regex(/^\d+\.\d{2}$/)

/** As Amount, but balances may be negative. */
export const Balance = z.string().regex(/^-?\d+\.\d{2}$/)

/** Exactly 3 decimals; stock is negative after oversold offline sales. */
export const ThreeDecimals = z.string().regex(/^-?\d+\.\d{3}$/)

/** ISO 8601 with milliseconds and the offset of the company's time zone, never `Z`. */
export const Timestamp = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}[+-]\d{2}:\d{2}$/)
  .meta({ format: 'date-time' })

/** Calendar day. */
export const Day = z.iso.date()

export const NullableText = z.string().nullable()

/** Texts of a program by its own keys; null if there are none. */
export const ContractMetadata = z.record(z.string(), z.string()).meta({ id: 'Metadata' }).nullable()
