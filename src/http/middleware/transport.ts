import type { Request, RequestHandler } from 'express'
import { Problem, problemOfReason } from '../problems.ts'
import type { LimitUnauthenticated } from './unauthenticated-clients.ts'

/** Refuses a request without a Host, or with several, which may have come past a proxy as another one (RFC 9112, 3.2). */
export const requireHost: RequestHandler = ({ rawHeaders, httpVersion }, _response, next) => {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) next()
  else next(new Problem('malformed_request'))
}

/** Names of protocols have no case (RFC 3986, 3.1), but Express takes only `https` for one. */
export const foldForwardedProto: RequestHandler = ({ headers }, _response, next) => {
  const proto = headers['x-forwarded-proto']
  if (typeof proto === 'string') headers['x-forwarded-proto'] = proto.toLowerCase()
  next()
}

const LOOPBACK_ADDRESS = /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/
const LOOPBACK_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i
const FORWARDING = ['forwarded', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-real-ip', 'via']

/** Whether no proxy says that it passes the call on. */
export const isDirect = ({ headers }: Request): boolean => FORWARDING.every((name) => headers[name] === undefined)

/**
 * Refuses plain HTTP with 403; a redirect would only hide that the key has been sent in the clear already (KEY-7).
 * Behind a trusted proxy X-Forwarded-Proto decides. A newcomer's curl on the machine itself is let through.
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
