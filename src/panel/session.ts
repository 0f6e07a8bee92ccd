import type { Request, RequestHandler, Response } from 'express'
import { csrfMatches, type PanelSession } from '#access/sessions.ts'
import { Problem } from '#http/problems.ts'
import { type Place, sendRedirect } from './answer.tsx'
import { type FormBody, textOf } from './forms/form.ts'
import { link } from './link.ts'
import type { reachOf } from './rights.ts'
import type { PanelContext } from './route.ts'
import { visitOf } from './visit.ts'

/** Browsers take a cookie with this prefix over HTTPS only, and from this very host. */
const SECURE_NAME = '__Host-tillbook'
/** On the machine itself, where a newcomer has no HTTPS. */
const PLAIN_NAME = 'tillbook'

const nameFor = (request: Request): string => (request.secure ? SECURE_NAME : PLAIN_NAME)
const deviceNameFor = (request: Request): string => `${nameFor(request)}-device`

/** Longest that browsers keep a cookie. */
const DEVICE_DAYS = 400

const attributesFor = (request: Request) =>
  ({ httpOnly: true, sameSite: 'lax', secure: request.secure, path: '/' }) as const

/** The session's token that a browser sends; null when it has none. */
export const sessionCookie = (request: Request): string | null => cookieOf(request, nameFor(request))

/** What the browser keeps of an earlier login, whoever logged in and out since; null when nobody did. */
export const deviceCookie = (request: Request): string | null => cookieOf(request, deviceNameFor(request))

function cookieOf(request: Request, name: string): string | null {
  const wanted = `${name}=`
  const pair = request.headers.cookie?.split(/; */, 50).find((one) => one.startsWith(wanted))
  return pair === undefined ? null : pair.slice(wanted.length)
}

/** No script can read it, and no other site's form is sent with it. */
export function setSessionCookie(request: Request, response: Response, token: string, expiresAt: string): void {
  response.cookie(nameFor(request), token, { ...attributesFor(request), expires: new Date(expiresAt) })
}

/** Stays when somebody logs out: it opens nothing, and says at the next login that this device has been here (TOKEN-10). */
export function setDeviceCookie(request: Request, response: Response, device: string | null): void {
  if (device === null) return
  response.cookie(deviceNameFor(request), device, { ...attributesFor(request), maxAge: DEVICE_DAYS * 86_400_000 })
}

export function clearSessionCookie(request: Request, response: Response): void {
  response.clearCookie(nameFor(request), attributesFor(request))
}

/** The session of whoever sends a request; null when nobody is logged in. */
export async function sessionOf({ panel }: PanelContext, request: Request): Promise<PanelSession | null> {
  const token = sessionCookie(request)
  return token === null ? null : panel.sessions.find(token)
}

/** Sends whoever is not logged in to the login, and back to the page afterwards. */
export function requireSession(context: PanelContext, reachOfRole: ReturnType<typeof reachOf>): RequestHandler {
  return async (request, response, next) => {
    const session = await sessionOf(context, request)
    if (session) {
      response.locals.session = session
      // For pages of errors, which have the menu too.
      response.locals.place = {
        section: null,
        visit: visitOf(context, session, reachOfRole(session.role), request),
      } satisfies Place
      return next()
    }
    sendToLogin(request, response)
  }
}

/** Asks again when the form has come: a session may have ended meanwhile (KEY-21). */
export function requireSessionStill({ panel }: PanelContext): RequestHandler {
  return async (request, response, next) => {
    if (request.method !== 'POST' || (await panel.sessions.isLive(sessionCookie(request) ?? ''))) next()
    else sendToLogin(request, response)
  }
}

function sendToLogin(request: Request, response: Response): void {
  // htmx would put the login in place of a part of the page: the whole page goes there instead.
  if (request.get('hx-request') === 'true')
    return void response
      .status(401)
      .setHeader('HX-Redirect', link('/entrar', { feito: 'entre' }))
      .end()
  const para = request.method === 'GET' && request.url !== '/' ? request.originalUrl : undefined
  sendRedirect(response, link('/entrar', { feito: 'entre', para }))
}

/** @throws Problem where a form does not carry the session's own token. */
export function requireCsrf(session: PanelSession, form: FormBody): void {
  if (!csrfMatches(session, textOf(form, '_csrf'))) throw new Problem('cross_site_form')
}
