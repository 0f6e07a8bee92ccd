import * as z from 'zod'
import type { ZodOpenApiOverrideContext, ZodOpenApiOverrideMeta } from 'zod-openapi'
import { Instant } from '#domain/instant.ts'
import { limitedText } from '#domain/text.ts'
import type { DataOf, EventName } from '#events/catalogue.ts'

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
function asFlag({ jsonSchema }: Pick<ZodOpenApiOverrideContext, 'jsonSchema'>): void {
  delete jsonSchema.enum
  jsonSchema.type = 'boolean'
}

/** A flag in a query string: `true`, or `false` as if it were absent. */
export const QueryFlag = z
  .enum(['true', 'false'], 'deve ser true ou false')
  .transform((text) => (text === 'true' ? (true as const) : undefined))
  .optional()
  .meta({ override: asFlag })

/** What a value is: how people read and type it. */
export type ValueType =
  | 'text'
  | 'person_name'
  | 'paragraph'
  | 'code'
  | 'email'
  | 'phone'
  | 'tax_number'
  | 'zip'
  | 'choice'
  | 'coded_choice'
  | 'yes_or_no'
  | 'number'
  | 'money'
  | 'quantity'
  | 'percentage'
  | 'day'
  | 'moment'
  | 'record'
  | 'metadata'
  /** Another record, as programs name it. */
  | 'reference'
  | 'group'
  | 'list'

/**
 * What a field is, wherever it shows: in requests and answers, on pages, in files, imports, histories and the contract.
 * Views name fields; their order and layout are their own. What is stored is never derived from a definition.
 */
export interface FieldDefinition<
  T extends ValueType = ValueType,
  W extends z.ZodType = z.ZodType,
  C extends z.ZodType = z.ZodType,
  A extends z.ZodType = z.ZodType,
> {
  readonly type: T
  /** For people. */
  readonly label: string
  /** For programs; without one, `contract/glossary.ts` has it. */
  readonly description?: string | undefined
  /** Below a control. */
  readonly hint?: string | undefined
  /** In requests with a whole record. */
  readonly whole: W
  /** In a PATCH: absent is unchanged. */
  readonly change: C
  readonly answer: A
  readonly isRequired?: true
  /** Of the values of a choice. */
  readonly names?: Readonly<Record<string, string>>
  /** Of a group. */
  readonly members?: RecordDefinition
}

export type RecordDefinition = Readonly<Record<string, FieldDefinition>>

/** Fields of an event's record, all of them present. */
export type RecordedFields<E extends EventName> = Required<Omit<DataOf<E>, 'id'>>

/** Definitions of exactly these fields. */
export type DefinitionOf<D> = {
  readonly [N in keyof D]-?: FieldDefinition<ValueType, z.ZodType, z.ZodType, z.ZodType<D[N]>>
}

type Words = Pick<FieldDefinition, 'description' | 'hint'>

/** A field that may be empty: `input` takes null and absence. */
export const optionalField = <T extends ValueType, I extends z.ZodType, A extends z.ZodType = typeof NullableText>(
  type: T,
  label: string,
  input: I,
  { answer, ...words }: Words & { readonly answer?: A } = {},
) => ({ type, label, ...words, whole: input, change: input, answer: (answer ?? NullableText) as A })

/** A field that a whole record must have. */
export const requiredField = <T extends ValueType, I extends z.ZodType, A extends z.ZodType>(
  type: T,
  label: string,
  input: I,
  answer: A,
  words: Words = {},
) => ({ type, label, ...words, whole: input, change: input.optional(), answer, isRequired: true as const })

/** One of named values, or none. */
export const choiceField = <V extends string, T extends 'choice' | 'coded_choice' = 'choice'>(
  label: string,
  names: Readonly<Record<V, string>>,
  words: Words & { readonly type?: T } = {},
) => {
  const value = z.enum(Object.keys(names) as V[]) as unknown as z.ZodEnum<{ [N in V]: N }>
  const { type = 'choice' as T, ...others } = words
  return { ...optionalField(type, label, value.nullish(), { ...others, answer: value.nullable() }), names }
}

/** A field that the service adds. */
export const serviceField = <T extends ValueType, A extends z.ZodType>(
  type: T,
  label: string,
  answer: A,
  words: Words = {},
) => ({ type, label, ...words, whole: z.never(), change: z.never(), answer })

/** A parameter of lists. */
export const filterField = <T extends ValueType, Q extends z.ZodType>(
  type: T,
  label: string,
  query: Q,
  words: Words = {},
) => {
  const whole = query.optional()
  return { type, label, ...words, whole, change: whole, answer: query }
}

type Shape<F extends RecordDefinition, S extends 'whole' | 'change' | 'answer'> = { [N in keyof F]: F[N][S] }

const shapeOf = <F extends RecordDefinition, S extends 'whole' | 'change' | 'answer'>(fields: F, schema: S) =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field[schema]])) as Shape<F, S>

export const wholeShape = <F extends RecordDefinition>(fields: F) => shapeOf(fields, 'whole')
export const changesShape = <F extends RecordDefinition>(fields: F) => shapeOf(fields, 'change')
export const answerShape = <F extends RecordDefinition>(fields: F) => shapeOf(fields, 'answer')

/** Query parameters of a list, with what the filters say of themselves. */
export const queryShape = <F extends RecordDefinition>(filters: F) =>
  Object.fromEntries(
    Object.entries(filters).map(([name, { whole, description }]) => [
      name,
      description === undefined ? whole : whole.meta({ param: { description } }),
    ]),
  ) as Shape<F, 'whole'>

/** Values of a list's filters. */
export type FilterValues<F extends RecordDefinition> = { readonly [N in keyof F]?: z.output<F[N]['answer']> }

/** The fields with some of the names, in this order. */
export const pickFields = <F extends RecordDefinition, N extends keyof F>(fields: F, ...names: readonly N[]) =>
  Object.fromEntries(names.map((name) => [name, fields[name]])) as Pick<F, N>

/** Values of a whole record; what is absent is null. */
export type WholeValues<F extends RecordDefinition> = {
  [N in keyof F]:
    | Exclude<z.output<F[N]['whole']>, undefined>
    | (undefined extends z.output<F[N]['whole']> ? null : never)
}

/** Recorded values of a whole record, by a request: absent ones are null. */
export const toRecordedValues = <F extends RecordDefinition>(
  fields: F,
  input: { readonly [N in keyof F]?: unknown },
): WholeValues<F> =>
  Object.fromEntries(Object.keys(fields).map((name) => [name, input[name] ?? null])) as WholeValues<F>

/** Every field, those of groups by `group.member`. */
export const listLeaves = (fields: RecordDefinition): [path: string, field: FieldDefinition][] =>
  Object.entries(fields).flatMap(([name, field]) =>
    field.members
      ? Object.entries(field.members).map(([member, inner]): [string, FieldDefinition] => [`${name}.${member}`, inner])
      : [[name, field]],
  )

/** Texts of fields by name, those within groups included. */
export const textsByName = (fields: RecordDefinition, text: 'label' | 'description'): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => [
      ...(field[text] === undefined ? [] : [[name, field[text]] as const]),
      ...Object.entries(field.members ? textsByName(field.members, text) : {}),
    ]),
  )

/** Names of the values of choices, by field. */
export const choiceNames = (fields: RecordDefinition): Record<string, Readonly<Record<string, string>>> =>
  Object.fromEntries(Object.entries(fields).flatMap(([name, { names }]) => (names ? [[name, names] as const] : [])))

/** Names of the fields of a type, those within groups included. */
export const namesOfType = (fields: RecordDefinition, type: ValueType): string[] =>
  listLeaves(fields).flatMap(([path, field]) => (field.type === type ? [path.slice(path.indexOf('.') + 1)] : []))
