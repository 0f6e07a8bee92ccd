import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import type { CallToolResult } from '@modelcontextprotocol/server'
import express, { type Express, type Response } from 'express'
import { type ApiServices, demandsKey } from '#api/api-route.ts'
import { authenticatedRoutes } from '#api/api-v1.ts'
import { DRY_RUN, isIdempotencyKey, logRequests } from '#api/request.ts'
import { problemHandler } from '#http/edge.ts'
import { Problem, problemBody } from '#http/problems.ts'
import type { LogError } from '#lib/errors.ts'
import { type AgentTool, DEFAULT_LIMIT } from './tools.ts'

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
