import { parseCookie } from 'cookie'
import type { Request, Response } from 'express'
import { type FlashCode, flashOf } from './words/message-words.ts'

/** Browsers accept a cookie with this prefix over HTTPS only, and bind it to the host. */
const SECURE_NAME = '__Host-tillbook'
/** Used on the loopback interface, which has no HTTPS. */
const PLAIN_NAME = 'tillbook'

export const nameFor = (request: Request): string => (request.secure ? SECURE_NAME : PLAIN_NAME)

/** Scripts cannot read the cookie, and forms of other sites do not send it. */
export const attributesFor = (request: Request) =>
  ({ httpOnly: true, sameSite: 'lax', secure: request.secure, path: '/' }) as const

export function cookieOf(request: Request, name: string): string | null {
  return parseCookie(request.headers.cookie ?? '')[name] ?? null
}

/** Longest time between an action and the page that reports it. */
const NOTICE_SECONDS = 60

const noticeName = (request: Request): string => `${nameFor(request)}-feito`

/** Stores the result of an action for the next page. */
export function noteDone(response: Response, done: FlashCode): void {
  const { req: request } = response
  response.cookie(noticeName(request), done, { ...attributesFor(request), maxAge: NOTICE_SECONDS * 1000 })
}

/**
 * The flash code of the address, if its action has just been done: a saved or shared address shows no message.
 */
export function doneBefore(request: Request, cookie: unknown): FlashCode | null {
  const flash = flashOf(String(cookie ?? ''))
  return flash !== null && cookieOf(request, noticeName(request)) === flash ? flash : null
}

/** The message is shown once. */
export function forgetDone(response: Response): void {
  response.clearCookie(noticeName(response.req), attributesFor(response.req))
}
