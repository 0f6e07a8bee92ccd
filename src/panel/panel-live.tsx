import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Request, RequestHandler, Response } from 'express'
import type { ComponentChildren } from 'preact'
import type { PanelSession } from '#access/sessions.ts'
import { streamChanges } from '#http/live-updates.ts'
import { repeat } from '#lib/background-loops.ts'
import { createFairShareLimiter } from '#lib/fair-sharing.ts'
import { link } from './page-context.ts'
import { asset } from './panel-assets.ts'
import { sessionCookie } from './panel-login.tsx'
import type { PageContext, PanelServices } from './panel-route.ts'

/** Time between the page with the button and the provider's answer: the owner logs in there. */
const LIFETIME_MS = 3_600_000

/** A store that its owner connects to an account at the provider. */
export interface ConnectionState {
  readonly storeId: number
  /** Secret of the code; the provider knows only its hash until the code is exchanged. */
  readonly verifier: string
}

const keyed = (secret: string, label: string, text: string): Buffer =>
  createHmac('sha256', secret).update(`${label}\n${text}`).digest()

const verifierOf = (secret: string, text: string): string =>
  keyed(secret, 'connection verifier', text).toString('base64url')

/** SHA-256 of a verifier, which the provider is told with the request (RFC 7636). */
const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url')

/**
 * State of an OAuth request: store, end, a random value, and a MAC by a secret of the session. Another session's state,
 * and one that another site made up, is refused; nothing is stored until the provider answers.
 */
export function makeConnectionState(secret: string, storeId: number, now: number, nonce: string) {
  const text = `${storeId}.${now + LIFETIME_MS}.${nonce}`
  const state = `${text}.${keyed(secret, 'connection state', text).toString('base64url')}`
  return { state, challenge: challengeOf(verifierOf(secret, text)) }
}

const STATE = /^((\d{1,15})\.(\d{1,15})\.[\w-]{1,64})\.([\w-]{43})$/

/** Null for a state that this session did not make, or that is over. */
export function readConnectionState(secret: string, given: string, now: number): ConnectionState | null {
  const [, text = '', storeId, end, mac = ''] = STATE.exec(given) ?? []
  if (text === '') return null
  const expected = keyed(secret, 'connection state', text)
  const sent = Buffer.from(mac, 'base64url')
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected) || Number(end) < now) return null
  return { storeId: Number(storeId), verifier: verifierOf(secret, text) }
}

/** Time between checks: what is under way ends within 1.5 s of the right to it. */
const RIGHTS_CHECK_MS = 1_000

const rightsOf = ({ permissions, seesPersonalData }: PanelSession): string =>
  JSON.stringify([permissions, seesPersonalData])

/** Whether the session is live and has the rights with which it began. While the database is away, it counts as live. */
async function hasSameRights({ context, session }: PageContext, request: Request): Promise<boolean> {
  try {
    const now = await context.access.sessions.find(sessionCookie(request) ?? '')
    return now !== null && rightsOf(now) === rightsOf(session)
  } catch {
    return true
  }
}

/** The browser asks again, with the rights that the user has now. */
const askAgain = (request: Request, response: Response): void => response.redirect(303, request.originalUrl)

/** Sends a download while the user may have it: its signal aborts with the right. It may have waited for its turn. */
export async function whileAllowed(
  visit: PageContext,
  request: Request,
  response: Response,
  send: (ended: AbortSignal) => Promise<void>,
): Promise<void> {
  if (!(await hasSameRights(visit, request))) return askAgain(request, response)
  const ended = new AbortController()
  const check = async () => {
    if (!(await hasSameRights(visit, request))) ended.abort()
  }
  const checks = repeat(check, RIGHTS_CHECK_MS, () => {})
  try {
    await send(ended.signal)
  } finally {
    await checks.stop()
  }
}

/** Answers with a page whose work took long only if the user may still see it. `began`: from `performance.now()`. */
export async function ifStillAllowed(
  visit: PageContext,
  began: number,
  request: Request,
  response: Response,
  answer: () => void,
): Promise<void> {
  const isOld = performance.now() - began >= RIGHTS_CHECK_MS
  if (isOld && !(await hasSameRights(visit, request))) askAgain(request, response)
  else answer()
}

/** Time between checks of the session of an open page: it ends within 5 s of it. */
const CHECK_MS = 4_000

/** Open pages of this process, and of a company. */
const PAGES = 5_000
const PAGES_OF_COMPANY = 100

/** Path of the event stream for pages, below the panel. */
export const LIVE_PATH = '/ao-vivo'

/** Tells open pages that the ledger has moved, while their session is live. */
export function liveStream({ live, access: { sessions } }: PanelServices): RequestHandler {
  const places = createFairShareLimiter(PAGES, PAGES_OF_COMPANY)
  const everyCheck = createChecks()
  return (request, response) => {
    const { companyId } = response.locals.session as PanelSession
    const goOn = async (beat: () => void) => ((await stillIn(request)) ? beat() : response.end())
    streamChanges(request, response, {
      follow: (since, follower) => live.subscribe(companyId, since, follower, places),
      every: (beat) => everyCheck(() => void goOn(beat)),
    })
  }

  /** If the database is unreachable, the session counts as live. */
  async function stillIn(request: Request): Promise<boolean> {
    try {
      return await sessions.isLive(sessionCookie(request) ?? '')
    } catch {
      return true
    }
  }
}

/** One timer for all pages, so that their sessions are looked up together. */
function createChecks(): (check: () => void) => () => void {
  const checks = new Set<() => void>()
  let timer: NodeJS.Timeout | undefined
  return (check) => {
    checks.add(check)
    timer ??= setInterval(() => {
      for (const one of checks) one()
    }, CHECK_MS)
    return () => {
      checks.delete(check)
      if (checks.size > 0) return
      clearInterval(timer)
      timer = undefined
    }
  }
}

interface LiveProps {
  readonly visit: PageContext
  /** The revision that the page shows. */
  readonly since: number
  readonly children: ComponentChildren
}

/**
 * Enables live updates, if scripts run: the body receives `mudou` when the ledger moves beyond `since`; parts reload
 * themselves with `hx-trigger="mudou from:body throttle:1s"`. Once per page.
 */
export const Live = ({ visit, since, children }: LiveProps) => (
  <div
    data-live={link(LIVE_PATH)}
    data-since={since}
    data-company={visit.readModel.companyId}
    data-worker={asset('live-worker.js')}
  >
    {children}
  </div>
)
