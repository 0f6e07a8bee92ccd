import type { Request, Response } from 'express'

/** Browsers take a cookie with this prefix over HTTPS only, and from this very host. */
const SECURE_NAME = '__Host-tillbook'
/** On the machine itself, where a newcomer has no HTTPS. */
const PLAIN_NAME = 'tillbook'

const nameFor = (request: Request): string => (request.secure ? SECURE_NAME : PLAIN_NAME)

const attributesFor = (request: Request) =>
  ({ httpOnly: true, sameSite: 'lax', secure: request.secure, path: '/' }) as const

/** The session's token that a browser sends; null when it has none. */
export function sessionCookie(request: Request): string | null {
  const wanted = `${nameFor(request)}=`
  const pair = request.headers.cookie?.split(/; */, 50).find((one) => one.startsWith(wanted))
  return pair === undefined ? null : pair.slice(wanted.length)
}

/** No script can read it, and no other site's form is sent with it. */
export function setSessionCookie(request: Request, response: Response, token: string, expiresAt: string): void {
  response.cookie(nameFor(request), token, { ...attributesFor(request), expires: new Date(expiresAt) })
}

export function clearSessionCookie(request: Request, response: Response): void {
  response.clearCookie(nameFor(request), attributesFor(request))
}
