import { parseCookie } from 'cookie'
import type { Request, RequestHandler, Response } from 'express'
import * as z from 'zod'
import { limitedText } from '#domain/text.ts'
import { Problem } from '#http/problems.ts'
import { type FormBody, formBody, formText } from './forms/panel-form.ts'
import { type FlashCode, parseFlash } from './words/message-words.ts'

/** Browsers accept a cookie with this prefix over HTTPS only, and bind it to the host. */
const SECURE_NAME = '__Host-tillbook'
/** Used on the loopback interface, which has no HTTPS. */
const PLAIN_NAME = 'tillbook'

export const nameFor = (request: Request): string => (request.secure ? SECURE_NAME : PLAIN_NAME)

/** Scripts cannot read the cookie, and forms of other sites do not send it. */
export const attributesFor = (request: Request) =>
  ({ httpOnly: true, sameSite: 'lax', secure: request.secure, path: '/' }) as const

export function readCookie(request: Request, name: string): string | null {
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
  const flash = parseFlash(String(cookie ?? ''))
  return flash !== null && readCookie(request, noticeName(request)) === flash ? flash : null
}

/** The message is shown once. */
export function forgetDone(response: Response): void {
  response.clearCookie(noticeName(response.req), attributesFor(response.req))
}

/** Pages may load, run and call only files of the panel, and may not be framed. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** For one response: its page shows images of another site. */
export function allowImages(response: Response, origin: string): void {
  response.setHeader('Content-Security-Policy', POLICY.replace("img-src 'self'", `img-src 'self' ${origin}`))
}

const withCamera = (camera: string): string => `camera=(${camera}), microphone=(), geolocation=()`

/** For one response: its page reads codes by camera. */
export function allowCamera(response: Response): void {
  response.setHeader('Permissions-Policy', withCamera('self'))
}

/** Pages require a login: they must not be cached, and other sites must not learn their addresses. */
export const pagePolicy: RequestHandler = (_request, response, next) => {
  response.setHeader('Content-Security-Policy', POLICY)
  response.setHeader('Permissions-Policy', withCamera(''))
  response.setHeader('Cache-Control', 'no-store')
  // `no-referrer` would hide the origin of the panel's own forms too.
  response.setHeader('Referrer-Policy', 'same-origin')
  next()
}

/** Refuses forms of other sites. Browsers send the origin of a form; a client without one is no browser. */
export const requireOwnSite: RequestHandler = (request, _response, next) => {
  next(request.method === 'POST' && !isOwnSite(request) ? new Problem('cross_site_form') : undefined)
}

function isOwnSite(request: Request): boolean {
  const site = request.get('sec-fetch-site')
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  const origin = request.get('origin')
  if (origin === undefined) return true
  return URL.canParse(origin) && new URL(origin).host === request.headers.host
}

/** @throws Problem if a parameter contains U+0000, which Postgres cannot store in a text */
export function requireText(query: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(query)) {
    if (value.includes('\0'))
      throw new Problem('validation_failed', { fields: { [name]: ['o endereço tem um caractere nulo'] } })
  }
}

/** Hidden fields of every form: its author, its secret fields, and the mark that it is only to be shown again. */
export const INPUT_OWNER = '_quem'
export const SECRETS = '_segredos'
export const AGAIN = '_de_novo'

/** Limit of preserved input, so that the login form stays within its own limit. */
const MOST_BYTES = 8_000

/** A form that was submitted after the session had ended; the login page carries it. */
export interface PreservedInput {
  /** Below the panel. */
  readonly path: string
  /** `toInputOwner` the session that rendered the form. */
  readonly owner: string
  /** Without secrets. */
  readonly form: FormBody
}

export const toInputOwner = ({ companyId, userId }: { readonly companyId: number; readonly userId: number }): string =>
  `${companyId}.${userId}`

/** Text for the login page; null if there is nothing to preserve, or too much. */
export function encodePreservedInput(path: string, sent: FormBody): string | null {
  const owner = formText(sent, INPUT_OWNER)
  const left = new Set(['_csrf', INPUT_OWNER, SECRETS, AGAIN, ...formText(sent, SECRETS).split(' ')])
  const form = Object.fromEntries(Object.entries(sent).filter(([name]) => !left.has(name)))
  const bytes = Buffer.from(JSON.stringify({ path, owner, form } satisfies PreservedInput))
  return owner === '' || bytes.byteLength > MOST_BYTES ? null : bytes.toString('base64url')
}

const TypedShape = z.strictObject({
  path: limitedText(2_000).regex(/^\/[\w/-]*$/),
  owner: z.string(),
  form: formBody,
})

/** Input sent back by the login page; null if it is invalid. */
export function decodePreservedInput(text: string): PreservedInput | null {
  if (text === '') return null
  try {
    return TypedShape.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
  } catch {
    return null
  }
}
