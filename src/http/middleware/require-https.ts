import type { Request, RequestHandler, Response } from 'express'
import { Problem } from '../problems.ts'

const LOOPBACK_ADDRESS = /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/
const LOOPBACK_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i
/** Headers by which proxies tell that they pass a call on. */
export const FORWARDING = ['forwarded', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-real-ip', 'via']

/**
 * Refuses plain HTTP with 403; a redirect would only hide that the key has been sent in the clear already (KEY-7).
 * Behind a trusted proxy X-Forwarded-Proto decides. A newcomer's curl on the machine itself is let through.
 */
export function requireHttps(limitStranger: (request: Request, response: Response) => Promise<void>): RequestHandler {
  return async (request, response, next) => {
    if (request.secure || isNewcomersCurl(request)) return next()
    await limitStranger(request, response)
    throw new Problem('https_required')
  }
}

function isNewcomersCurl(request: Request): boolean {
  return (
    LOOPBACK_ADDRESS.test(request.socket.remoteAddress ?? '') &&
    LOOPBACK_HOST.test(request.headers.host ?? '') &&
    FORWARDING.every((name) => request.headers[name] === undefined)
  )
}
