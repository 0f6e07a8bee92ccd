import type { oas31 } from 'zod-openapi'
import { exampleOf } from './example.ts'
import { type Html, html } from './html.ts'
import { inline, markdown } from './markdown.ts'
import { fieldTable, nameOfRef, type Schema, typeOf } from './schema-view.ts'

type Document = oas31.OpenAPIObject
type Response = oas31.ResponseObject

/** An operation with where it is found. */
export interface Found {
  readonly method: string
  readonly path: string
  readonly operation: oas31.OperationObject
}

/** All operations of the document, in its order. */
export function operationsOf({ paths }: Document): Found[] {
  return Object.entries(paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, oas31.OperationObject>).map(([method, operation]) => ({
      method,
      path,
      operation,
    })),
  )
}

export const badge = (method: string): Html => html`<span class="method ${method}">${method.toUpperCase()}</span>`

/** Everything about one operation. */
export function operationView({ method, path, operation }: Found, document: Document): Html {
  return html`<article id="${operation.operationId}">
<h3>${operation.summary}</h3>
<p class="address">${badge(method)} <code>/api/v1${path}</code></p>
${markdown(operation.description ?? '')}
${parametersView((operation.parameters ?? []) as oas31.ParameterObject[])}
${bodyView(operation, document)}
${successView(operation, document)}
${errorsView(operation, document)}
</article>`
}

const PLACES: Readonly<Record<string, string>> = { path: 'endereço', query: 'consulta', header: 'cabeçalho' }

function parametersView(parameters: readonly oas31.ParameterObject[]): Html | null {
  if (parameters.length === 0) return null
  const properties = Object.fromEntries(
    parameters.map(({ name, description, schema }) => [name, { ...schema, description }]),
  )
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name)
  const places = [...new Set(parameters.map((parameter) => PLACES[parameter.in]))].join(', ')
  return html`<h4>Parâmetros (${places})</h4>${fieldTable({ properties, required, additionalProperties: false } as Schema)}`
}

function bodyView({ requestBody }: oas31.OperationObject, document: Document): Html | null {
  const content = (requestBody as oas31.RequestBodyObject | undefined)?.content['application/json']
  if (!content) return null
  const schema = content.schema as Schema
  const shown = schema.$ref ? (document.components?.schemas?.[nameOfRef(schema.$ref)] as Schema) : schema
  return html`<h4>Corpo</h4>${fieldTable(shown)}${codeView(content.example)}`
}

function successView({ responses }: oas31.OperationObject, document: Document): Html {
  const successes = Object.entries((responses ?? {}) as Record<string, Response>).filter(([status]) => status < '300')
  const schema = successes[0]?.[1].content?.['application/json']?.schema as Schema | undefined
  const data = schema?.properties?.data as Schema | undefined
  return html`<h4>Resposta</h4>
<ul>${successes.map(([status, response]) => html`<li><code>${status}</code> ${inline(response.description)}</li>`)}</ul>
${data && html`<p><code>data</code>: ${typeOf(data)}</p>`}
${schema && codeView(exampleOf(schema, document))}`
}

function errorsView({ responses }: oas31.OperationObject, document: Document): Html {
  const errors = Object.entries(responses ?? {}).filter(([status]) => status >= '400')
  return html`<details><summary>Erros</summary><table><thead><tr><th>Status</th><th>Código e condição</th></tr></thead>
<tbody>${errors.map(
    ([status, response]) => html`<tr><td><code>${status}</code></td><td>${errorText(response, document)}</td></tr>`,
  )}</tbody></table></details>`
}

function errorText(response: oas31.ReferenceObject | Response, document: Document): Html {
  const found = '$ref' in response ? document.components?.responses?.[nameOfRef(response.$ref)] : response
  const lines = (found as Response).description.split('\n')
  return html`${lines.map((line) => html`<div>${inline(line)}</div>`)}`
}

const codeView = (value: unknown): Html | null =>
  value === undefined ? null : html`<pre tabindex="0"><code>${JSON.stringify(value, null, 2)}</code></pre>`
