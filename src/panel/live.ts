import type { Request, RequestHandler, Response } from 'express'
import type { PanelSession } from '#access/sessions.ts'
import { asEvents, sendUnlessBehind } from '#http/event-stream.ts'
import { WrongShardError } from '#lib/errors.ts'
import { createFairShareLimiter } from '#lib/fair-share-limiter.ts'
import type { Services } from '#services.ts'
import { sessionCookie } from './session.ts'

/** Proxies close connections that are silent for a minute. An ended session is detected at the next heartbeat. */
const BEAT_MS = 20_000

/** Open pages of this process, and of a company. */
const PAGES = 5_000
const PAGES_OF_COMPANY = 100

/** Path of the event stream for pages, below the panel. */
export const LIVE_PATH = '/ao-vivo'

/**
 * Server-sent events: `mudou` when the ledger has moved beyond the revision that the page shows (`?desde=`). Pages then
 * reload themselves; the stream carries nothing but the revision.
 */
export function liveStream({ live, panel: { sessions } }: Services): RequestHandler {
  const places = createFairShareLimiter(PAGES, PAGES_OF_COMPANY)
  return (request, response) => {
    // HEAD ends at once.
    if (request.method === 'HEAD') return void asEvents(response).end()
    const { companyId } = response.locals.session as PanelSession
    const since = /^\d{1,15}$/.test(String(request.query.desde)) ? Number(request.query.desde) : 0
    const moved = (revision: number) => sendUnlessBehind(response, `event: mudou\ndata: ${revision}\n\n`)
    const stop = live.subscribe(companyId, since, { moved, ended: () => response.end() }, places)
    const beat = setInterval(() => void goOn(), BEAT_MS)
    response.on('close', () => {
      clearInterval(beat)
      stop()
    })
    start(response)

    /** Sends a comment while the session is live. */
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
    } catch (error) {
      return !(error instanceof WrongShardError)
    }
  }
}

function start(response: Response): void {
  asEvents(response).flushHeaders()
  sendUnlessBehind(response, 'retry: 2000\n\n')
}
