import { parseCookie } from 'cookie'
import type { Request, Response } from 'express'
import { type FlashCode, flashOf } from './words/flashes.ts'

/** Browsers take a cookie with this prefix over HTTPS only, and from this very host. */
const SECURE_NAME = '__Host-tillbook'
/** On the machine itself, where a newcomer has no HTTPS. */
const PLAIN_NAME = 'tillbook'

export const nameFor = (request: Request): string => (request.secure ? SECURE_NAME : PLAIN_NAME)

/** No script can read it, and no other site's form is sent with it. */
export const attributesFor = (request: Request) =>
  ({ httpOnly: true, sameSite: 'lax', secure: request.secure, path: '/' }) as const

export function cookieOf(request: Request, name: string): string | null {
  return parseCookie(request.headers.cookie ?? '')[name] ?? null
}

/** Longest between what was done and the page that tells of it. */
const NOTICE_SECONDS = 60

const noticeName = (request: Request): string => `${nameFor(request)}-feito`

/** Notes what was done, for the next page to say. */
export function noteDone(response: Response, done: FlashCode): void {
  const { req: request } = response
  response.cookie(noticeName(request), done, { ...attributesFor(request), maxAge: NOTICE_SECONDS * 1000 })
}

/** What the address says was done, as long as it has just been done: whoever keeps or sends the address tells nothing by it (PANEL-107). */
export function doneBefore(request: Request, told: unknown): FlashCode | null {
  const flash = flashOf(String(told ?? ''))
  return flash !== null && cookieOf(request, noticeName(request)) === flash ? flash : null
}

/** It is said once. */
export function forgetDone(response: Response): void {
  response.clearCookie(noticeName(response.req), attributesFor(response.req))
}
