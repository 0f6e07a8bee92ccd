import type { Request, RequestHandler, Response } from 'express'
import type { MinuteLimit } from '#access/login-limits.ts'
import { type AdmittedSession, csrfMatches, type PanelSession } from '#access/sessions.ts'
import { rateLimitProblem } from '#http/edge.ts'
import { Problem } from '#http/problems.ts'
import { assertOpen } from '#ledger/ledgers.ts'
import { type FormBody, formText } from './forms/panel-form.ts'
import { createPageContext, type createRouteReach } from './page-context.ts'
import type { ResponseTarget } from './panel-answer.tsx'
import { attributesFor, nameFor, readCookie } from './panel-cookies.ts'
import type { PanelServices } from './panel-route.ts'

const deviceNameFor = (request: Request): string => `${nameFor(request)}-device`

/** Maximum cookie lifetime in browsers. */
const DEVICE_DAYS = 400

/** Session token of the browser's cookie; null without one. */
export const sessionCookie = (request: Request): string | null => readCookie(request, nameFor(request))

/** Device token of an earlier login in this browser; null before the first login. */
const deviceCookie = (request: Request): string | null => readCookie(request, deviceNameFor(request))

/** Origin of a login in a browser. */
export const toLoginOrigin = (request: Request) =>
  ({ address: request.ip ?? '', keeps: 'cookie', kept: deviceCookie(request) }) as const

export function setSessionCookie(request: Request, response: Response, token: string, expiresAt: string): void {
  response.cookie(nameFor(request), token, { ...attributesFor(request), expires: new Date(expiresAt) })
}

/** Survives a logout: the cookie grants no access, but marks a known device at the next login. */
export function setDeviceCookie(request: Request, response: Response, device: string | null): void {
  if (device === null) return
  response.cookie(deviceNameFor(request), device, { ...attributesFor(request), maxAge: DEVICE_DAYS * 86_400_000 })
}

export function clearSessionCookie(request: Request, response: Response): void {
  response.clearCookie(nameFor(request), attributesFor(request))
}

/** Session of a request; null without a login. */
export async function findPanelSession({ access }: PanelServices, request: Request): Promise<PanelSession | null> {
  const token = sessionCookie(request)
  return token === null ? null : access.sessions.find(token)
}

interface SessionRules {
  readonly reachOfRole: ReturnType<typeof createRouteReach>
  readonly toLogin: RequestHandler
  /** Limit that counts the request instead of the quota; null if the quota counts it. */
  apart(request: Request): MinuteLimit | null
}

/** Requires a live session and counts the request; redirects to the login otherwise. @throws Problem 429 */
export function requireSession(context: PanelServices, { reachOfRole, toLogin, apart }: SessionRules): RequestHandler {
  return async (request, response, next) => {
    const admitted = await admittedOf(context, request, apart(request))
    if (!admitted) return void (await toLogin(request, response, next))
    const { session, retryAfter } = admitted
    // Without the menu, which would cost as much as many pages.
    if (retryAfter !== null) throw rateLimitProblem({ retryAfter })
    response.locals.session = session
    // For error pages, which have the menu too.
    response.locals.place = {
      section: null,
      visit: createPageContext(context, session, reachOfRole(session.permissions), request),
    } satisfies ResponseTarget
    next()
  }
}

async function admittedOf(
  context: PanelServices,
  request: Request,
  apart: MinuteLimit | null,
): Promise<AdmittedSession | null> {
  if (!apart) return context.access.sessions.admit(sessionCookie(request) ?? '')
  const session = await findPanelSession(context, request)
  if (!session) return null
  const counted = await apart.consume(session.sessionHash.toString('base64'))
  return { session, retryAfter: counted.limited ? counted.retryAfter : null }
}

/** Checks the session again after the form was read: it may have ended meanwhile. */
export function requireSessionStill({ access, reads }: PanelServices, toLogin: RequestHandler): RequestHandler {
  return async (request, response, next) => {
    if (request.method !== 'POST') return next()
    if (!(await access.sessions.isLive(sessionCookie(request) ?? '')))
      return void (await toLogin(request, response, next))
    // Second factors are of no company: the ledger's lock does not keep them from changing (CELL-3).
    await assertOpen(reads.pool, (response.locals.session as PanelSession).companyId)
    next()
  }
}

/** @throws Problem if the form lacks the session's CSRF token */
export function requireCsrf(session: PanelSession, form: FormBody): void {
  if (!csrfMatches(session, formText(form, '_csrf'))) throw new Problem('cross_site_form')
}
