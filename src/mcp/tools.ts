import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import express, { type Express, type Response } from 'express'
import type { oas31 } from 'zod-openapi'
import { type ApiServices, demandsKey, type Route } from '#api/api-route.ts'
import { authenticatedRoutes, V1_ROUTES } from '#api/api-v1.ts'
import { REF, VALUES } from '#api/contract/generators.ts'
import { DRY_RUN, isIdempotencyKey, logRequests } from '#api/request.ts'
import { problemHandler } from '#http/edge.ts'
import { Problem, problemBody } from '#http/problems.ts'
import type { LogError } from '#lib/errors.ts'

/** What an agent cannot use: files, streams, proofs, and secrets that a program must keep. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'getCatalogItemPicture',
  'putCatalogItemPicture',
  'getSaleReceipt',
  'streamEvents',
  'proveEvent',
  'proveGrowth',
  'getCheckpoint',
  'getCheckpointPlace',
  'rotateWebhookSecret',
])

/** Records of a list, unless more are asked for: lists fill the memory of a model. */
const DEFAULT_LIMIT = 20

type Schema = oas31.SchemaObject
type Schemas = Readonly<Record<string, Schema>>
type Operation = oas31.OperationObject

/** A tool, and where its arguments go in the request of its route. */
export interface AgentTool {
  readonly tool: Tool
  readonly route: Route
  readonly inPath: readonly string[]
  readonly inQuery: ReadonlySet<string>
  readonly isWrite: boolean
}

/** A tool for each route that agents can use, by name. Texts and schemas are those of the contract. */
export function listTools(contract: oas31.OpenAPIObject): ReadonlyMap<string, AgentTool> {
  const operations = new Map(
    Object.values(contract.paths ?? {})
      .flatMap((item) => Object.values(item as Record<string, Operation>))
      .map((operation) => [operation.operationId, operation]),
  )
  const schemas = (contract.components?.schemas ?? {}) as Schemas
  const used = V1_ROUTES.filter(({ operation }) => !LEFT_OUT.has(operation))
  return new Map(
    used.map((route) => [route.operation, toolOf(route, operations.get(route.operation) as Operation, schemas)]),
  )
}

function toolOf(route: Route, operation: Operation, schemas: Schemas): AgentTool {
  const parameters = (operation.parameters ?? []) as oas31.ParameterObject[]
  const named = (place: string) => parameters.filter((parameter) => parameter.in === place)
  const isWrite = route.method !== 'get'
  const tool: Tool = {
    name: route.operation,
    description: descriptionOf(route),
    inputSchema: inputOf(operation, [...named('path'), ...named('query')], schemas, isWrite) as Tool['inputSchema'],
    outputSchema: outputOf(operation, schemas, isWrite) as Tool['outputSchema'],
    annotations: annotationsOf(route),
  }
  return {
    tool,
    route,
    inPath: named('path').map(({ name }) => name),
    inQuery: new Set(named('query').map(({ name }) => name)),
    isWrite,
  }
}

const descriptionOf = ({ summary, description }: Route): string =>
  [`${summary}.`, description].filter(Boolean).join(' ')

/** A POST that only creates adds; everything else changes or removes what is there, or acts outside. */
function annotationsOf(route: Route): NonNullable<Tool['annotations']> {
  const { method } = route
  if (method === 'get') return { readOnlyHint: true }
  const onlyCreates = method === 'post' && 'command' in route && route.status === undefined
  const idempotentHint = method !== 'post' || ('act' in route && route.idempotency === 'optional')
  const outside = ('act' in route || 'operate' in route) && { openWorldHint: true }
  return { readOnlyHint: false, destructiveHint: !onlyCreates, idempotentHint, ...outside }
}

const DRY_RUN_FIELD: Schema = { type: 'boolean', description: 'Nada grava.' }
const IDEMPOTENCY_KEY: Schema = { type: 'string', maxLength: 255 }

/** Parameters and the members of the body, side by side. */
function inputOf(
  { requestBody }: Operation,
  parameters: readonly oas31.ParameterObject[],
  schemas: Schemas,
  isWrite: boolean,
): Schema {
  const body = resolve(contentOf(requestBody), schemas)
  const properties: Record<string, Schema> = { ...(body.properties as Record<string, Schema>) }
  for (const { name, schema, description } of parameters)
    properties[name] = { ...(schema as Schema), ...(description !== undefined && { description }) }
  const limit = properties.limit
  if (limit && parameters.some(({ name }) => name === 'limit')) properties.limit = { ...limit, default: DEFAULT_LIMIT }
  if (isWrite) Object.assign(properties, { dry_run: DRY_RUN_FIELD, idempotency_key: IDEMPOTENCY_KEY })
  const required = new Set([
    ...(body.required ?? []),
    ...parameters.filter((one) => one.required).map(({ name }) => name),
  ])
  const root = { type: 'object' as const, properties, required: [...required], additionalProperties: false }
  return standingAlone(root, schemas)
}

/** The first level of an answer: what a record has is in the contract. */
function outputOf({ responses }: Operation, schemas: Schemas, isWrite: boolean): Schema {
  const successes = Object.entries(responses ?? {}).filter(([status]) => status < '300')
  const [body = {}] = successes.map(([, response]) => resolve(contentOf(response), schemas))
  const { data } = (body.properties ?? {}) as { data?: Schema }
  const isList = data?.type === 'array'
  return {
    type: 'object',
    properties: {
      data: isList ? { type: 'array' } : {},
      meta: { type: 'object' },
      ...(isWrite && { replayed: { type: 'boolean' } }),
    },
    required: ['data'],
  }
}

const contentOf = (part: unknown): Schema =>
  (Object.values((part as oas31.RequestBodyObject | undefined)?.content ?? {})[0]?.schema ?? {}) as Schema

const resolve = (schema: Schema, schemas: Schemas): Schema =>
  schema.$ref === undefined ? schema : resolve(schemas[schema.$ref.slice(REF.length)] ?? {}, schemas)

/** The schema with the components that it names in `$defs`, without what only generators and readers need. */
function standingAlone(root: Schema, schemas: Schemas): Schema {
  const $defs: Record<string, unknown> = {}
  const visit = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(visit)
    if (typeof node !== 'object' || node === null) return node
    return Object.fromEntries(Object.entries(node).flatMap((member) => visitMember(...member)))
  }
  function visitMember(member: string, value: unknown): [string, unknown][] {
    if (member === '$ref') return [[member, define(String(value).slice(REF.length))]]
    if (UNUSED.has(member) || member.startsWith('x-') || NOTHING.has(value) || isNoise(member, value)) return []
    if (member === 'description') return [[member, shortened(String(value))]]
    if (member === 'properties')
      return [
        [member, Object.fromEntries(Object.entries(value as object).map(([name, field]) => [name, visit(field)]))],
      ]
    return [[member, VALUES.has(member) ? value : visit(value)]]
  }
  function define(name: string): string {
    if (!Object.hasOwn($defs, name)) {
      $defs[name] = null
      $defs[name] = visit(schemas[name])
    }
    return `#/$defs/${name}`
  }
  const shown = visit(root) as Schema
  return (Object.keys($defs).length === 0 ? shown : { ...shown, $defs }) as Schema
}

const UNUSED = new Set(['example', 'examples', 'contentEncoding'])
/** Sizes for generators, and bounds that no value reaches. */
const NOTHING = new Set<unknown>(['int32', 'int64', Number.MAX_SAFE_INTEGER])

const LONGEST = 60

/** Spellings of an absent value fill a pattern; the service knows them anyway. */
const isNoise = (member: string, value: unknown): boolean =>
  (member === 'pattern' && String(value).length > 2 * LONGEST) || (member === 'minLength' && value === 0)

/** A whole short text, or the first sentence: the rest is in the contract. */
function shortened(text: string): string {
  if (text.length <= LONGEST) return text
  const end = text.search(/[.;:](?:\s|$)/)
  return end < 0 ? text : `${text.slice(0, end)}.`
}

interface RouteRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

type Arguments = Readonly<Record<string, unknown>>

/** Runs a tool as the request of its route, for the caller of the authenticated request. */
export type CallTool = (tool: AgentTool, given: Arguments, authenticated: Response) => Promise<CallToolResult>

/** The routes of API v1 without a connection and without authentication, which was that of the agent's request. */
export function createToolCaller(services: ApiServices & { readonly log: LogError }): CallTool {
  const app = express()
  app.set('etag', false)
  app.disable('x-powered-by')
  app.use('/api/v1', logRequests(services.traffic.calls), authenticatedRoutes(services))
  app.use(problemHandler(services.log))
  return async (tool, given, { locals: { requestId, traceparent, admission, caller, beyondQuota } }) => {
    try {
      if (beyondQuota) throw beyondQuota
      const request = routeRequestOf(tool, given, services.environment.newId)
      const locals = { requestId, traceparent, admission, caller, via: `mcp:${tool.route.operation}` }
      return resultOf(tool, await dispatch(app, request, locals))
    } catch (error) {
      if (error instanceof Problem) return refused(problemBody(error, requestId as string))
      throw error
    }
  }
}

const refused = (text: string): CallToolResult => ({ content: [{ type: 'text', text }], isError: true })

const invalid = (name: string, message: string): Problem =>
  new Problem('validation_failed', { fields: { [name]: [message] }, unknown_fields: [] })

/** @throws Problem if an argument has no place in a request */
function routeRequestOf(
  { route, inPath, inQuery, isWrite }: AgentTool,
  given: Arguments,
  newId: () => string,
): RouteRequest {
  const { dry_run, idempotency_key, ...rest }: Arguments = isWrite ? given : {}
  const path = route.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(textOf(name, given[name])))
  const query = new URLSearchParams()
  const body: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(isWrite ? rest : given)) {
    if (inPath.includes(name)) continue
    if (isWrite && !inQuery.has(name)) body[name] = value
    else if (value !== null) query.set(name, textOf(name, value))
  }
  if (inQuery.has('limit') && !query.has('limit')) query.set('limit', String(DEFAULT_LIMIT))
  const key = keyOf(idempotency_key) ?? (demandsKey(route) ? newId() : undefined)
  if (dry_run !== undefined && dry_run !== null && typeof dry_run !== 'boolean')
    throw invalid('dry_run', 'deve ser true ou false')
  const dry = dry_run === true && { [DRY_RUN.toLowerCase()]: 'true' }
  return {
    method: route.method.toUpperCase(),
    url: query.size > 0 ? `${path}?${query}` : path,
    headers: { ...(key !== undefined && { 'idempotency-key': key }), ...dry },
    body: isWrite ? JSON.stringify(body) : null,
  }
}

function keyOf(given: unknown): string | undefined {
  if (given === undefined || given === null) return undefined
  if (typeof given === 'string' && isIdempotencyKey(given)) return given
  throw invalid('idempotency_key', 'deve ter de 1 a 255 caracteres ASCII visíveis')
}

function textOf(name: string, value: unknown): string {
  if (value === undefined || value === null || value === '') throw invalid(name, 'preencha este campo')
  if (typeof value === 'object') throw invalid(name, 'deve ser um texto ou um número')
  return String(value)
}

/** Discards what a response writes to its connection; the body is taken before. */
class Sink extends Duplex {
  override _read(): void {}
  override _write(_chunk: unknown, _encoding: string, done: () => void): void {
    done()
  }
}

/** Sends a request to the routes, and takes the answer. */
function dispatch(app: Express, { method, url, headers, body }: RouteRequest, locals: object) {
  const socket = new Sink() as unknown as Socket
  const request = new IncomingMessage(socket)
  const bytes = body === null ? null : Buffer.from(body)
  const described = bytes ? { 'content-type': 'application/json', 'content-length': String(bytes.length) } : {}
  Object.assign(request, { method, url: `/api/v1${url}`, httpVersion: '1.1', complete: true })
  Object.assign(request.headers, { host: 'mcp', ...described, ...headers })
  if (bytes) request.push(bytes)
  request.push(null)
  const response = new ServerResponse(request) as Response
  Object.assign(response, { locals: Object.assign(Object.create(null), locals) })
  response.assignSocket(socket)
  // Answers are sent by one call (answers.ts).
  let text = ''
  const end = response.end.bind(response) as (chunk?: unknown) => Response
  Object.assign(response, {
    end(chunk?: Buffer) {
      text = chunk?.toString() ?? ''
      return end(chunk)
    },
  })
  return new Promise<{ status: number; isReplayed: boolean; text: string }>((resolve) => {
    response.once('finish', () => response.emit('close'))
    response.once('close', () => {
      const isReplayed = response.hasHeader('Idempotent-Replayed')
      resolve({ status: response.statusCode, isReplayed, text })
    })
    app(request, response)
  })
}

function resultOf(
  { isWrite }: AgentTool,
  { status, isReplayed, text }: Awaited<ReturnType<typeof dispatch>>,
): CallToolResult {
  if (status >= 400) return refused(text)
  const { data = null, meta } = (text === '' ? {} : JSON.parse(text)) as { data?: unknown; meta?: object }
  const structuredContent = { data, ...(meta && { meta }), ...(isWrite && { replayed: isReplayed }) }
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
}
