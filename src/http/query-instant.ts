import { z } from 'zod'
import { Instant } from '../domain/instant.ts'

/** An instant in a query string, where an unencoded `+` of the offset arrives as a blank. */
export const QueryInstant = z.preprocess(
  (value) => (typeof value === 'string' ? value.replace(/ (\d\d:\d\d)$/, '+$1') : value),
  Instant,
)
