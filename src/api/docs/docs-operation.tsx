import type { oas31 } from 'zod-openapi'
import { FieldTable, nameOfRef, type Schema, Type } from './docs-schema.tsx'
import { Code, Markdown, MarkdownLine } from './guides.tsx'

/** The component of a reference, or the schema itself. */
export const resolved = (schema: Schema, { components }: oas31.OpenAPIObject): Schema =>
  schema.$ref ? (components?.schemas?.[nameOfRef(schema.$ref)] as Schema) : schema

/** Example of a schema, composed of the examples of its objects; undefined without any. */
export function exampleOf(schema: Schema, contract: oas31.OpenAPIObject): unknown {
  if (schema.examples) return schema.examples[0]
  if (schema.const !== undefined) return schema.const
  if (schema.$ref) return exampleOf(resolved(schema, contract), contract)
  if (schema.type === 'array') {
    const item = exampleOf(schema.items as Schema, contract)
    return item === undefined ? undefined : [item]
  }
  if (!schema.properties) return undefined
  const fields = Object.entries(schema.properties as Record<string, Schema>)
  const examples = fields.map(([name, field]) => [name, exampleOf(field, contract)])
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
export function operationsOf({ paths }: oas31.OpenAPIObject): DocumentedOperation[] {
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

const parametersOf = ({ parameters }: oas31.OperationObject) => (parameters ?? []) as oas31.ParameterObject[]

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
      <FieldTable schema={resolved(content.schema as Schema, contract)} />
    </>
  )
}

function Success({ operation: { responses }, contract }: SuccessProps) {
  const successes = Object.entries((responses ?? {}) as Record<string, Response>).filter(([status]) => status < '300')
  const body = successes[0]?.[1].content?.['application/json']?.schema as Schema | undefined
  const schema = body && resolved(body, contract)
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
      {schema && !isShownWithItsObject(schema, contract) && <Json value={exampleOf(schema, contract)} />}
    </>
  )
}

/** Whether an answer only wraps objects: their examples are shown once, with the objects. */
function isShownWithItsObject(schema: Schema, contract: oas31.OpenAPIObject): boolean {
  const data = resolved(schema, contract).properties?.data as Schema | undefined
  const object = ((data?.items as Schema | undefined) ?? data)?.$ref
  return object !== undefined && exampleOf({ $ref: object } as Schema, contract) !== undefined
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
export const errorsOf = ({ responses }: oas31.OperationObject, contract: oas31.OpenAPIObject): DocumentedError[] =>
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
  const errors = errorsOf(operation, contract)
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
