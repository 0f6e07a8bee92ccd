import { isDeepStrictEqual } from 'node:util'

/**
 * The fields of `after` that differ from `before`: what an event records, so that repeating a request records nothing.
 * A field that is undefined is left alone.
 */
export function changesBetween<A extends object>(before: { readonly [F in keyof A]: unknown }, after: A): Partial<A> {
  const fields = Object.keys(after) as (keyof A)[]
  const changed = fields.filter(
    (field) => after[field] !== undefined && !isDeepStrictEqual(after[field], before[field]),
  )
  return Object.fromEntries(changed.map((field) => [field, after[field]])) as Partial<A>
}

export const isEmpty = (changes: object): boolean => Object.keys(changes).length === 0
