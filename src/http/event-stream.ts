import type { Response } from 'express'

/** Prepares an answer for server-sent events and keeps proxies from buffering them. */
export const asEvents = (response: Response): Response =>
  response.setHeader('Content-Type', 'text/event-stream; charset=utf-8').setHeader('X-Accel-Buffering', 'no')

/** Skips the message for a slow reader: only the latest state matters, and the next message contains it. */
export function sendUnlessBehind(response: Response, text: string): void {
  if (response.writableLength === 0 && !response.writableEnded) response.write(text)
}
