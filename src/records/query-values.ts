import * as z from 'zod'
import type { ZodOpenApiOverrideContext, ZodOpenApiOverrideMeta } from 'zod-openapi'
import { Instant } from '#domain/instant.ts'
import { limitedText } from '#domain/text.ts'

/** Timestamp in a query string. An unencoded `+` of the offset arrives as a space. */
export const QueryInstant = z.preprocess(
  (value) => (typeof value === 'string' && value.length <= 60 ? value.replace(/ (\d\d:?\d\d)$/, '+$1') : value),
  Instant,
)

/** Documents a query parameter as the integer that its text represents. */
export function asInteger(bounds: { minimum: number; maximum?: number; default?: number }): ZodOpenApiOverrideMeta {
  return ({ jsonSchema }) => {
    delete jsonSchema.pattern
    Object.assign(jsonSchema, { type: 'integer', ...bounds })
  }
}

/** An id in a query string. */
export const QueryId = limitedText(20)
  .regex(/^[1-9]\d{0,14}$/, 'deve ser um número inteiro positivo')
  .transform(Number)
  .meta({ override: asInteger({ minimum: 1 }) })

/** Documents a query parameter as the boolean that its text represents. */
function asFlag({ jsonSchema }: ZodOpenApiOverrideContext): void {
  delete jsonSchema.enum
  jsonSchema.type = 'boolean'
}

/** A flag in a query string: `true`, or `false` as if it were absent. */
export const QueryFlag = z
  .enum(['true', 'false'], 'deve ser true ou false')
  .transform((text) => (text === 'true' ? (true as const) : undefined))
  .optional()
  .meta({ override: asFlag })
