import type { Request, RequestHandler } from 'express'
import { Problem, problemOfReason } from '../problems.ts'
import type { LimitUnauthenticated } from './unauthenticated-clients.ts'

/** Refuses a request without a Host, or with several: a proxy may have seen another one (RFC 9112, 3.2). */
export const requireHost: RequestHandler = ({ rawHeaders, httpVersion }, _response, next) => {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) next()
  else next(new Problem('malformed_request'))
}

/** Protocol names are case-insensitive (RFC 3986, 3.1), but Express accepts only `https`. */
export const foldForwardedProto: RequestHandler = ({ headers }, _response, next) => {
  const proto = headers['x-forwarded-proto']
  if (typeof proto === 'string') headers['x-forwarded-proto'] = proto.toLowerCase()
  next()
}

const LOOPBACK_ADDRESS = /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/
const LOOPBACK_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i
const FORWARDING = ['forwarded', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-real-ip', 'via']

/** Whether the request has no header of a proxy. */
export const isDirect = ({ headers }: Request): boolean => FORWARDING.every((name) => headers[name] === undefined)

/**
 * Refuses plain HTTP with 403; a redirect would hide that the key was already sent unencrypted (KEY-7). Behind a
 * trusted proxy X-Forwarded-Proto decides. Direct requests from the same machine are allowed, for a first try with
 * curl.
 */
export function requireHttps(limitAnonymous: LimitUnauthenticated): RequestHandler {
  return async (request, response, next) => {
    if (request.secure || isNewcomersCurl(request)) return next()
    await limitAnonymous(request, response)
    throw problemOfReason('https_required')
  }
}

function isNewcomersCurl(request: Request): boolean {
  return (
    LOOPBACK_ADDRESS.test(request.socket.remoteAddress ?? '') &&
    LOOPBACK_HOST.test(request.headers.host ?? '') &&
    isDirect(request)
  )
}
