import type { Request, RequestHandler, Response } from 'express'
import type { PanelSession } from '#access/sessions.ts'
import { asEvents, sendUnlessBehind } from '#http/event-stream.ts'
import { WrongShardError } from '#lib/moved.ts'
import type { PanelContext } from './route.ts'
import { sessionCookie } from './session.ts'

/** Proxies close what is silent for a minute; a session that has ended is noticed at the next beat. */
const BEAT_MS = 20_000

/** Path of the stream that pages listen to, below the panel. */
export const LIVE_PATH = '/ao-vivo'

/**
 * Server-sent events: `mudou` whenever the ledger has moved beyond what the page shows (`?desde=`, a revision). Pages then fetch
 * themselves anew; nothing but the revision is sent here.
 */
export function liveStream({ live, panel: { sessions } }: PanelContext): RequestHandler {
  return (request, response) => {
    // HEAD has nothing to wait for.
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

    /** Sends a comment, as long as the session lives. */
    async function goOn(): Promise<void> {
      const isStill = await stillIn(request)
      if (isStill) sendUnlessBehind(response, ':\n\n')
      else response.end()
    }
  }

  /** Where the database cannot be asked, nothing has changed. */
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
