import { z } from 'zod'

/** What a form sends: texts by name; a name that occurs several times (checkboxes) has a list. */
export type FormBody = Readonly<Record<string, string | readonly string[]>>

const VALUE = z.string().max(20_000)

/** A body as the parser of forms gives it. Names are the form's own business: what it does not know, it does not read. */
export const formBody = z.record(z.string().max(200), z.union([VALUE, z.array(VALUE).max(500)]))

/** The one value of a name; empty when there is none. */
export function textOf(body: FormBody, name: string): string {
  const value = Object.hasOwn(body, name) ? body[name] : undefined
  return (typeof value === 'string' ? value : value?.[0]) ?? ''
}

/** All values of a name. */
export function textsOf(body: FormBody, name: string): readonly string[] {
  const value = Object.hasOwn(body, name) ? body[name] : undefined
  return typeof value === 'string' ? [value] : (value ?? [])
}
