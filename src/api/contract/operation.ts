import { z } from 'zod'
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi'
import { ExternalId, Id } from '#domain/text.ts'
import { messageOf, type ProblemCode } from '#http/problems.ts'
import { batchOf } from '../batch.ts'
import type { Route } from '../route.ts'
import { codesByStatus, ERROR_SCHEMAS, takesBody } from './errors.ts'
import { errorHeaders, successHeaders } from './headers.ts'
import { tagOf } from './tags.ts'

type ObjectSchema = z.ZodType<unknown, Record<string, unknown>>

const JSON_TYPE = 'application/json'

/** What the contract says of a route. */
export function operationOf(route: Route): ZodOpenApiOperationObject {
  return {
    operationId: route.operation,
    tags: [tagOf(route.path).name],
    summary: route.summary,
    description: [route.description, scopeText(route)].filter(Boolean).join('\n\n'),
    'x-required-scope': route.scope,
    security: [{ apiKey: route.scope === null ? [] : [route.scope] }],
    requestParams: parametersOf(route),
    ...(takesBody(route) ? { requestBody: bodyOf(route) } : {}),
    responses: { ...successesOf(route), ...errorsOf(route) },
  }
}

const scopeText = ({ scope }: Route): string =>
  scope === null ? 'Qualquer chave pode chamar.' : `Escopo necessário: \`${scope}\`.`

/** Parameters that a path can have. */
const PATH_PARAMETERS: Readonly<Record<string, z.ZodType>> = { id: Id, external_id: ExternalId, delivery_id: z.uuid() }

/** Names of the parameters in a path of the router's form. */
const parameterNames = (path: string): string[] => [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)

/** The path in the contract's form: `/sales/{id}/cancel`. */
export const templateOf = (path: string): string => path.replace(/:(\w+)/g, '{$1}')

const IdempotencyKey = z
  .string()
  .regex(/^[\x20-\x7e]{1,255}$/)
  .meta({ minLength: 1, maxLength: 255, examples: ['6f1c2f0e-6f6c-4a44-9b0a-5d9d1c1f7a10'] })

function parametersOf(route: Route) {
  const names = parameterNames(route.path)
  const path = Object.fromEntries(names.map((name) => [name, pathParameter(name)]))
  const required = 'command' in route && route.idempotency === 'required'
  const key = required ? IdempotencyKey : IdempotencyKey.optional()
  return {
    ...(names.length > 0 ? { path: z.object(path) } : {}),
    ...('read' in route && route.query ? { query: route.query as unknown as ObjectSchema } : {}),
    ...(route.method === 'post' ? { header: z.object({ 'Idempotency-Key': key }) } : {}),
  }
}

function pathParameter(name: string): z.ZodType {
  const schema = PATH_PARAMETERS[name]
  if (!schema) throw new Error(`the contract does not know the path parameter ${name}`)
  return schema
}

function bodyOf(route: Route) {
  const example = 'example' in route && route.example ? { example: route.example } : {}
  return { required: true, content: { [JSON_TYPE]: { schema: bodySchema(route), ...example } } }
}

function bodySchema(route: Route): z.ZodType {
  if ('batch' in route) return batchOf(route.item)
  return ('body' in route && route.body) || z.strictObject({})
}

const SUCCESSES: Readonly<Record<number, string>> = {
  200: 'Sucesso.',
  201: 'Criado.',
  204: 'Excluído; a resposta não tem corpo.',
  207: 'Parte dos itens foi recusada: `meta.errors` diz quais e por quê.',
}

/** Statuses of a success, which follow from what the route does. */
export function successStatuses(route: Route): number[] {
  if ('batch' in route) return [200, 207]
  if (route.reply === undefined) return [204]
  if ('read' in route || 'operate' in route || route.method === 'patch') return [200]
  if ('status' in route && route.status === 200) return [200]
  return route.method === 'put' ? [200, 201] : [201]
}

function successesOf(route: Route): ZodOpenApiResponsesObject {
  const { reply } = route
  const response = (status: number): ZodOpenApiResponseObject => ({
    description: SUCCESSES[status] ?? '',
    headers: successHeaders(route.method),
    ...(reply ? { content: { [JSON_TYPE]: { schema: reply } } } : {}),
  })
  return Object.fromEntries(successStatuses(route).map((status) => [status, response(status)]))
}

const errorsOf = (route: Route): ZodOpenApiResponsesObject =>
  Object.fromEntries(codesByStatus(route).map(([status, codes]) => [status, errorResponse(status, codes)]))

const responses = new Map<string, ZodOpenApiResponseObject>()

/** One component per status and set of codes, because most routes share them. */
function errorResponse(status: number, codes: readonly ProblemCode[]): ZodOpenApiResponseObject {
  const id = `Error${status}_${codes.join('_or_')}`
  const known = responses.get(id)
  if (known) return known
  const schemas = codes.map((code) => ERROR_SCHEMAS.get(code) as z.ZodType)
  const response: ZodOpenApiResponseObject = {
    id,
    description: codes.map((code) => `\`${code}\`: ${messageOf(code)}`).join('\n'),
    headers: errorHeaders(status),
    content: { [JSON_TYPE]: { schema: schemas.length === 1 ? schemas[0] : z.union(schemas) } },
  }
  responses.set(id, response)
  return response
}
