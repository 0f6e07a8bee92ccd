import type { RequestHandler, Response } from 'express'
import type { AddressLimit, MinuteLimit } from '#access/minute-limit.ts'
import type { Session, Tokens } from '#access/sync-access.ts'
import { bearer, limited, limitStrangers } from '#http/middleware/authenticate.ts'
import { Problem } from '#http/problems.ts'

interface Options {
  readonly tokens: Tokens
  /** Calls of a token. */
  readonly calls: MinuteLimit
  readonly addresses: AddressLimit
}

/** Lets a call with a live token through, counted; whoever has none is limited by address. */
export function requireToken({ tokens, calls, addresses }: Options): RequestHandler {
  const limitStranger = limitStrangers(addresses)
  return async (request, response, next) => {
    const token = bearer(request)
    const session = token ? await tokens.find(token) : null
    if (!session) {
      await limitStranger(request, response)
      throw new Problem(token === null ? 'missing_token' : 'invalid_token')
    }
    const counted = await calls.consume(session.tokenHash.toString('base64'))
    if (counted.limited) throw limited(counted)
    response.locals.session = session
    next()
  }
}

/** Set by requireToken; the handler of a route that is not open never runs without it. */
export const sessionOf = (response: Response): Session => response.locals.session as Session
