import type { Request, RequestHandler, Response } from 'express'
import type { PanelSession } from '#access/sessions.ts'
import { asEvents, sendUnlessBehind } from '#http/event-stream.ts'
import { createFairShareLimiter } from '#lib/fair-share-limiter.ts'
import type { PanelServices } from './route.ts'
import { sessionCookie } from './session.ts'

/** Time between checks of the session of an open page: it ends within 5 s of it (ROLE-725). */
const CHECK_MS = 4_000

/** Open pages of this process, and of a company. */
const PAGES = 5_000
const PAGES_OF_COMPANY = 100

/** Path of the event stream for pages, below the panel. */
export const LIVE_PATH = '/ao-vivo'

/**
 * Server-sent events: `mudou` when the ledger has moved beyond the revision that the page shows (`?desde=`). Pages then
 * reload themselves; the stream carries nothing but the revision.
 */
export function liveStream({ live, access: { sessions } }: PanelServices): RequestHandler {
  const places = createFairShareLimiter(PAGES, PAGES_OF_COMPANY)
  const everyCheck = createChecks()
  return (request, response) => {
    // HEAD ends at once.
    if (request.method === 'HEAD') return void asEvents(response).end()
    const { companyId } = response.locals.session as PanelSession
    const since = /^\d{1,15}$/.test(String(request.query.desde)) ? Number(request.query.desde) : 0
    const moved = (revision: number) => sendUnlessBehind(response, `event: mudou\ndata: ${revision}\n\n`)
    const stop = live.subscribe(companyId, since, { moved, ended: () => response.end() }, places)
    const leave = everyCheck(() => void goOn())
    response.on('close', () => {
      leave()
      stop()
    })
    start(response)

    /** Sends a comment while the session is live; proxies close connections that are silent for a minute. */
    async function goOn(): Promise<void> {
      const isStill = await stillIn(request)
      if (isStill) sendUnlessBehind(response, ':\n\n')
      else response.end()
    }
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

function start(response: Response): void {
  asEvents(response).flushHeaders()
  sendUnlessBehind(response, 'retry: 2000\n\n')
}
