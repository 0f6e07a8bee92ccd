import type { Request, RequestHandler, Response } from 'express'
import type { MinuteLimit } from '#access/minute-limit.ts'
import { type AdmittedSession, csrfMatches, type PanelSession } from '#access/sessions.ts'
import { limited } from '#http/middleware/unauthenticated-clients.ts'
import { Problem } from '#http/problems.ts'
import type { ResponseTarget } from './answer.tsx'
import { attributesFor, cookieOf, nameFor } from './cookies.ts'
import { type FormBody, formText } from './forms/form.ts'
import { pageContextOf } from './page-context.ts'
import type { routeReachOf } from './permissions.ts'
import type { PanelContext } from './route.ts'

const deviceNameFor = (request: Request): string => `${nameFor(request)}-device`

/** Longest that browsers keep a cookie. */
const DEVICE_DAYS = 400

/** The session's token that a browser sends; null when it has none. */
export const sessionCookie = (request: Request): string | null => cookieOf(request, nameFor(request))

/** What the browser keeps of an earlier login, whoever logged in and out since; null when nobody did. */
export const deviceCookie = (request: Request): string | null => cookieOf(request, deviceNameFor(request))

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
export async function panelSessionOf({ panel }: PanelContext, request: Request): Promise<PanelSession | null> {
  const token = sessionCookie(request)
  return token === null ? null : panel.sessions.find(token)
}

interface SessionRules {
  readonly reachOfRole: ReturnType<typeof routeReachOf>
  readonly toLogin: RequestHandler
  /** What a call is counted by instead of the quota; null where the quota counts it. */
  apart(request: Request): MinuteLimit | null
}

/** Lets a call with a live session through, counted; leads whoever is not logged in to the login. @throws Problem 429 */
export function requireSession(context: PanelContext, { reachOfRole, toLogin, apart }: SessionRules): RequestHandler {
  return async (request, response, next) => {
    const admitted = await admittedOf(context, request, apart(request))
    if (!admitted) return void (await toLogin(request, response, next))
    const { session, retryAfter } = admitted
    // Without the menu: it would cost as much as many pages do.
    if (retryAfter !== null) throw limited({ retryAfter })
    response.locals.session = session
    // For pages of errors, which have the menu too.
    response.locals.place = {
      section: null,
      visit: pageContextOf(context, session, reachOfRole(session.role), request),
    } satisfies ResponseTarget
    next()
  }
}

async function admittedOf(
  context: PanelContext,
  request: Request,
  apart: MinuteLimit | null,
): Promise<AdmittedSession | null> {
  if (!apart) return context.panel.sessions.admit(sessionCookie(request) ?? '')
  const session = await panelSessionOf(context, request)
  if (!session) return null
  const counted = await apart.consume(session.sessionHash.toString('base64'))
  return { session, retryAfter: counted.limited ? counted.retryAfter : null }
}

/** Asks again when the form has come: a session may have ended meanwhile (KEY-21). */
export function requireSessionStill({ panel }: PanelContext, toLogin: RequestHandler): RequestHandler {
  return async (request, response, next) => {
    if (request.method !== 'POST' || (await panel.sessions.isLive(sessionCookie(request) ?? ''))) next()
    else await toLogin(request, response, next)
  }
}

/** @throws Problem where a form does not carry the session's own token. */
export function requireCsrf(session: PanelSession, form: FormBody): void {
  if (!csrfMatches(session, formText(form, '_csrf'))) throw new Problem('cross_site_form')
}
