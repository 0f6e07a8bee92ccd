import type { oas31 } from 'zod-openapi'
import { bodyExample, exampleOf, parameterExample } from './examples.ts'
import type { DocumentedOperation } from './operation.tsx'
import type { Schema } from './schema.tsx'
import { pathOf, type Resource, type Site } from './site.ts'

const SCHEMA = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json'

/** Variables of the collection that hold credentials. */
const VARIABLES = { KEY: 'token', TOKEN: 'till_token' } as const

const bearer = (variable: string) => ({
  type: 'bearer',
  bearer: [{ key: 'token', value: `{{${variable}}}`, type: 'string' }],
})

/** Postman collection (v2.1) of all operations; each request has its example, and the example of its answer. */
export const postmanOf = ({ publicUrl, resources }: Site): object => ({
  info: {
    name: 'Tillbook',
    description:
      'Gerada dos contratos OpenAPI. Preencha `base_url` e `token` (a chave de API). O login dos caixas preenche `till_token`.',
    schema: SCHEMA,
  },
  auth: bearer('token'),
  variable: [
    { key: 'base_url', value: publicUrl, type: 'string' },
    { key: 'token', value: '', type: 'string' },
    { key: 'till_token', value: '', type: 'string' },
  ],
  item: resources.map((resource) => ({
    name: resource.name,
    description: resource.about,
    auth: bearer(VARIABLES[resource.credential]),
    item: resource.operations.map((documented) => itemOf(resource, documented)),
  })),
})

function itemOf(resource: Resource, documented: DocumentedOperation) {
  const request = requestOf(resource, documented)
  const { operation } = documented
  return {
    name: operation.summary,
    ...(operation.operationId === 'login' && { event: [REMEMBER_TOKEN] }),
    request,
    response: responsesOf(resource, operation).map((response) => ({ ...response, originalRequest: request })),
  }
}

const REMEMBER_TOKEN = {
  listen: 'test',
  script: {
    type: 'text/javascript',
    exec: ['if (pm.response.code === 200) pm.collectionVariables.set("till_token", pm.response.json().data.token)'],
  },
}

function requestOf(resource: Resource, { method, path, operation }: DocumentedOperation) {
  const parameters = (operation.parameters ?? []) as oas31.ParameterObject[]
  const body = bodyExample(operation)
  return {
    method: method.toUpperCase(),
    ...(operation.security?.length === 0 && { auth: { type: 'noauth' } }),
    header: [
      ...parameters.filter((each) => each.in === 'header').map(headerOf),
      ...(body === undefined ? [] : [{ key: 'Content-Type', value: 'application/json' }]),
    ],
    url: urlOf(pathOf(resource, path), parameters),
    ...(body !== undefined && {
      body: { mode: 'raw', raw: JSON.stringify(body, null, 2), options: { raw: { language: 'json' } } },
    }),
    description: operation.description ?? '',
  }
}

/** Optional headers are switched off; a key is a new one for each request. */
const headerOf = (parameter: oas31.ParameterObject) => ({
  key: parameter.name,
  value: parameter.name === 'Idempotency-Key' ? '{{$guid}}' : parameterExample(parameter),
  description: parameter.description ?? '',
  disabled: !parameter.required,
})

function urlOf(path: string, parameters: readonly oas31.ParameterObject[]) {
  const described = (place: string) =>
    parameters
      .filter((each) => each.in === place)
      .map((each) => ({ key: each.name, value: parameterExample(each), description: each.description ?? '' }))
  const query = described('query').map((each) => ({
    ...each,
    disabled: !parameters.some(({ name, required }) => name === each.key && required),
  }))
  const enabled = query
    .filter(({ disabled }) => !disabled)
    .map(({ key, value }) => `${key}=${encodeURIComponent(value)}`)
  const template = path.replace(/\{(\w+)\}/g, ':$1')
  return {
    raw: `{{base_url}}${template}${enabled.length > 0 ? `?${enabled.join('&')}` : ''}`,
    host: ['{{base_url}}'],
    path: template.slice(1).split('/'),
    query,
    variable: described('path'),
  }
}

/** Examples of the successes. */
function responsesOf({ contract }: Resource, { responses }: oas31.OperationObject) {
  return Object.entries((responses ?? {}) as Record<string, oas31.ResponseObject>).flatMap(([status, response]) => {
    const schema = response.content?.['application/json']?.schema as Schema | undefined
    const example = schema && status < '300' ? exampleOf(schema, contract) : undefined
    if (example === undefined) return []
    return {
      name: `${status}`,
      code: Number(status),
      status: response.description,
      header: [{ key: 'Content-Type', value: 'application/json' }],
      _postman_previewlanguage: 'json',
      body: JSON.stringify(example, null, 2),
    }
  })
}
