import type { ComponentChildren } from 'preact'
import type { oas31 } from 'zod-openapi'
import { ERROR_COMPONENTS } from '../contract/contract-errors.ts'
import { Code, Markdown, MarkdownLine } from './guides.tsx'

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
export const toAnchor = (name: string): string => `objeto-${name}`

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
    const link = ERROR_COMPONENTS.includes(name) ? '/docs#erros' : `${pageOf(name)}#${toAnchor(name)}`
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

/** The component of a reference, or the schema itself. */
export const resolveRef = (schema: Schema, { components }: oas31.OpenAPIObject): Schema =>
  schema.$ref ? (components?.schemas?.[nameOfRef(schema.$ref)] as Schema) : schema

/** Example of a schema, composed of the examples of its objects; undefined without any. */
export function composeExample(schema: Schema, contract: oas31.OpenAPIObject): unknown {
  if (schema.examples) return schema.examples[0]
  if (schema.const !== undefined) return schema.const
  if (schema.$ref) return composeExample(resolveRef(schema, contract), contract)
  if (schema.type === 'array') {
    const item = composeExample(schema.items as Schema, contract)
    return item === undefined ? undefined : [item]
  }
  if (!schema.properties) return undefined
  const fields = Object.entries(schema.properties as Record<string, Schema>)
  const examples = fields.map(([name, field]) => [name, composeExample(field, contract)])
  return examples.some(([, example]) => example === undefined) ? undefined : Object.fromEntries(examples)
}

const UUID = '01a1b2c3-7d5e-7f00-8a9b-0c1d2e3f4a5b'

/** Example of a parameter: its own, or a value of its type. */
export function parameterExample({ name, schema, example }: oas31.ParameterObject): string {
  const { examples, type, format, enum: values } = (schema ?? {}) as Schema
  const given = example ?? examples?.[0] ?? values?.[0]
  if (given !== undefined) return String(given)
  if (type === 'integer') return '1'
  if (format === 'uuid') return UUID
  return format === 'date-time' ? '2026-11-21T08:17:15-03:00' : (EXAMPLES[name] ?? '1')
}

const EXAMPLES: Readonly<Record<string, string>> = { external_id: 'CLI-001', store_alias: 'minha-loja' }

/** Example of a request body: `{}` where no field is needed; undefined if there is no body. */
export function bodyExample({ requestBody }: oas31.OperationObject): unknown {
  const content = (requestBody as oas31.RequestBodyObject | undefined)?.content['application/json']
  return content && (content.example ?? {})
}

type Response = oas31.ResponseObject

/** An operation with its method and path. */
export interface DocumentedOperation {
  readonly method: string
  readonly path: string
  readonly operation: oas31.OperationObject
}

/** All operations of the contract, in its order. */
export function listOperations({ paths }: oas31.OpenAPIObject): DocumentedOperation[] {
  return Object.entries(paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, oas31.OperationObject>).map(([method, operation]) => ({
      method,
      path,
      operation,
    })),
  )
}

export const DocsBadge = ({ method }: { readonly method: string }) => (
  <span class={`method ${method}`}>{method.toUpperCase()}</span>
)

interface SuccessProps {
  readonly operation: oas31.OperationObject
  readonly contract: oas31.OpenAPIObject
}

interface OperationProps {
  readonly found: DocumentedOperation
  readonly contract: oas31.OpenAPIObject
  /** Path below the root of the service. */
  readonly address: string
  /** Command that carries it out with its example. */
  readonly curl: string
}

export const OperationSection = ({ found: { method, operation }, contract, address, curl }: OperationProps) => (
  <article id={operation.operationId}>
    <h3>{operation.summary}</h3>
    <p class="address">
      <DocsBadge method={method} /> <code>{address}</code>
    </p>
    <Markdown text={operation.description ?? ''} />
    <Parameters heading="h4" parameters={parametersOf(operation).filter((each) => !isCommonHeader(each))} />
    <CommonHeaders parameters={parametersOf(operation).filter(isCommonHeader)} />
    <Body operation={operation} contract={contract} />
    <h4>Exemplo</h4>
    <Code text={curl} />
    <Success operation={operation} contract={contract} />
    <Errors operation={operation} contract={contract} />
  </article>
)

/** Every write takes a `Dry-Run`, which the introduction explains. */
const parametersOf = ({ parameters }: oas31.OperationObject) =>
  ((parameters ?? []) as oas31.ParameterObject[]).filter(({ name }) => name !== 'Dry-Run')

/** Headers of most operations, which the conventions explain once. */
const isCommonHeader = ({ in: place, name }: oas31.ParameterObject): boolean =>
  place === 'header' && ['Idempotency-Key', 'If-None-Match', 'X-Min-Ledger-Revision'].includes(name)

function CommonHeaders({ parameters }: { readonly parameters: readonly oas31.ParameterObject[] }) {
  if (parameters.length === 0) return null
  return (
    <p>
      <a href="/docs#convencoes">Cabeçalhos</a>:{' '}
      {parameters.map(({ name, required }, position) => (
        <>
          {position > 0 && ', '}
          <code>{name}</code>
          {required && <span class="note"> obrigatório</span>}
        </>
      ))}
    </p>
  )
}

const PLACES: Readonly<Record<string, string>> = { path: 'endereço', query: 'consulta', header: 'cabeçalho' }

interface ParametersProps {
  readonly parameters: readonly oas31.ParameterObject[]
  /** One level below the heading of the section. */
  readonly heading: 'h3' | 'h4'
}

export function Parameters({ parameters, heading: Heading }: ParametersProps) {
  if (parameters.length === 0) return null
  const properties = Object.fromEntries(
    parameters.map(({ name, description, schema }) => [name, { ...schema, description }]),
  )
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name)
  const places = [...new Set(parameters.map((parameter) => PLACES[parameter.in]))].join(', ')
  return (
    <>
      <Heading>Parâmetros ({places})</Heading>
      <FieldTable schema={{ properties, required, additionalProperties: false } as Schema} />
    </>
  )
}

function Body({ operation: { requestBody }, contract }: SuccessProps) {
  const content = (requestBody as oas31.RequestBodyObject | undefined)?.content['application/json']
  if (!content) return null
  return (
    <>
      <h4>Corpo</h4>
      <FieldTable schema={resolveRef(content.schema as Schema, contract)} />
    </>
  )
}

function Success({ operation: { responses }, contract }: SuccessProps) {
  const successes = Object.entries((responses ?? {}) as Record<string, Response>).filter(([status]) => status < '300')
  const body = successes[0]?.[1].content?.['application/json']?.schema as Schema | undefined
  const schema = body && resolveRef(body, contract)
  const data = schema?.properties?.data as Schema | undefined
  return (
    <>
      <h4>Resposta</h4>
      <ul>
        {successes.map(([status, response]) => (
          <li key={status}>
            <code>{status}</code> <MarkdownLine text={response.description} />
          </li>
        ))}
      </ul>
      {data && (
        <p>
          <code>data</code>: <Type schema={data} />
        </p>
      )}
      {schema && !isShownWithItsObject(schema, contract) && <Json value={composeExample(schema, contract)} />}
    </>
  )
}

/** Whether an answer only wraps objects: their examples are shown once, with the objects. */
function isShownWithItsObject(schema: Schema, contract: oas31.OpenAPIObject): boolean {
  const data = resolveRef(schema, contract).properties?.data as Schema | undefined
  const object = ((data?.items as Schema | undefined) ?? data)?.$ref
  return object !== undefined && composeExample({ $ref: object } as Schema, contract) !== undefined
}

/** Codes that every write, or every operation, has. `/docs#erros` explains them once. */
const COMMON_CODES = new Set([
  'malformed_json',
  'missing_token',
  'invalid_token',
  'plan_required',
  'insufficient_scope',
  'not_found',
  'request_timeout',
  'idempotency_key_reuse',
  'payload_too_large',
  'unsupported_media_type',
  'validation_failed',
  'rate_limited',
  'internal_error',
  'unavailable',
])

/** An error of an operation: its status and a line of its description, which begins with the code in API v1. */
interface DocumentedError {
  readonly status: string
  readonly line: string
  readonly isCommon: boolean
}

export const codeOfLine = (line: string): string | undefined => /^`(\w+)`/.exec(line)?.[1]

/** The errors of an operation; failures of tills have no code and are all shown. */
export const listOperationErrors = (
  { responses }: oas31.OperationObject,
  contract: oas31.OpenAPIObject,
): DocumentedError[] =>
  Object.entries(responses ?? {})
    .filter(([status]) => status >= '400')
    .flatMap(([status, response]) =>
      errorLines(response, contract).map((line) => ({
        status,
        line,
        isCommon: COMMON_CODES.has(codeOfLine(line) ?? ''),
      })),
    )

function Errors({ operation, contract }: SuccessProps) {
  const errors = listOperationErrors(operation, contract)
  const common = errors.filter(({ isCommon }) => isCommon)
  return (
    <details>
      <summary>Erros</summary>
      <ul>
        {errors
          .filter(({ isCommon }) => !isCommon)
          .map(({ status, line }) => (
            <li key={line}>
              <code>{status}</code> <MarkdownLine text={line} />
            </li>
          ))}
        {common.length > 0 && (
          <li>
            <a href="/docs#erros">Comuns</a>: {common.map(({ line }) => codeOfLine(line)).join(', ')}
          </li>
        )}
      </ul>
    </details>
  )
}

function errorLines(response: oas31.ReferenceObject | Response, { components }: oas31.OpenAPIObject): string[] {
  const found = '$ref' in response ? components?.responses?.[nameOfRef(response.$ref)] : response
  return (found as Response).description.split('\n')
}

export const Json = ({ value }: { readonly value: unknown }) =>
  value === undefined ? null : <Code text={JSON.stringify(value, null, 2)} />
