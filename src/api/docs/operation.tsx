import type { oas31 } from 'zod-openapi'
import { Code, Markdown, MarkdownLine } from './markdown.tsx'
import { FieldTable, nameOfRef, type Schema, Type } from './schema.tsx'

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
}

export const OperationSection = ({ found: { method, path, operation }, contract }: OperationProps) => (
  <article id={operation.operationId}>
    <h3>{operation.summary}</h3>
    <p class="address">
      <DocsBadge method={method} /> <code>{`/api/v1${path}`}</code>
    </p>
    <Markdown text={operation.description ?? ''} />
    <Parameters heading="h4" parameters={(operation.parameters ?? []) as oas31.ParameterObject[]} />
    <Body operation={operation} contract={contract} />
    <Success operation={operation} contract={contract} />
    <Errors operation={operation} contract={contract} />
  </article>
)

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
      <Json value={content.example} />
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
      {schema && <Json value={exampleOf(schema, contract)} />}
    </>
  )
}

function Errors({ operation: { responses }, contract }: SuccessProps) {
  const errors = Object.entries(responses ?? {}).filter(([status]) => status >= '400')
  return (
    <details>
      <summary>Erros</summary>
      <table>
        <thead>
          <tr>
            <th>Status</th>
            <th>Código e condição</th>
          </tr>
        </thead>
        <tbody>
          {errors.map(([status, response]) => (
            <tr key={status}>
              <td>
                <code>{status}</code>
              </td>
              <td>
                {errorLines(response, contract).map((line) => (
                  <div key={line}>
                    <MarkdownLine text={line} />
                  </div>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}

function errorLines(response: oas31.ReferenceObject | Response, { components }: oas31.OpenAPIObject): string[] {
  const found = '$ref' in response ? components?.responses?.[nameOfRef(response.$ref)] : response
  return (found as Response).description.split('\n')
}

const Json = ({ value }: { readonly value: unknown }) =>
  value === undefined ? null : <Code text={JSON.stringify(value, null, 2)} />

export const resolved = (schema: Schema, { components }: oas31.OpenAPIObject): Schema =>
  schema.$ref ? (components?.schemas?.[nameOfRef(schema.$ref)] as Schema) : schema

/** Example of a schema, composed of the examples of its objects; undefined without any. */
function exampleOf(schema: Schema, contract: oas31.OpenAPIObject): unknown {
  if (schema.examples) return schema.examples[0]
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
