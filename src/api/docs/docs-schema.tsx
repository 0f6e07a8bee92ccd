import type { ComponentChildren } from 'preact'
import type { oas31 } from 'zod-openapi'
import { ERROR_COMPONENTS } from '../contract/contract-errors.ts'
import { MarkdownLine } from './guides.tsx'

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

/** Anchor of a component on the page. */
export const anchorOf = (name: string): string => `objeto-${name}`

export const nameOfRef = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1)

/** Row of a field. The fields of a nested object follow, prefixed with its name. */
interface Field {
  readonly name: string
  readonly schema: Schema
  /** Remark on whether the field is required. */
  readonly note: string | null
}

/** Table of an object's fields, one per row. */
export function FieldTable({ schema }: { readonly schema: Schema }) {
  const lines = linesOf(schema, '')
  if (lines.length === 0) return <p>Sem campos.</p>
  return (
    <table>
      <thead>
        <tr>
          <th>Campo</th>
          <th>Tipo</th>
          <th>Significado</th>
        </tr>
      </thead>
      <tbody>{lines.map(row)}</tbody>
    </table>
  )
}

const row = ({ name, schema, note }: Field) => (
  <tr key={name}>
    <td>
      <code>{name}</code>
      {note && (
        <>
          {' '}
          <span class="note">{note}</span>
        </>
      )}
    </td>
    <td>
      <Type schema={schema} />
    </td>
    <td>
      <MarkdownLine text={schema.description ?? ''} />
      <Limits schema={schema} />
    </td>
  </tr>
)

function linesOf(schema: Schema, prefix: string): Field[] {
  const note = noteOn(schema)
  return Object.entries((schema.properties ?? {}) as Record<string, Schema>).flatMap(([field, inner]) => {
    const name = prefix + field
    const { object, mark } = innerObject(inner)
    const line = { name, schema: inner, note: note(field) }
    return object ? [line, ...linesOf(object, `${name}${mark}.`)] : [line]
  })
}

/** Remark on presence: required fields of requests, optional fields of answers. Only requests forbid other fields. */
function noteOn({ required = [], additionalProperties }: Schema): (field: string) => string | null {
  if (additionalProperties === false) return (field) => (required.includes(field) ? 'obrigatório' : null)
  return (field) => (required.includes(field) ? null : 'nem sempre presente')
}

/** The object whose fields are listed below a field: its own, or that of its list items. */
function innerObject(schema: Schema): { object: Schema | null; mark: string } {
  const shown = withoutNull(schema)
  if (shown.type === 'array') return { ...innerObject(shown.items as Schema), mark: '[]' }
  return { object: shown.properties ? shown : null, mark: '' }
}

const alternatives = (schema: Schema): Schema[] => (schema.anyOf ?? schema.oneOf ?? []) as Schema[]

/** Removes null from a nullable schema. */
function withoutNull(schema: Schema): Schema {
  const others = alternatives(schema).filter(({ type }) => type !== 'null')
  return others.length === 1 ? (others[0] as Schema) : schema
}

interface TypeProps {
  readonly schema: Schema
  /** Page of an object, if it is another one. */
  readonly pageOf?: (name: string) => string
}

/** A type in words, with a link to its object. */
export function Type({ schema, pageOf = () => '' }: TypeProps) {
  if (schema.$ref) {
    const name = nameOfRef(schema.$ref)
    const link = ERROR_COMPONENTS.includes(name) ? '/docs#erros' : `${pageOf(name)}#${anchorOf(name)}`
    return <a href={link}>{name}</a>
  }
  const choices = alternatives(schema)
  if (choices.length > 0)
    return (
      <>
        {separated(
          choices.map((choice) => <Type schema={choice} pageOf={pageOf} />),
          ' ou ',
        )}
      </>
    )
  if (schema.type === 'array')
    return (
      <>
        lista de <Type schema={schema.items as Schema} pageOf={pageOf} />
      </>
    )
  if (schema.const !== undefined) return <code>{String(schema.const)}</code>
  const names = [schema.type ?? 'string'].flat().map((type) => TYPES[type] ?? type)
  if (schema.format && names[0] === 'texto') names[0] = FORMATS[schema.format] ?? schema.format
  return <>{names.join(' ou ')}</>
}

/** Constraints of a value beyond its type. */
function Limits({ schema }: { readonly schema: Schema }) {
  const shown = withoutNull(schema)
  const values = shown.enum?.map((value) => <code>{value}</code>)
  const limits = [
    values && ['um de ', separated(values, ', ')],
    decimals(shown.pattern),
    bounds(shown.minLength, shown.maxLength, 'caracteres'),
    bounds(shown.minItems, shown.maxItems, 'itens'),
    bounds(shown.minimum, shown.maximum, ''),
    schema.default !== undefined && ['padrão ', <code>{String(schema.default)}</code>],
  ].filter(Boolean)
  if (limits.length === 0) return null
  return (
    <>
      {' '}
      <span class="limits">{separated(limits, '; ')}</span>
    </>
  )
}

const separated = (parts: readonly ComponentChildren[], by: string): ComponentChildren[] =>
  parts.flatMap((part, position) => (position > 0 ? [by, part] : [part]))

/** Number of decimals, derived from the end of a pattern. */
function decimals(pattern = ''): string | null {
  if (pattern.endsWith('\\.\\d{2}$')) return 'duas casas decimais'
  if (pattern.endsWith('\\.\\d{3}$')) return 'três casas decimais'
  return pattern.endsWith('\\.\\d{1,3})?$') ? 'até três casas decimais' : null
}

function bounds(low: number | undefined, high: number | undefined, unit: string): string | null {
  if (high === undefined || high === Number.MAX_SAFE_INTEGER) return null
  return low === undefined ? `até ${high} ${unit}`.trim() : `de ${low} a ${high} ${unit}`.trim()
}
