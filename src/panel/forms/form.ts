import { z } from 'zod'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { describeIssues } from '#domain/validation.ts'
import { refusalMessage } from '../words/problems.ts'
import type { Kind } from './kinds.ts'

/** The body of a form: texts by name; a name that occurs several times (checkboxes) has a list. */
export type FormBody = Readonly<Record<string, string | readonly string[]>>

const VALUE = z.string().max(20_000)

/** A body as the parser of forms gives it. Unknown names are no error: forms read only what they know. */
export const formBody = z.record(z.string().max(200), z.union([VALUE, z.array(VALUE).max(500)]))

/** The first value of a name; empty when there is none. */
export function formText(body: FormBody, name: string): string {
  const value = Object.hasOwn(body, name) ? body[name] : undefined
  return (typeof value === 'string' ? value : value?.[0]) ?? ''
}

function textsOf(body: FormBody, name: string): readonly string[] {
  const value = Object.hasOwn(body, name) ? body[name] : undefined
  return typeof value === 'string' ? [value] : (value ?? [])
}

export interface Field {
  readonly label: string
  readonly kind: Kind
  readonly isRequired?: boolean
  /** Shown below the control. */
  readonly hint?: string
  /** Width of twelve; 6 by default. On narrow screens each field has a line of its own. */
  readonly columns?: 2 | 3 | 4 | 6 | 8 | 12
  /** A heading before it, for a group of fields. */
  readonly group?: string
}

/** Fields by name, in order. A name with dots is a member of a member: `address.city`. */
export type Fields = Readonly<Record<string, Field>>

/** Values of the controls, and what is wrong with them. */
export interface Filled {
  readonly values: Readonly<Record<string, readonly string[]>>
  readonly errors: Readonly<Record<string, readonly string[]>>
  readonly problem: string | null
}

/** The form with the values of a record; of `{}`, an empty form. */
export function filledFrom(fields: Fields, record: object, timezone: string): Filled {
  const values = Object.entries(fields).map(([name, { kind }]) => {
    const value = memberOf(record, name)
    return [name, Array.isArray(value) ? value.map(String) : [kind.show(value, timezone)]] as const
  })
  return { values: Object.fromEntries(values), errors: {}, problem: null }
}

/** The form as it was sent, to be shown again. */
export function filledWith(fields: Fields, body: FormBody, refusal?: Refusal): Filled {
  const values = Object.entries(fields).map(([name, { kind }]) => {
    const isSecret = kind.control.as === 'input' && kind.control.type === 'password'
    return [name, isSecret ? [] : textsOf(body, name)] as const
  })
  return { values: Object.fromEntries(values), ...problemsOf(fields, refusal) }
}

/** The command's input, from a form that was sent. Only `fields` are read. */
export function inputOf(fields: Fields, body: FormBody, timezone: string): Record<string, unknown> {
  const input: Record<string, unknown> = {}
  for (const [name, { kind, isRequired }] of Object.entries(fields)) {
    setMember(input, name, typedValue(kind, body, name, timezone, isRequired))
  }
  return input
}

/** Hidden field with the initial values of a form that changes a record. */
export const BEFORE = '_antes'

/** The value of `BEFORE`. */
export const beforeOf = ({ values }: Filled): string => JSON.stringify(values)

/**
 * Only the fields that somebody has changed since the form was shown, so that saving does not undo what others have
 * changed meanwhile.
 */
export function changedFields(fields: Fields, body: FormBody): Fields {
  const before = beforeIn(body)
  const filled = (values: readonly string[] = []) =>
    JSON.stringify(values.filter((value) => value !== '').map(withPlainLineEnds))
  return Object.fromEntries(
    Object.entries(fields).filter(([name]) => filled(before[name]) !== filled(textsOf(body, name))),
  )
}

/** Browsers send CRLF. */
const withPlainLineEnds = (text: string): string => text.replace(/\r\n?/g, '\n')

const shown = z.record(z.string(), z.array(z.string()))

function beforeIn(body: FormBody): Filled['values'] {
  try {
    return shown.parse(JSON.parse(formText(body, BEFORE)))
  } catch {
    return {}
  }
}

function typedValue(kind: Kind, body: FormBody, name: string, timezone: string, isRequired = false): unknown {
  if (kind.control.as === 'checkboxes') return textsOf(body, name)
  const typed = formText(body, name)
  if (kind.control.as === 'checkbox') return kind.read(typed, timezone)
  const text = kind.control.as === 'input' && kind.control.type === 'password' ? typed : typed.trim()
  if (text === '') return isRequired ? undefined : null
  return kind.read(withPlainLineEnds(text), timezone)
}

/** Validates a form with the schema of a command: its input, or what has to be corrected. */
export function checkForm<T>(
  schema: z.ZodType<T>,
  fields: Fields,
  body: FormBody,
  timezone: string,
): { readonly input: T } | Refusal {
  const result = schema.safeParse(inputOf(fields, body, timezone))
  const problems = typedProblems(fields, body)
  if (result.success && Object.keys(problems).length === 0) return { input: result.data }
  return refuse('validation_failed', {
    fields: { ...(result.error && describeIssues(result.error).fields), ...problems },
  })
}

/**
 * What is wrong with the texts themselves, by field: kinds know more of them than a schema does, and a schema of changes
 * takes a required field that is empty for one that is left alone.
 */
function typedProblems(fields: Fields, body: FormBody): Record<string, string[]> {
  const problems: Record<string, string[]> = {}
  for (const [name, { kind, isRequired }] of Object.entries(fields)) {
    if (kind.control.as === 'checkboxes' || kind.control.as === 'checkbox') continue
    const typed = formText(body, name).trim()
    const problem = typed === '' ? isRequired && 'é obrigatório' : kind.problem?.(typed)
    if (problem) problems[name] = [problem]
  }
  return problems
}

/** Names of filters that are the first and the last day of a range, by how they end. */
const RANGES = [
  ['_from', '_to'],
  ['de', 'ate'],
] as const

/** What is wrong with filters before anybody looks: a text that is no value of its kind, days in the wrong order. */
export function filterProblems(fields: Fields, query: Readonly<Record<string, string>>): Refusal | null {
  const problems: Record<string, string[]> = {}
  for (const [name, { kind }] of Object.entries(fields)) {
    const typed = query[name]?.trim() ?? ''
    const problem = typed === '' ? null : kind.problem?.(typed)
    if (problem) problems[name] = [problem]
    for (const [first, last] of RANGES) {
      const from = name.endsWith(last) ? query[`${name.slice(0, -last.length)}${first}`] : undefined
      if (kind.control.as === 'input' && kind.control.type === 'date' && from && typed !== '' && from > typed)
        problems[name] = ['deve ser o mesmo dia do começo, ou depois']
    }
  }
  return Object.keys(problems).length > 0 ? refuse('validation_failed', { fields: problems }) : null
}

/** Messages of a refusal, by field; what names no field of the form is about the whole. */
function problemsOf(fields: Fields, refusal: Refusal | undefined): Pick<Filled, 'errors' | 'problem'> {
  if (!refusal) return { errors: {}, problem: null }
  const named = (refusal.details?.fields ?? {}) as Record<string, string[]>
  const errors: Record<string, readonly string[]> = {}
  const others: string[] = []
  for (const [name, messages] of Object.entries(named)) {
    const field = fieldOf(fields, name)
    if (field) errors[field] = [...(errors[field] ?? []), ...messages]
    else others.push(...messages)
  }
  const taken = refusal.details?.field
  if (refusal.refused === 'duplicate_resource' && typeof taken === 'string' && Object.hasOwn(fields, taken))
    errors[taken] = ['já é usado por outro registro']
  const problem = Object.keys(errors).length > 0 && others.length === 0 ? 'Confira os campos indicados.' : null
  return { errors, problem: problem ?? [refusalMessage(refusal), ...others].join(' ') }
}

/** The field that a path of the input belongs to: `scopes[0]` is `scopes`. */
function fieldOf(fields: Fields, path: string): string | null {
  const name = path.replace(/\[\d+\].*$/, '')
  return Object.hasOwn(fields, name) ? name : null
}

function memberOf(record: object, name: string): unknown {
  return name.split('.').reduce<unknown>((value, part) => (value as Record<string, unknown> | null)?.[part], record)
}

/** A member whose own members are all null is null itself: an empty address is none. */
function setMember(input: Record<string, unknown>, name: string, value: unknown): void {
  const [first = '', ...rest] = name.split('.')
  if (rest.length === 0) {
    input[first] = value
    return
  }
  const inner = { ...(input[first] as Record<string, unknown> | null | undefined) }
  setMember(inner, rest.join('.'), value)
  input[first] = Object.values(inner).some((one) => one !== null && one !== undefined) ? inner : null
}
