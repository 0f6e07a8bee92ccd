import express, { type RequestHandler } from 'express'
import * as z from 'zod'
import { describeIssues, type Refusal, refuse } from '#domain/refusals.ts'
import { REQUIRED_FIELD } from '#domain/text.ts'
import { type BodyBudget, bodyProblem, holdBody, readMultipart } from '#http/bodies.ts'
import { Problem } from '#http/problems.ts'
import { MAX_FILE_BYTES } from '#panel/import/sheet.ts'
import { refusalMessage } from '../words/message-words.ts'
import { type Kind, paragraphInput } from './input-kinds.ts'

/** Bytes of a form with a file, of the largest that its page takes. */
export const fileFormBytes = (mostOfFile = MAX_FILE_BYTES): number => mostOfFile + 20_000

const TYPE = 'multipart/form-data'

/** Reads a form with a file: its fields become the request's body, the file `response.locals.file`. */
export const fileForm =
  (room: BodyBudget, limit: number): RequestHandler =>
  (request, response, next) => {
    holdBody(room, limit, request, response)
    express.raw({ type: TYPE, limit })(request, response, (error?: unknown) => {
      if (error !== undefined) return next(bodyProblem(error, limit, request))
      const { body } = request as { body: unknown }
      const form = Buffer.isBuffer(body) ? readMultipart(body, request.get('content-type') ?? '') : null
      if (!form) return next(new Problem('malformed_json'))
      response.locals.file = form.file
      request.body = form.fields
      next()
    })
  }

export const isFileForm = (type: string | undefined): boolean => type?.startsWith(TYPE) ?? false

/** Body of a form: texts by name; repeated names (checkboxes) have a list. */
export type FormBody = Readonly<Record<string, string | readonly string[]>>

const VALUE = z.string().max(20_000)

/** Parsed body of a form. Unknown names are no error: forms read only their own fields. */
export const formBody = z.record(z.string().max(200), z.union([VALUE, z.array(VALUE).max(500)]))

/** First value of a name; empty if absent. */
export function formText(body: FormBody, name: string): string {
  const value = Object.hasOwn(body, name) ? body[name] : undefined
  return (typeof value === 'string' ? value : value?.[0]) ?? ''
}

/** All values of a name. */
export function formTexts(body: FormBody, name: string): readonly string[] {
  const value = Object.hasOwn(body, name) ? body[name] : undefined
  return typeof value === 'string' ? [value] : (value ?? [])
}

export interface Field {
  readonly label: string
  readonly kind: Kind
  readonly isRequired?: boolean
  /** Digits that a spreadsheet must not take for a number. */
  readonly isCode?: true
  /** Shown below the control. */
  readonly hint?: string
  /** Width of twelve; 6 by default. On narrow screens each field has its own line; two of 2 share one. */
  readonly columns?: 2 | 3 | 4 | 6 | 8 | 12
  /** Heading above the field, for a group of fields. */
  readonly group?: string
  /** Choice of another field that this one belongs to; hidden with any other choice. The stylesheet names it. */
  readonly of?: 'auditor' | 'cash'
  /** The page opens with the focus on it, unless another field is wrong. */
  readonly isFocused?: true
  /** A code may be read into it by camera, which may send the form too. */
  readonly scans?: 'fill' | 'send'
  /** Title of the folded part of the form with this field; its fields follow each other. */
  readonly fold?: string
}

/** Fields by name, in order. A dotted name is a nested member: `address.city`. */
export type Fields = Readonly<Record<string, Field>>

/** A required reason; `hint` says where it is kept. */
export const reasonField = (hint: string): Field => ({
  label: 'Motivo',
  kind: paragraphInput,
  isRequired: true,
  columns: 12,
  hint,
})

/** Values of the controls, and validation messages. */
export interface FilledForm {
  readonly values: Readonly<Record<string, readonly string[]>>
  readonly errors: Readonly<Record<string, readonly string[]>>
  readonly problem: string | null
}

/** Form filled in with the values of a record; empty for `{}`. */
export function fillFromRecord(fields: Fields, record: object, timezone: string): FilledForm {
  const values = Object.entries(fields).map(([name, { kind }]) => {
    const value = memberOf(record, name)
    return [name, Array.isArray(value) ? value.map(String) : [kind.show(value, timezone)]] as const
  })
  return { values: Object.fromEntries(values), errors: {}, problem: null }
}

/** Form filled in with submitted values, to be shown again. */
export function fillFromBody(fields: Fields, body: FormBody, refusal?: Refusal): FilledForm {
  const values = Object.entries(fields).map(([name, { kind }]) => {
    const isSecret = kind.control.as === 'input' && kind.control.type === 'password'
    return [name, isSecret ? [] : formTexts(body, name)] as const
  })
  return { values: Object.fromEntries(values), ...problemsOf(fields, refusal) }
}

/** Command input from a submitted form. Only `fields` are read. */
export function readFormInput(
  fields: Fields,
  body: FormBody,
  timezone: string,
  source: TextSource = 'browser',
): Record<string, unknown> {
  const input: Record<string, unknown> = {}
  for (const [name, { kind, isRequired }] of Object.entries(fields)) {
    setMember(input, name, typedValue(kind, body, name, { timezone, source, isRequired }))
  }
  return input
}

/** Hidden field with the initial values of a form that updates a record. */
export const BEFORE = '_antes'

/** Value of the field `BEFORE`. */
export const formatBefore = ({ values }: FilledForm): string => JSON.stringify(values)

/**
 * Only the fields that the user changed since the form was shown, so that saving does not overwrite concurrent changes
 * of other users.
 */
export function pickChangedFields(fields: Fields, body: FormBody): Fields {
  const before = beforeIn(body)
  const filled = (values: readonly string[] = []) =>
    JSON.stringify(values.filter((value) => value !== '').map(withPlainLineEnds))
  return Object.fromEntries(
    Object.entries(fields).filter(([name]) => filled(before[name]) !== filled(formTexts(body, name))),
  )
}

/**
 * Messages for the fields that the user edited and that have changed meanwhile, with their new value. `present` is the
 * form as it would be shown now.
 */
export function staleFields(
  fields: Fields,
  body: FormBody,
  present: FilledForm,
): Readonly<Record<string, readonly string[]>> {
  const shown = beforeIn(body)
  const text = (values: readonly string[] = []) => JSON.stringify(values.filter((value) => value !== ''))
  const edited = Object.entries(pickChangedFields(fields, body))
  return Object.fromEntries(
    edited.flatMap(([name, { kind }]) => {
      const [before, now] = [shown[name], present.values[name] ?? []]
      if (before === undefined || text(before) === text(now) || text(now) === text(formTexts(body, name))) return []
      const { control } = kind
      const options = 'options' in control ? control.options : []
      const words = now.map((value) => options.find((option) => option.value === value)?.label ?? value).filter(Boolean)
      return [[name, [`mudou para ${words.join(', ') || 'vazio'}`]]]
    }),
  )
}

/** Browsers send CRLF for each line end; a file has what the text has. */
type TextSource = 'browser' | 'file'

const withPlainLineEnds = (text: string): string => text.replace(/\r\n?/g, '\n')

const shown = z.record(z.string(), z.array(z.string()))

function beforeIn(body: FormBody): FilledForm['values'] {
  try {
    return shown.parse(JSON.parse(formText(body, BEFORE)))
  } catch {
    return {}
  }
}

/** Longest text of a field of one line, in UTF-16 units: kinds read no longer one. */
const MAX_LINE = 2_000

const isTooLong = ({ control }: Kind, text: string): boolean => control.as !== 'textarea' && text.length > MAX_LINE

const problemOf = (kind: Kind, typed: string): string | null | undefined =>
  isTooLong(kind, typed) ? 'é longo demais' : kind.problem?.(typed)

interface Typing {
  readonly timezone: string
  readonly source: TextSource
  readonly isRequired: boolean | undefined
}

function typedValue(kind: Kind, body: FormBody, name: string, { timezone, source, isRequired }: Typing): unknown {
  if (kind.control.as === 'checkboxes') return formTexts(body, name)
  const typed = formText(body, name)
  if (kind.control.as === 'checkbox') return kind.read(typed, timezone)
  const text = kind.control.as === 'input' && kind.control.type === 'password' ? typed : typed.trim()
  if (text === '') return isRequired ? undefined : null
  if (isTooLong(kind, text)) return text
  return kind.read(source === 'browser' ? withPlainLineEnds(text) : text, timezone)
}

/** Validates a form with the schema of a command. Returns the input, or a refusal. */
export function checkForm<T>(
  schema: z.ZodType<T>,
  fields: Fields,
  body: FormBody,
  timezone: string,
  source: TextSource = 'browser',
): { readonly input: T } | Refusal {
  const result = schema.safeParse(readFormInput(fields, body, timezone, source))
  const problems = typedProblems(fields, body)
  if (result.success && Object.keys(problems).length === 0) return { input: result.data }
  return refuse('validation_failed', {
    fields: { ...(result.error && describeIssues(result.error).fields), ...problems },
  })
}

/**
 * Problems of the texts themselves, by field: kinds know more about them than a schema does, and a schema of changes
 * reads an empty required field as unchanged.
 */
function typedProblems(fields: Fields, body: FormBody): Record<string, string[]> {
  const problems: Record<string, string[]> = {}
  for (const [name, { kind, isRequired }] of Object.entries(fields)) {
    if (kind.control.as === 'checkboxes' || kind.control.as === 'checkbox') continue
    const typed = formText(body, name).trim()
    const problem = typed === '' ? isRequired && REQUIRED_FIELD : problemOf(kind, typed)
    if (problem) problems[name] = [problem]
  }
  return problems
}

/** Suffixes of filters that are the first and last day of a range. */
const RANGES = [
  ['_from', '_to'],
  ['de', 'ate'],
] as const

/** Problems of filters before the query: texts that are invalid for their kind, days in the wrong order. */
export function filterProblems(fields: Fields, query: Readonly<Record<string, string>>): Refusal | null {
  const problems: Record<string, string[]> = {}
  for (const [name, { kind }] of Object.entries(fields)) {
    const typed = query[name]?.trim() ?? ''
    const problem = typed === '' ? null : problemOf(kind, typed)
    if (problem) problems[name] = [problem]
    for (const [first, last] of RANGES) {
      const from = name.endsWith(last) ? query[`${name.slice(0, -last.length)}${first}`] : undefined
      if (kind.control.as === 'input' && kind.control.type === 'date' && from && typed !== '' && from > typed)
        problems[name] = ['deve ser igual ou posterior à data inicial']
    }
  }
  return Object.keys(problems).length > 0 ? refuse('validation_failed', { fields: problems }) : null
}

/** Messages of a refusal, by field; those without a field of the form apply to the whole form. */
function problemsOf(fields: Fields, refusal: Refusal | undefined): Pick<FilledForm, 'errors' | 'problem'> {
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
    errors[taken] = ['já existe um cadastro com este valor']
  const problem = Object.keys(errors).length > 0 && others.length === 0 ? 'Confira os campos indicados.' : null
  return { errors, problem: problem ?? [refusalMessage(refusal), ...others].join(' ') }
}

/** Field of a path of the input: `scopes[0]` belongs to `scopes`. */
function fieldOf(fields: Fields, path: string): string | null {
  const name = path.replace(/\[\d+\].*$/, '')
  return Object.hasOwn(fields, name) ? name : null
}

function memberOf(record: object, name: string): unknown {
  return name.split('.').reduce<unknown>((value, part) => (value as Record<string, unknown> | null)?.[part], record)
}

/** An object whose members are all null becomes null: an empty address is no address. */
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
