import { createHmac } from 'node:crypto'
import type { Request, RequestHandler, Response } from 'express'
import * as z from 'zod'
import type { oas31 } from 'zod-openapi'
import type { AuthenticatedCall } from '#access/api-authenticator.ts'
import { createEtag, includesEtag, toShareKey } from '#http/answers.ts'
import type { Params } from '#http/paths.ts'
import { Problem } from '#http/problems.ts'
import { formatDetails, maskBody, maskPath, maskQuery, type RequestLog } from '#http/request-log.ts'
import { canonicalJson } from '#ledger/command.ts'
import { SHORT_WAIT_BUDGET_MS } from '#ledger/replicas/replicas.ts'
import type { Idempotency } from '#ledger/write/idempotency.ts'
import type { Precondition } from '#ledger/write/unit-of-work.ts'
import { createTimeSlicer } from '#lib/fair-sharing.ts'
import { type CommandRoute, MIN_REVISION, single } from './api-route.ts'

/** A received write. */
interface ReceivedWrite {
  readonly method: string
  /** Without the query string. */
  readonly path: string
  /** Parsed JSON; an absent body is an empty object. */
  readonly body: unknown
  /** Raw bytes; undefined without a body. */
  readonly rawBody: Buffer | undefined
}

/**
 * Hash of method, path and body that distinguishes requests under the same Idempotency-Key. Bodies are
 * compared in canonical form (RFC 8785), so order of members, whitespace and notation of numbers and texts do not
 * matter. A null member is an absent one, except in a PATCH, where
 * it clears a field. Hashes stay in the ledger forever and bodies contain
 * personal data: the key `secret` prevents guessing the body by trial. A large body is hashed in pieces, with
 * `pause` awaited after each.
 */
async function identifyRequest(
  key: string,
  request: ReceivedWrite,
  secret: Buffer,
  pause: () => Promise<void>,
): Promise<Idempotency> {
  const line = `${request.method} ${request.path}\n`
  return { key, requestHash: await meaningOf(request, () => createHmac('sha256', secret).update(line), pause) }
}

/** Characters of canonical JSON hashed without a pause. */
const PIECE = 16_384

type Digest = ReturnType<typeof createHmac>

/** A body without canonical form, such as one with an out-of-range number, is compared by its bytes. */
async function meaningOf(
  { method, body, rawBody = Buffer.alloc(0) }: ReceivedWrite,
  begin: () => Digest,
  pause: () => Promise<void>,
): Promise<string> {
  const digest = begin()
  try {
    const keepsNull = method === 'PATCH'
    if (rawBody.length <= PIECE) digest.update(canonicalJson(keepsNull ? body : withoutNull(body)))
    else await updateCanonical(digest, body, keepsNull, pause)
    return digest.digest('hex')
  } catch {
    return begin().update(rawBody).digest('hex')
  }
}

/** The value without members that are null, at every depth. Elements of lists stay: their position has a meaning. */
function withoutNull(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNull)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) => (each === null ? [] : [[name, withoutNull(each)]])),
  )
}

/** Updates a digest with the canonical JSON of a value; `keepsNull` as for null members. */
async function updateCanonical(
  digest: Digest,
  value: unknown,
  keepsNull: boolean,
  pause: () => Promise<void>,
): Promise<void> {
  let text = ''
  async function visit(each: unknown): Promise<void> {
    if (typeof each !== 'object' || each === null) text += canonicalJson(each)
    else if (Array.isArray(each)) {
      text += '['
      for (const [position, element] of each.entries()) await member(position, '', element)
      text += ']'
    } else {
      text += '{'
      const members = each as Record<string, unknown>
      const names = Object.keys(members).filter((name) => keepsNull || members[name] !== null)
      for (const [position, name] of names.sort().entries())
        await member(position, `${JSON.stringify(name)}:`, members[name])
      text += '}'
    }
  }
  async function member(position: number, name: string, each: unknown): Promise<void> {
    text += position === 0 ? name : `,${name}`
    await visit(each)
    if (text.length < PIECE) return
    digest.update(text)
    text = ''
    await pause()
  }
  await visit(value)
  digest.update(text)
}

const headerProblem = (name: string, message: string): Problem =>
  new Problem('validation_failed', { fields: { [name]: [message] }, unknown_fields: [] })

const REVISION = /^(0|[1-9]\d{0,14})$/
const REVISION_MESSAGE = 'deve ser uma revisão do livro: um número inteiro a partir de 0'

/** Wait budget for a read replica, if the client requires a revision, in milliseconds. */
const WAIT_BUDGET_MS = 1_000

/**
 * Required revision of an answer: that of the ledger at authentication, or a lower one if the client allows it. The next page must not be older than the previous one, so a cursor requires the current revision.
 */
export function toRequiredRevision(request: Request, { revision, tables }: AuthenticatedCall) {
  const required = request.get(MIN_REVISION)
  if (required !== undefined && !REVISION.test(required)) throw headerProblem(MIN_REVISION, REVISION_MESSAGE)
  const wait_budget_ms = required === undefined ? SHORT_WAIT_BUDGET_MS : WAIT_BUDGET_MS
  const suffices = required === undefined || 'cursor' in request.query ? revision : Number(required)
  return suffices < revision
    ? { revision: suffices, wait_budget_ms, isOlder: true }
    : { revision, tables, wait_budget_ms, isOlder: false }
}

/** Last-Event-ID of a stream, the revision of the last received event; null without a valid one. */
export function parseLastEventId(request: Request): number | null {
  const last = request.get('Last-Event-ID') ?? ''
  return REVISION.test(last) ? Number(last) : null
}

/**
 * The conditions of If-Match, and of If-None-Match where a PUT may create the record, checked under the lock of the ledger.
 */
export function parsePrecondition({ target }: CommandRoute, request: Request): Precondition | undefined {
  if (!target) return undefined
  const { kind, byExternalId } = target
  const list = request.get('if-match')
  const none = byExternalId ? request.get('if-none-match') : undefined
  if (list === undefined && none === undefined) return undefined
  const { id, external_id } = request.params as Params
  const ref = byExternalId && external_id !== undefined ? byExternalId(external_id) : null
  return {
    needs: ref ? [ref] : [],
    subjectOf(rows) {
      const found = ref ? (rows.get(ref) as { readonly id: number } | null)?.id : id
      return found === undefined ? null : `${kind}/${found}`
    },
    // A command answers 404 for an id without a record; a PUT by external id would create one.
    holds(record) {
      if (record === '') return ref === null || list === undefined
      const etag = createEtag(single(record))
      return (list === undefined || includesEtag(list, etag)) && (none === undefined || !includesEtag(none, etag))
    },
  }
}

const keyProblem = (message: string): Problem => headerProblem('Idempotency-Key', message)

const ON_WRITES = 'só vale em POST, PUT, PATCH e DELETE: retire-a desta chamada'

/** An Idempotency-Key or a Dry-Run on a read is a mistake: a read changes nothing, and its answer is not stored. */
export function assertReadHeaders(request: Request): void {
  if (request.get('idempotency-key') !== undefined) throw keyProblem(ON_WRITES)
  if (request.get(DRY_RUN) !== undefined) throw headerProblem(DRY_RUN, ON_WRITES)
}

/** Asks what a write would record, without recording it. */
export const DRY_RUN = 'Dry-Run'

/** Whether a write is only tried. */
export function isDryRun(request: Request): boolean {
  const value = request.get(DRY_RUN)
  if (value !== undefined && value !== 'true') throw headerProblem(DRY_RUN, 'deve ser "true"')
  return value === 'true'
}

/** Header values are bytes: characters outside printable ASCII would be stored differently than intended. */
export const isIdempotencyKey = (key: string): boolean => /^[\x20-\x7e]{1,255}$/.test(key)

/** Idempotency-Key of a write; undefined if it is absent and optional. */
export function parseIdempotencyKey(request: Request, isDemanded: boolean): string | undefined {
  const key = request.get('idempotency-key')
  if (key === undefined && isDemanded) throw keyProblem('é obrigatória nesta operação')
  if (key !== undefined && !isIdempotencyKey(key)) throw keyProblem('deve ter de 1 a 255 caracteres ASCII visíveis')
  return key
}

const rawBodyOf = ({ locals }: Response) => locals.rawBody as Buffer | undefined
export const countBodyBytes = (response: Response): number => rawBodyOf(response)?.length ?? 0

/** Idempotency-Key with the hash of its request. */
export async function toIdempotency(
  key: string | undefined,
  request: Request,
  response: Response,
  requestSecret: Buffer,
): Promise<Idempotency | undefined> {
  if (key === undefined) return undefined
  // A parameter changes the meaning of a write, an empty query string does not.
  const { originalUrl, query } = request
  const [path = ''] = Object.keys(query).length > 0 ? [originalUrl] : originalUrl.split('?', 1)
  const { method, body } = request
  const arrived = { method, path, body: body as unknown, rawBody: rawBodyOf(response) }
  return identifyRequest(key, arrived, requestSecret, createTimeSlicer(toShareKey(response)))
}

/** Logs each authenticated request when it ends, whatever its outcome; unauthenticated ones are not logged. */
export function logRequests(calls: RequestLog): RequestHandler {
  return (request, response, next) => {
    const began = performance.now()
    const at_ms = Date.now()
    // Express restores these values after the router.
    const { method, baseUrl, originalUrl } = request
    response.on('close', () => {
      const { admission } = response.locals as { admission?: AuthenticatedCall }
      if (!admission) return
      const { companyId, keyId } = admission
      const duration_ms = Math.round(performance.now() - began)
      calls.add({
        companyId,
        keyId,
        at_ms,
        duration_ms,
        ...describeRequest({ method, baseUrl, originalUrl }),
        ...describeResponse(request, response),
      })
    })
    next()
  }
}

function describeRequest({ method, baseUrl, originalUrl }: Pick<Request, 'method' | 'baseUrl' | 'originalUrl'>) {
  const end = originalUrl.indexOf('?')
  // A request line may hold a whole URL.
  const begin = originalUrl.indexOf(baseUrl) + baseUrl.length
  return {
    method,
    path: maskPath(originalUrl.slice(begin, end < 0 ? undefined : end) || '/'),
    query: end < 0 ? null : maskQuery(originalUrl.slice(end + 1)),
  }
}

function describeResponse(request: Request, response: Response) {
  const { requestId, traceparent, via, rawBody, problem } = response.locals as {
    requestId: string
    via?: string
    traceparent?: string
    rawBody?: Buffer
    problem?: Problem
  }
  return {
    id: requestId,
    status: response.writableFinished ? response.statusCode : null,
    replayed: response.hasHeader('Idempotent-Replayed'),
    code: problem?.code ?? null,
    traceparent: traceparent ?? null,
    via: via ?? null,
    body: problem && rawBody && request.body !== undefined ? maskBody(request.body) : null,
    details: problem?.details ? formatDetails(problem.details) : null,
  }
}

/**
 * In a body, `""` means the same as null: some generated clients cannot send null, and ERPs send `""` for a field without
 * a value. It applies to every text that may be null, at any depth.
 */

type Schema = oas31.SchemaObject

/** Members of an object whose empty text is null, and those with such members inside. */
interface Clearables {
  readonly texts: ReadonlySet<string>
  readonly inner: ReadonlyMap<string, Clearables>
}

const known = new WeakMap<z.ZodType, Clearables | null>()

/** The body with null for each empty text that clears a field; the body itself if there is none. */
export function withoutEmptyTexts(schema: z.ZodType, body: unknown): unknown {
  let clearables = known.get(schema)
  if (clearables === undefined) {
    clearables = clearablesOf(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema)
    known.set(schema, clearables)
  }
  return clearables ? cleared(body, clearables) : body
}

function cleared(value: unknown, clearables: Clearables): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item) => cleared(item, clearables))
    return items.some((item, n) => item !== value[n]) ? items : value
  }
  if (typeof value !== 'object' || value === null) return value
  const { texts, inner } = clearables
  const members = value as Readonly<Record<string, unknown>>
  const changes: Record<string, unknown> = {}
  for (const name of texts) if (Object.hasOwn(members, name) && members[name] === '') changes[name] = null
  for (const [name, within] of inner) {
    if (!Object.hasOwn(members, name)) continue
    const found = cleared(members[name], within)
    if (found !== members[name]) changes[name] = found
  }
  return Object.keys(changes).length > 0 ? { ...members, ...changes } : value
}

/** From the JSON schema of a body; null if it has no such text. */
function clearablesOf(root: Schema): Clearables | null {
  const definitions = (root as { $defs?: Record<string, Schema> }).$defs ?? {}
  const resolved = (schema: Schema): Schema =>
    schema.$ref === undefined ? schema : resolved(definitions[schema.$ref.slice('#/$defs/'.length)] ?? {})
  const objectsIn = (schema: Schema): Schema[] => {
    const { properties, items, ...rest } = resolved(schema)
    if (properties) return [{ properties }]
    if (items) return objectsIn(items as Schema)
    return alternativesOf(rest).flatMap(objectsIn)
  }
  const of = (schemas: readonly Schema[]): Clearables | null => {
    const texts = new Set<string>()
    const inner = new Map<string, Clearables>()
    for (const { properties = {} } of schemas)
      for (const [name, field] of Object.entries(properties as Record<string, Schema>)) {
        if (isText(field, resolved)) texts.add(name)
        const within = of(objectsIn(field))
        if (within) inner.set(name, within)
      }
    return texts.size > 0 || inner.size > 0 ? { texts, inner } : null
  }
  return of(objectsIn(root))
}

const alternativesOf = ({ anyOf, oneOf }: Schema): Schema[] => ((anyOf ?? oneOf) as Schema[] | undefined) ?? []

/** Whether a field takes texts and null. */
function isText(field: Schema, resolved: (schema: Schema) => Schema): boolean {
  const types = new Set<unknown>()
  const collect = (schema: Schema): void => {
    const shown = resolved(schema)
    for (const type of [shown.type].flat()) types.add(type)
    alternativesOf(shown).forEach(collect)
  }
  collect(field)
  return types.has('string') && types.has('null')
}

/** A field of a request in a contract, which takes the empty text too if it may be null. */
export function withEmptyText(field: Schema): Schema {
  if (!isText(field, (schema) => schema)) return field
  const { pattern, minLength, format, oneOf, ...rest } = field
  const shape = {
    ...rest,
    ...(oneOf && { oneOf: (oneOf as Schema[]).map(withEmptyValue) }),
    ...(pattern !== undefined && { pattern: `^$|${pattern}` }),
    // Generators make types of these formats, which have no empty value.
    ...(format?.startsWith('date') && { format }),
  }
  return minLength ? { ...shape, minLength: 0 } : shape
}

const withEmptyValue = (schema: Schema): Schema => (schema.enum ? { ...schema, enum: [...schema.enum, ''] } : schema)
