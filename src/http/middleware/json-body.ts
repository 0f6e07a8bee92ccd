import { isUtf8 } from 'node:buffer'
import express, { type Request, type RequestHandler, type Response } from 'express'
import { networkOf } from '#access/minute-limit.ts'
import { JsonLimitExceeded, type JsonLimits, parseBoundedJson, RepeatedMember } from '#lib/bounded-json.ts'
import type { MemoryBudget, MemoryUse } from '#lib/memory-budget.ts'
import { createTimeSlicer } from '#lib/time-slicing.ts'
import { isJsonType } from '../content-type.ts'
import { Problem, problemOfReason } from '../problems.ts'
import { shareOf } from '../share-of.ts'

/** Memory budget that holds the body of a request until its answer, under the key of its sender. */
export type BodyBudget = (request: Request, response: Response) => MemoryUse

/** For authenticated requests, by company. */
export const companyBodyBudget =
  (bodies: MemoryBudget): BodyBudget =>
  (_request, response) =>
    bodies.open(shareOf(response))

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
    bodies.open(networkOf(request.ip ?? ''))

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

/** Bodies of these methods have no meaning (RFC 9110), so they cannot be invalid. */
const METHODS_WITHOUT_BODY = ['GET', 'HEAD']

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
    return await parseBoundedJson(bytes, LIMITS, createTimeSlicer(shareOf(response)))
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
