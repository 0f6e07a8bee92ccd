import { isUtf8 } from 'node:buffer'
import express, { type Request, type RequestHandler, type Response } from 'express'
import { networkOf } from '#access/minute-limit.ts'
import { JsonLimitExceeded, type JsonLimits, parseBoundedJson } from '#lib/bounded-json.ts'
import type { MemoryBudget, MemoryUse } from '#lib/memory-budget.ts'
import { createTimeSlicer } from '#lib/time-slicing.ts'
import { Problem } from '../problems.ts'
import { shareOf } from '../share-of.ts'

/** Where the body of a request is kept until its answer, in the name of whoever sends it. */
export type BodyBudget = (request: Request, response: Response) => MemoryUse

/** For calls of those who are known by now. */
export const companyBodyBudget =
  (bodies: MemoryBudget): BodyBudget =>
  (_request, response) =>
    bodies.open(shareOf(response))

/** Room for what anybody may send. Each has its own, so that none of them takes it from another. */
export interface UnauthenticatedBodies {
  readonly panelLogins: MemoryBudget
  readonly tillLogins: MemoryBudget
  readonly notifications: MemoryBudget
  readonly checkouts: MemoryBudget
}

/** For calls of those whom nobody knows, by their address. */
export const unauthenticatedBodyBudget =
  (bodies: MemoryBudget): BodyBudget =>
  (request) =>
    bodies.open(networkOf(request.ip ?? ''))

/** Legitimate maximum: 1,000 sales of a till, or 50,000 products that it checks. */
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

/** Reads: a body has no meaning there (RFC 9110), so nothing in it can be wrong. */
const METHODS_WITHOUT_BODY = ['GET', 'HEAD']

/**
 * Reads and parses the body of a request that may have one, of at most `limit` bytes; an absent body is an empty object. Room for
 * it is held from its first byte until its request is answered, so that many slow bodies cannot fill the memory. `charge` runs
 * before the parser: a body counts also if it is refused.
 */
export function jsonBodyUpTo(limit: number, room: BodyBudget, charge?: RequestHandler): RequestHandler[] {
  return [readBytes(limit, room), ...(charge ? [charge] : []), parseBody]
}

function readBytes(limit: number, room: BodyBudget): RequestHandler {
  const read = express.raw({ limit, type: () => true })
  return (request, response, next) => {
    const { 'content-type': type, 'content-length': length, 'transfer-encoding': encoding } = request.headers
    const isSent = encoding !== undefined || Number(length ?? 0) > 0
    if (!isSent || METHODS_WITHOUT_BODY.includes(request.method)) return next()
    if (type === undefined || !/^application\/json\s*(;\s*charset="?utf-?8"?\s*)?$/i.test(type)) {
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

/** A large body is parsed in slices (HTTP-42). */
const parseBody: RequestHandler = async (request, response, next) => {
  const bytes = response.locals.rawBody as Buffer | undefined
  request.body = bytes === undefined || bytes.length === 0 ? {} : await parsed(bytes, response)
  next()
}

/** @throws Problem where the bytes are no JSON in UTF-8, or exceed a limit. */
async function parsed(bytes: Buffer, response: Response): Promise<unknown> {
  // A decoder would put U+FFFD for what it cannot read, and a ledger would keep it for ever.
  if (!isUtf8(bytes)) throw new Problem('malformed_json')
  try {
    return await parseBoundedJson(bytes, LIMITS, createTimeSlicer(shareOf(response)))
  } catch (error) {
    if (error instanceof JsonLimitExceeded)
      throw new Problem('validation_failed', { fields: { body: [BEYOND[error.limit]] }, unknown_fields: [] })
    throw error instanceof SyntaxError ? new Problem('malformed_json') : error
  }
}

/**
 * Holds room for a body of at most so many bytes.
 * @throws Problem where more of them are announced; Unavailable when there is no room; and when the sender has gone.
 */
export function holdBody(room: BodyBudget, limit: number, request: Request, response: Response): void {
  const { headers } = request
  const length = Number(headers['content-length'] ?? limit)
  if (length > limit) throw tooLarge(limit)
  // Whoever has gone while the key was looked up would never let go. The parser says it of those who go later.
  if (response.closed) throw Object.assign(new Error('the sender has gone'), { type: 'request.aborted', status: 400 })
  const held = room(request, response)
  response.once('close', held.release)
  // What is compressed says nothing of what it will be.
  held.add(headers['content-encoding'] === undefined ? length : limit)
}

/** Whoever sends too much should not send more of it on this connection. */
export const tooLarge = (limit: number): Problem =>
  new Problem('payload_too_large', { limit_bytes: limit }, { Connection: 'close' })

/** What a parser of bodies found, in the contract's terms. */
export function bodyProblem(error: unknown, limit: number, request: Request): unknown {
  const { type, status } = error as { type?: string; status?: number }
  if (type === 'entity.too.large') return tooLarge(limit)
  if (type === 'encoding.unsupported' || type === 'charset.unsupported') return new Problem('unsupported_media_type')
  // Not `destroyed`: a request may be that as soon as it was read to its end.
  if (type === 'request.aborted' || !request.complete) return error
  return status !== undefined && status < 500 ? new Problem('malformed_json') : error
}
