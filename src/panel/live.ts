import type { Request, RequestHandler, Response } from 'express'
import type { PanelSession } from '#access/sessions.ts'
import type { PanelContext } from './route.ts'
import { sessionCookie } from './session.ts'

/** Proxies close what is silent for a minute; and a session that has ended is noticed by then. */
const BEAT_MS = 20_000

/** Where pages listen for what happens in their company, below the panel. */
export const LIVE_PATH = '/ao-vivo'

/**
 * Server-sent events: `mudou` whenever the ledger has moved beyond what the page shows (`?desde=`, a revision). Pages then fetch
 * themselves anew; nothing but the revision is told here.
 */
export function live({ news, panel: { sessions } }: PanelContext): RequestHandler {
  return (request, response) => {
    // Asked for the headers alone, there is nothing to wait for.
    if (request.method === 'HEAD') return void startStream(response).end()
    const { companyId } = response.locals.session as PanelSession
    const since = /^\d{1,15}$/.test(String(request.query.desde)) ? Number(request.query.desde) : 0
    const stop = news.follow(companyId, since, {
      told: (revision) => tell(response, `event: mudou\ndata: ${revision}\n\n`),
      ended: () => response.end(),
    })
    const beat = setInterval(() => void goOn(), BEAT_MS)
    response.on('close', () => {
      clearInterval(beat)
      stop()
    })
    open(response)

    /** A comment, which also finds out whether anybody is still there. */
    async function goOn(): Promise<void> {
      const isStill = await stillIn(request)
      if (isStill) tell(response, ':\n\n')
      else response.end()
    }
  }

  /** Whoever was logged out hears no more; where nobody can be asked, nothing has changed. */
  async function stillIn(request: Request): Promise<boolean> {
    try {
      return await sessions.isLive(sessionCookie(request) ?? '')
    } catch {
      return true
    }
  }
}

function startStream(response: Response): Response {
  return response.setHeader('Content-Type', 'text/event-stream; charset=utf-8').setHeader('X-Accel-Buffering', 'no')
}

function open(response: Response): void {
  startStream(response).flushHeaders()
  tell(response, 'retry: 2000\n\n')
}

/** A page that does not take what it is told needs no more than the last of it, which the next event will be. */
function tell(response: Response, text: string): void {
  if (response.writableLength === 0 && !response.writableEnded) response.write(text)
}
