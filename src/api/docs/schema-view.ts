import type { oas31 } from 'zod-openapi'
import { type Html, html, type Part } from './html.ts'
import { inline } from './markdown.ts'

export type Schema = oas31.SchemaObject

const TYPES: Readonly<Record<string, string>> = {
  string: 'texto',
  integer: 'inteiro',
  number: 'número',
  boolean: 'booleano',
  object: 'objeto',
  array: 'lista',
  null: 'nulo',
}

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': 'data e hora',
  date: 'dia',
  email: 'e-mail',
  uuid: 'UUID',
}

/** Where a component is explained on the page. */
export const anchorOf = (name: string): string => `objeto-${name}`

export const nameOfRef = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1)

/** A field on a line of its own; those of objects inside it follow, under its name. */
interface Line {
  readonly name: string
  readonly schema: Schema
  /** What there is to say of its presence. */
  readonly note: string | null
}

/** The fields of an object, one a line. */
export function fieldTable(schema: Schema): Html {
  const lines = linesOf(schema, '')
  if (lines.length === 0) return html`<p>Sem campos.</p>`
  return html`<table><thead><tr><th>Campo</th><th>Tipo</th><th>Significado</th></tr></thead><tbody>${lines.map(row)}</tbody></table>`
}

function row({ name, schema, note }: Line): Html {
  return html`<tr><td><code>${name}</code>${note && html` <span class="note">${note}</span>`}</td>
<td>${typeOf(schema)}</td><td>${inline(schema.description ?? '')}${limitsOf(schema)}</td></tr>`
}

function linesOf(schema: Schema, prefix: string): Line[] {
  const note = noteOn(schema)
  return Object.entries((schema.properties ?? {}) as Record<string, Schema>).flatMap(([field, inner]) => {
    const name = prefix + field
    const { object, mark } = innerObject(inner)
    const line = { name, schema: inner, note: note(field) }
    return object ? [line, ...linesOf(object, `${name}${mark}.`)] : [line]
  })
}

/** Of a request, which fields it must have; of an answer, which it may lack. Only requests are closed to other fields. */
function noteOn({ required = [], additionalProperties }: Schema): (field: string) => string | null {
  if (additionalProperties === false) return (field) => (required.includes(field) ? 'obrigatório' : null)
  return (field) => (required.includes(field) ? null : 'nem sempre presente')
}

/** The object whose fields are shown below a field: its own, or that of a list's items. */
function innerObject(schema: Schema): { object: Schema | null; mark: string } {
  const shown = withoutNull(schema)
  if (shown.type === 'array') return { ...innerObject(shown.items as Schema), mark: '[]' }
  return { object: shown.properties ? shown : null, mark: '' }
}

const alternatives = (schema: Schema): Schema[] => (schema.anyOf ?? schema.oneOf ?? []) as Schema[]

/** Of a schema or null, the schema. */
function withoutNull(schema: Schema): Schema {
  const others = alternatives(schema).filter(({ type }) => type !== 'null')
  return others.length === 1 ? (others[0] as Schema) : schema
}

/** A type in words, with a link to the object that it names. */
export function typeOf(schema: Schema): Html {
  if (schema.$ref) {
    const name = nameOfRef(schema.$ref)
    return html`<a href="#${anchorOf(name)}">${name}</a>`
  }
  const choices = alternatives(schema)
  if (choices.length > 0) return html`${choices.map((choice, position) => [position > 0 && ' ou ', typeOf(choice)])}`
  if (schema.type === 'array') return html`lista de ${typeOf(schema.items as Schema)}`
  if (schema.const !== undefined) return html`<code>${String(schema.const)}</code>`
  const names = [schema.type ?? 'string'].flat().map((type) => TYPES[type] ?? type)
  if (schema.format && names[0] === 'texto') names[0] = FORMATS[schema.format] ?? schema.format
  return html`${names.join(' ou ')}`
}

/** What a value must be beyond its type. */
function limitsOf(schema: Schema): Html | null {
  const shown = withoutNull(schema)
  const limits: Part[] = [
    shown.enum && ['um de ', shown.enum.map((value, position) => [position > 0 && ', ', html`<code>${value}</code>`])],
    decimals(shown.pattern),
    bounds(shown.minLength, shown.maxLength, 'caracteres'),
    bounds(shown.minItems, shown.maxItems, 'itens'),
    bounds(shown.minimum, shown.maximum, ''),
    schema.default !== undefined && ['padrão ', html`<code>${String(schema.default)}</code>`],
  ].filter(Boolean)
  if (limits.length === 0) return null
  return html` <span class="limits">${limits.map((limit, position) => [position > 0 && '; ', limit])}</span>`
}

/** The end of a pattern tells how many decimals a text has. */
function decimals(pattern = ''): string | null {
  if (pattern.endsWith('\\.\\d{2}$')) return 'duas casas decimais'
  if (pattern.endsWith('\\.\\d{3}$')) return 'três casas decimais'
  return pattern.endsWith('\\.\\d{1,3})?$') ? 'até três casas decimais' : null
}

function bounds(low: number | undefined, high: number | undefined, unit: string): string | null {
  if (high === undefined || high === Number.MAX_SAFE_INTEGER) return null
  return low === undefined ? `até ${high} ${unit}`.trim() : `de ${low} a ${high} ${unit}`.trim()
}
