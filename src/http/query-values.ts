import { z } from 'zod'
import type { ZodOpenApiOverrideMeta } from 'zod-openapi'
import { Instant } from '#domain/instant.ts'
import { describeIssues, type Problems } from '#domain/validation.ts'

/** An instant in a query string, where an unencoded `+` of the offset arrives as a blank. */
export const QueryInstant = z.preprocess(
  (value) => (typeof value === 'string' ? value.replace(/ (\d\d:\d\d)$/, '+$1') : value),
  Instant,
)

/** The contract shows a parameter as the number that it stands for; only the URL makes a text of it. */
export function asInteger(bounds: { minimum: number; maximum?: number; default?: number }): ZodOpenApiOverrideMeta {
  return ({ jsonSchema }) => {
    delete jsonSchema.pattern
    Object.assign(jsonSchema, { type: 'integer', ...bounds })
  }
}

/** An id in a query string. */
export const QueryId = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'deve ser um número inteiro positivo')
  .transform(Number)
  .meta({ override: asInteger({ minimum: 1 }) })

const REPEATED = 'foi informado mais de uma vez'

/** What is wrong with a query, where a name that is given twice is a list, which no parameter takes. */
export function describeQuery(error: z.ZodError, query: Readonly<Record<string, unknown>>): Problems {
  const problems = describeIssues(error)
  for (const name of Object.keys(problems.fields)) {
    if (Array.isArray(query[name])) problems.fields[name] = [REPEATED]
  }
  return problems
}
