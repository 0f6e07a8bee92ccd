import { isUtf8 } from 'node:buffer'
import express, { type Request, type RequestHandler, type Response } from 'express'
import { networkOf } from '#access/minute-limit.ts'
import type { MemoryBudget, MemoryUse } from '#lib/memory-budget.ts'
import { Problem } from '../problems.ts'
import { shareOf } from '../share-of.ts'

/** Where the body of a request is kept until its answer, in the name of whoever sends it. */
export type Room = (request: Request, response: Response) => MemoryUse

/** For calls of those who are known by now. */
export const roomOfCompany =
  (bodies: MemoryBudget): Room =>
  (_request, response) =>
    bodies.open(shareOf(response))

/** Room for what anybody may send. Each has its own, so that none of them takes it from another. */
export interface StrangersBodies {
  readonly panelLogins: MemoryBudget
  readonly tillLogins: MemoryBudget
  readonly notifications: MemoryBudget
  readonly checkouts: MemoryBudget
}

/** For calls of those whom nobody knows, by their address. */
export const roomOfStrangers =
  (bodies: MemoryBudget): Room =>
  (request) =>
    bodies.open(networkOf(request.ip ?? ''))

type Parse = (request: Request, response: Response, next: (error?: unknown) => void) => void

const parserUpTo = (limit: number): Parse =>
  express.json({
    limit,
    strict: false,
    type: () => true,
    verify: (_request, response, bytes) => {
      // The parser would put U+FFFD for what it cannot read, and a ledger would keep it for ever.
      if (!isUtf8(bytes)) throw new Error('the body is not UTF-8')
      ;(response as Response).locals.rawBody = bytes
    },
  })

/** Reads: a body has no meaning there (RFC 9110), so nothing in it can be wrong. */
const METHODS_WITHOUT_BODY = ['GET', 'HEAD']

/**
 * Reads the body of a request that may have one, of at most so many bytes; an absent body is an empty object. Room for it is
 * held from its first byte until its request is answered, so that many slow ones cannot fill the memory.
 */
export function jsonBodyUpTo(limit: number, room: Room): RequestHandler {
  const parse = parserUpTo(limit)
  return (request, response, next) => {
    const { 'content-type': type, 'content-length': length, 'transfer-encoding': encoding } = request.headers
    const isSent = encoding !== undefined || Number(length ?? 0) > 0
    if (!isSent || METHODS_WITHOUT_BODY.includes(request.method)) {
      request.body = {}
      next()
      return
    }
    if (type === undefined || !/^application\/json\s*(;\s*charset="?utf-?8"?\s*)?$/i.test(type)) {
      next(new Problem('unsupported_media_type'))
      return
    }
    holdBody(room, limit, request, response)
    parse(request, response, (error?: unknown) =>
      next(error === undefined ? undefined : bodyProblem(error, limit, request)),
    )
  }
}

/**
 * Holds room for a body of at most so many bytes.
 * @throws Problem where more of them are announced; Unavailable when there is no room; and when the sender has gone.
 */
export function holdBody(room: Room, limit: number, request: Request, response: Response): void {
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
