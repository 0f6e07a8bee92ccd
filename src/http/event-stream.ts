import type { Request, Response } from 'express'

/** Prepares an answer for server-sent events and keeps proxies from buffering them. */
const asEvents = (response: Response): Response =>
  response.setHeader('Content-Type', 'text/event-stream; charset=utf-8').setHeader('X-Accel-Buffering', 'no')

/** Begins server-sent events; a client that loses them reconnects after `retry_ms`. */
export function openEventStream(response: Response, retry_ms: number): void {
  asEvents(response).flushHeaders()
  sendUnlessBehind(response, `retry: ${retry_ms}\n\n`)
}

/** Skips the message for a slow reader: only the latest state matters, and the next message contains it. */
function sendUnlessBehind(response: Response, text: string): void {
  if (response.writableLength === 0 && !response.writableEnded) response.write(text)
}

/** An open page. The callbacks must not throw. */
export interface PageFollower {
  /** What the page shows has changed, as of this revision. */
  moved(revision: number): void
  /** No further updates follow. */
  ended(): void
}

interface Changes {
  /** Reports changes after a revision; returns what ends it. */
  follow(since: number, follower: PageFollower): () => void
  /** Calls `beat` again and again: proxies close connections that are silent for a minute. Returns what ends it. */
  every(beat: () => void): () => void
}

const PAGE_RETRY_MS = 2_000

/**
 * Server-sent events: `mudou` when what the page shows has moved beyond its revision (`?desde=`). The page then reloads
 * itself; the stream carries nothing but the revision.
 */
export function streamChanges(request: Request, response: Response, { follow, every }: Changes): void {
  // HEAD ends at once.
  if (request.method === 'HEAD') return void asEvents(response).end()
  const since = /^\d{1,15}$/.test(String(request.query.desde)) ? Number(request.query.desde) : 0
  const stop = follow(since, {
    moved: (revision) => sendUnlessBehind(response, `event: mudou\ndata: ${revision}\n\n`),
    ended: () => response.end(),
  })
  const leave = every(() => sendUnlessBehind(response, ':\n\n'))
  response.on('close', () => {
    leave()
    stop()
  })
  openEventStream(response, PAGE_RETRY_MS)
}
