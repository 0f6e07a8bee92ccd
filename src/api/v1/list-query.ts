import { z } from 'zod'
import { CalendarDate } from '#domain/instant.ts'
import { asInteger, QueryInstant } from '#http/query-values.ts'

const DEFAULT_LIMIT = 50
/** Page size at most (LIST-2). A larger limit is refused rather than clamped, so that nobody believes to have got more. */
const MAX_LIMIT = 200

const LIMIT = `deve ser um número inteiro de 1 a ${MAX_LIMIT}`

const Limit = z
  .string()
  .regex(/^\d{1,4}$/, LIMIT)
  .transform(Number)
  .refine((limit) => limit >= 1 && limit <= MAX_LIMIT, LIMIT)
  .default(DEFAULT_LIMIT)
  .meta({ override: asInteger({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT }) })

export const QueryDate = CalendarDate

/** A revision of the ledger in a query string; -1 is the one before the first event. */
export const QueryRevision = z
  .string()
  .regex(/^(-1|0|[1-9]\d{0,14})$/, 'deve ser uma revisão do livro: um número inteiro a partir de -1')
  .transform(Number)
  .meta({ override: asInteger({ minimum: -1 }) })

const paging = { limit: Limit, cursor: z.string().max(2000).optional() }

/** Parameters of a list: paging, `updated_since`, and the resource's own filters. Anything else is refused. */
export const listQuery = <S extends z.ZodRawShape>(filters: S) =>
  z.strictObject({ ...paging, updated_since: QueryInstant.optional(), ...filters })

/** Parameters of a list of what never changes: paging and filters. */
export const pageQuery = <S extends z.ZodRawShape>(filters: S) => z.strictObject({ ...paging, ...filters })

/** Parameters of a deleted listing. */
export const deletedQuery = z.strictObject({ ...paging, since: QueryInstant.optional() })
