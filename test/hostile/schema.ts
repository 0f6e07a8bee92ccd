import fc from 'fast-check'
import { contract } from '../support/contract.ts'
import { ODD_TEXTS } from './values.ts'

/** JSON Schema, as far as the contract uses it. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly pattern?: string
  readonly format?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
}

/** Values valid in the contract, with extreme ones more often than by chance. */
export function fitting(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.$ref) return fitting(component(schema.$ref))
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return fc.oneof(...choices.map(fitting))
  if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map((type) => fitting({ ...schema, type })))
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.type === 'object') return fittingObject(schema)
  if (schema.type === 'array') return fittingList(schema)
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'integer' || schema.type === 'number') return fittingNumber(schema)
  if (schema.type === 'string') return fittingText(schema)
  return fc.constant(null)
}

function component(pointer: string): Schema {
  const members = pointer.slice(2).split('/')
  return members.reduce<unknown>((node, name) => (node as Record<string, unknown>)[name], contract) as Schema
}

function fittingObject({ properties = {}, required = [] }: Schema): fc.Arbitrary<unknown> {
  const members = Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, fitting(schema)]))
  return fc.record(members, { requiredKeys: [...required] })
}

function fittingList({ items = {}, minItems = 0, maxItems = 4 }: Schema): fc.Arbitrary<unknown> {
  return fc.array(fitting(items), { minLength: minItems, maxLength: Math.min(maxItems, minItems + 3) })
}

function fittingNumber({ minimum, exclusiveMinimum, maximum }: Schema): fc.Arbitrary<number> {
  const min = minimum ?? (exclusiveMinimum === undefined ? Number.MIN_SAFE_INTEGER : exclusiveMinimum + 1)
  const max = maximum ?? Number.MAX_SAFE_INTEGER
  return fc.oneof(
    fc.constantFrom(min, max),
    fc.integer({ min, max: Math.min(max, min + 20) }),
    fc.integer({ min, max }),
  )
}

const TEXTS_OF_FORMAT: Readonly<Record<string, readonly string[]>> = {
  date: ['2026-03-10', '1900-01-01', '9999-12-31', '0001-01-01', '2024-02-29'],
  'date-time': [
    '2026-03-10T23:30:00-03:00',
    '1970-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999Z',
    '9999-12-31T23:59:59.999-23:59',
    '0001-01-01T00:00:00Z',
    '0000-01-01T00:00:00+23:59',
    '2018-11-04T00:00:00.123456789-03:00',
  ],
  email: ['ana@exemplo.com.br', `${'a'.repeat(64)}@exemplo.com.br`],
  uuid: ['00000000-0000-0000-0000-000000000000', '01890a5d-ac96-774b-bcce-b302099a8057'],
}

/** Largest and smallest amounts and quantities. */
const NUMERALS = ['0.00', '0.01', '9999999999.99', '0', '0.001', '999999999', '999999999.999', '1', '-999999999.999']

function fittingText(schema: Schema): fc.Arbitrary<string> {
  const { pattern, format, minLength = 0, maxLength = 200 } = schema
  if (format && TEXTS_OF_FORMAT[format]) return fc.constantFrom(...TEXTS_OF_FORMAT[format])
  if (pattern) return fittingPattern(pattern)
  const odd = ODD_TEXTS.filter((text) => text.length >= minLength && text.length <= maxLength)
  const longest = '𝒳'.repeat(maxLength)
  return fc.oneof(
    fc.constantFrom(longest, ...odd),
    fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 20) }),
  )
}

function fittingPattern(pattern: string): fc.Arbitrary<string> {
  const expression = new RegExp(pattern)
  const known = NUMERALS.filter((text) => expression.test(text))
  // No generator supports look-aheads.
  if (pattern.includes('(?=')) return fc.constantFrom('+55 (11) 98765-4321', '123456')
  const made = fc.stringMatching(expression)
  return known.length === 0 ? made : fc.oneof(fc.constantFrom(...known), made)
}
