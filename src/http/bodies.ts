import { isUtf8 } from 'node:buffer'
import express, { type Request, type RequestHandler, type Response } from 'express'
import type { BytesLeft, Charge } from '#access/api-authenticator.ts'
import { toNetwork } from '#access/login-limits.ts'
import { TenantLimitExceeded } from '#lib/errors.ts'
import { createTimeSlicer, type KeyedSemaphore, type MemoryBudget, type MemoryUse } from '#lib/fair-sharing.ts'
import { JsonLimitExceeded, type JsonLimits, parseBoundedJson, RepeatedMember } from '#lib/json.ts'
import { isJsonType, toShareKey } from './answers.ts'
import { Problem, problemOfReason } from './problems.ts'

/** Counts the bytes of a body against the daily limit of its company. */
export type ChargeBytes = (companyId: number, bytes: number) => Promise<Charge>

/** Bodies of these methods have no meaning and are not read. */
const METHODS_WITHOUT_BODY = ['GET', 'HEAD']

/**
 * Announced size of a body that would be read, in bytes; 0 without a body. Null if only reading reveals the size,
 * because the body is chunked or compressed: the unpacked size counts then.
 */
export function declaredBytes({ method, headers }: Request, limit: number): number | null {
  if (METHODS_WITHOUT_BODY.includes(method)) return 0
  const length = Number(headers['content-length'] ?? 0)
  if (headers['transfer-encoding'] !== undefined || (length > 0 && headers['content-encoding'] !== undefined))
    return null
  // A body beyond the limit is refused unread.
  return length > limit ? 0 : length
}

/** Counts a body after reading, if its size was unknown before. */
export function chargeRead(
  charge: ChargeBytes,
  companyOf: (response: Response) => number,
  limit: number,
): RequestHandler {
  return async (request, response, next) => {
    const body = response.locals.rawBody as Buffer | undefined
    if (body && declaredBytes(request, limit) === null)
      await chargeOrRefuse(charge, response, companyOf(response), body.length)
    next()
  }
}

/** @throws Problem if the body exceeds the company's remaining bytes of the day. */
export async function chargeOrRefuse(
  charge: ChargeBytes,
  response: Response,
  companyId: number,
  bytes: number,
): Promise<void> {
  const counted = await charge(companyId, bytes)
  showBytes(response, counted.bytes)
  if (!counted.isCounted) throw tooManyBytes(counted.bytes)
}

export function showBytes(response: Response, { limit, remaining }: Pick<BytesLeft, 'limit' | 'remaining'>): void {
  response.setHeader('X-RateLimit-Bytes-Limit', limit)
  response.setHeader('X-RateLimit-Bytes-Remaining', remaining)
}

/** Closes the connection: the body was not read, and the client should not continue to send it. */
export const tooManyBytes = ({ retryAfter }: BytesLeft): Problem =>
  problemOfReason('bytes_used_up', { 'Retry-After': String(retryAfter), Connection: 'close' })

/** Memory budget that holds the body of a request until its answer, under the key of its sender. */
export type BodyBudget = (request: Request, response: Response) => MemoryUse

/** For authenticated requests, by company. */
export const companyBodyBudget =
  (bodies: MemoryBudget): BodyBudget =>
  (_request, response) =>
    bodies.open(toShareKey(response))

/** Memory for bodies of unauthenticated clients. Each kind has its own, so that none exhausts another. */
export interface UnauthenticatedBodies {
  readonly panelLogins: MemoryBudget
  readonly tillLogins: MemoryBudget
  readonly notifications: MemoryBudget
  readonly checkouts: MemoryBudget
}

/** For unauthenticated requests, by address. */
export const unauthenticatedBodyBudget =
  (bodies: MemoryBudget): BodyBudget =>
  (request) =>
    bodies.open(toNetwork(request.ip ?? ''))

/** Legitimate maximum: an upload of 1,000 sales, or a check of 50,000 products by a till. */
const LIMITS: JsonLimits = {
  levels: 64,
  members: 1_000,
  elements: 100_000,
  values: 550_000,
  textBytes: 1_048_576,
}

const BEYOND: Readonly<Record<keyof JsonLimits, string>> = {
  levels: `tem mais de ${LIMITS.levels} níveis de listas e objetos`,
  members: `tem um objeto com mais de ${LIMITS.members} campos`,
  elements: `tem uma lista com mais de ${LIMITS.elements} itens`,
  values: `tem mais de ${LIMITS.values} valores`,
  textBytes: `tem um texto com mais de ${LIMITS.textBytes} bytes`,
}

/**
 * Reads and parses a request body of at most `limit` bytes; an absent body is an empty object. Its memory is reserved
 * from the first byte until the answer, so that many slow bodies cannot fill the memory. `charge` runs before the
 * parser: a refused body counts too. Paths like `binaryPath` take a picture itself, too.
 */
export function jsonBodyUpTo(
  limit: number,
  room: BodyBudget,
  charge?: RequestHandler,
  binaryPath?: RegExp,
): RequestHandler[] {
  return [readBytes(limit, room, binaryPath), ...(charge ? [charge] : []), parseBody]
}

/** Media type of pictures: such a body means `{"content": <base64>}`. */
const PICTURE_TYPE = 'image/webp'

const isPicture = (type: string | undefined): boolean => type?.split(';', 1)[0]?.trim().toLowerCase() === PICTURE_TYPE

function readBytes(limit: number, room: BodyBudget, binaryPath: RegExp | undefined): RequestHandler {
  const read = express.raw({ limit, type: () => true })
  return (request, response, next) => {
    const { 'content-type': type, 'content-length': length, 'transfer-encoding': encoding } = request.headers
    const isSent = encoding !== undefined || Number(length ?? 0) > 0
    if (!isSent || METHODS_WITHOUT_BODY.includes(request.method)) return next()
    const isBinary = isPicture(type) && binaryPath?.test(request.originalUrl)
    if (type === undefined || !(isJsonType(type) || isBinary)) {
      next(new Problem('unsupported_media_type'))
      return
    }
    holdBody(room, limit, request, response)
    read(request, response, (error?: unknown) => {
      if (error !== undefined) return next(bodyProblem(error, limit, request))
      response.locals.rawBody = request.body as Buffer
      request.body = undefined
      next()
    })
  }
}

/** Parses a large body in slices (HTTP-42). */
const parseBody: RequestHandler = async (request, response, next) => {
  const bytes = response.locals.rawBody as Buffer | undefined
  if (isPicture(request.get('content-type'))) request.body = { content: bytes?.toString('base64') ?? '' }
  else request.body = bytes === undefined || bytes.length === 0 ? {} : await parseBytes(bytes, response)
  next()
}

/** @throws Problem if the bytes are not JSON in UTF-8, or exceed a limit. */
async function parseBytes(bytes: Buffer, response: Response): Promise<unknown> {
  // A decoder would replace invalid bytes by U+FFFD, and the ledger would keep them forever.
  if (!isUtf8(bytes)) throw new Problem('malformed_json')
  try {
    return await parseBoundedJson(bytes, LIMITS, createTimeSlicer(toShareKey(response)))
  } catch (error) {
    if (error instanceof JsonLimitExceeded)
      throw new Problem('validation_failed', { fields: { body: [BEYOND[error.limit]] }, unknown_fields: [] })
    if (error instanceof RepeatedMember) throw problemOfReason('repeated_member')
    throw error instanceof SyntaxError ? new Problem('malformed_json') : error
  }
}

/**
 * Reserves memory for a body of at most `limit` bytes. @throws Problem if the announced size exceeds it; Unavailable if
 * there is no memory; an error if the client has disconnected.
 */
export function holdBody(room: BodyBudget, limit: number, request: Request, response: Response): void {
  const { headers } = request
  const length = Number(headers['content-length'] ?? limit)
  if (length > limit) throw tooLarge(limit)
  // The client disconnected during authentication: no later event would release the memory. The parser reports later
  // disconnections.
  if (response.closed)
    throw Object.assign(new Error('the client has disconnected'), { type: 'request.aborted', status: 400 })
  const budget = room(request, response)
  response.once('close', budget.release)
  // The size of a compressed body does not reveal its unpacked size.
  budget.add(headers['content-encoding'] === undefined ? length : limit)
}

/** Closes the connection, so that the client sends no more of the body. */
export const tooLarge = (limit: number): Problem =>
  new Problem('payload_too_large', { limit_bytes: limit }, { Connection: 'close' })

/** Converts an error of a body parser to a Problem of the contract. */
export function bodyProblem(error: unknown, limit: number, request: Request): unknown {
  const { type, status } = error as { type?: string; status?: number }
  if (type === 'entity.too.large') return tooLarge(limit)
  if (type === 'encoding.unsupported' || type === 'charset.unsupported') return new Problem('unsupported_media_type')
  // Not `destroyed`: a request may be destroyed as soon as it was read completely.
  if (type === 'request.aborted' || !request.complete) return error
  return status !== undefined && status < 500 ? new Problem('malformed_json') : error
}

/** Single sales, records and forms are far smaller; lists of hundreds of them are larger. */
const LARGE_BODY_BYTES = 16_384

/**
 * Limits concurrent large requests per company, each until it is answered. The body of a waiting request is not read,
 * so it takes neither memory nor processor. A body without announced size counts as large. @throws TenantLimitExceeded
 * if too many requests of the company wait, or one has waited too long.
 */
export function limitLargeRequests(semaphore: KeyedSemaphore): RequestHandler {
  return async ({ headers }, response, next) => {
    const { 'content-length': length, 'transfer-encoding': encoding, 'content-encoding': coding } = headers
    const isLarge = encoding !== undefined || coding !== undefined || Number(length ?? 0) > LARGE_BODY_BYTES
    if (!isLarge) return next()
    const gone = new AbortController()
    const abortWait = () => gone.abort()
    response.once('close', abortWait)
    const release = await semaphore.acquire(toShareKey(response), gone.signal)
    response.off('close', abortWait)
    if (!release) throw new TenantLimitExceeded('too many large requests of the company are queued; try again later')
    if (response.closed) release()
    else response.once('close', release)
    next()
  }
}

/** A form of `multipart/form-data` (RFC 7578). */
export interface MultipartForm {
  /** Last value of each field, by name. */
  readonly fields: Readonly<Record<string, string>>
  /** Content of the last file, of any field. */
  readonly file: Buffer | null
}

/** Our forms have a few fields and one file. */
const MAX_PARTS = 20
const MAX_HEADER_BYTES = 2_048
const BOUNDARY = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/i
const NAME = /(?:^|;)\s*name="([^"]*)"/i
const DISPOSITION = /^content-disposition:\s*form-data\s*;(.*)$/im

/** Parses a complete form; null if it is malformed or has too many parts. The file is a slice of `body`, not a copy. */
export function readMultipart(body: Buffer, contentType: string): MultipartForm | null {
  const [, inQuotes, bare] = BOUNDARY.exec(contentType) ?? []
  const boundary = inQuotes ?? bare
  if (boundary === undefined) return null
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  if (!body.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2))) return null
  const fields = new Map<string, string>()
  let file: Buffer | null = null
  let at = delimiter.length - 2
  for (let parts = 0; ; parts++) {
    const ending = body.toString('latin1', at, at + 2)
    if (ending === '--') return { fields: Object.fromEntries(fields), file }
    const [begin, end] = [at + 2, body.indexOf('\r\n\r\n', at)]
    if (ending !== '\r\n' || end < 0 || end - begin > MAX_HEADER_BYTES || parts === MAX_PARTS) return null
    const [, disposition = ''] = DISPOSITION.exec(body.toString('utf8', begin, end)) ?? []
    const [, name] = NAME.exec(disposition) ?? []
    at = body.indexOf(delimiter, end + 2)
    if (name === undefined || at < 0) return null
    const content = body.subarray(Math.min(end + 4, at), at)
    if (/;\s*filename\*?=/i.test(disposition)) file = content
    else fields.set(name, content.toString())
    at += delimiter.length
  }
}
