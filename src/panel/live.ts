import type { Request, RequestHandler, Response } from 'express'
import type { PanelSession } from '#access/sessions.ts'
import { asEvents, sendUnlessBehind } from '#http/event-stream.ts'
import { WrongShardError } from '#lib/errors.ts'
import type { PanelContext } from './route.ts'
import { sessionCookie } from './session.ts'

/** Proxies close connections that are silent for a minute. An ended session is detected at the next heartbeat. */
const BEAT_MS = 20_000

/** Path of the event stream for pages, below the panel. */
export const LIVE_PATH = '/ao-vivo'

/**
 * Server-sent events: `mudou` when the ledger has moved beyond the revision that the page shows (`?desde=`). Pages then
 * reload themselves; the stream carries nothing but the revision.
 */
export function liveStream({ live, panel: { sessions } }: PanelContext): RequestHandler {
  return (request, response) => {
    // HEAD ends at once.
    if (request.method === 'HEAD') return void asEvents(response).end()
    const { companyId } = response.locals.session as PanelSession
    const since = /^\d{1,15}$/.test(String(request.query.desde)) ? Number(request.query.desde) : 0
    const stop = live.subscribe(companyId, since, {
      moved: (revision) => sendUnlessBehind(response, `event: mudou\ndata: ${revision}\n\n`),
      ended: () => response.end(),
    })
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
