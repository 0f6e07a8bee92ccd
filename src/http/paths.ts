import type * as z from 'zod'
import { describeIssues, type Problems } from '#domain/refusals.ts'

/** Path parameters, as text. */
export type Params = Readonly<Record<string, string>>

/**
 * Sort key of a route pattern: fixed segments precede parameters in the same position, because a tilde sorts after all
 * characters of a path.
 */
const specificity = (path: string): string => path.replaceAll(/:\w+/g, '~')

/** Routes in the order in which they match: `/customers/batch` is not the customer with the id `batch`. */
export const bySpecificity = <R extends { readonly path: string }>(routes: readonly R[]): R[] =>
  routes.toSorted((a, b) => (specificity(a.path) < specificity(b.path) ? -1 : 1))

/** Parameters of a path that matches a route pattern; null if it does not match. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const [wanted, given] = [pattern.split('/'), path.split('/')]
  if (wanted.length !== given.length) return null
  const params: Record<string, string> = {}
  for (const [position, part] of wanted.entries()) {
    const text = given[position] ?? ''
    if (!part.startsWith(':')) {
      if (part !== text) return null
      continue
    }
    const value = decode(text)
    if (!value) return null
    params[part.slice(1)] = value
  }
  return params
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** Id in a path; null if the text is no id. The path then answers 404 like a missing record. */
export function pathId(text: string | undefined): number | null {
  if (text === undefined || !/^[1-9]\d{0,15}$/.test(text)) return null
  const id = Number(text)
  return Number.isSafeInteger(id) ? id : null
}

/** Input of a command on one record: the id of the path and the fields of the body. */
export function withId<B extends object>(params: Params, body: B): ({ id: number } & B) | null {
  const id = pathId(params.id)
  return id === null ? null : { ...body, id }
}

const REPEATED = 'foi informado mais de uma vez'

/** Problems of a query. A repeated name becomes a list, which no parameter accepts. */
export function describeQuery(error: z.ZodError, query: Readonly<Record<string, unknown>>): Problems {
  const problems = describeIssues(error)
  for (const name of Object.keys(problems.fields)) {
    if (Array.isArray(query[name])) problems.fields[name] = [REPEATED]
  }
  return problems
}
