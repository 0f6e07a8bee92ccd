import type { Response } from 'express'

/** Server-sent events are passed on as they come: no proxy may gather them. */
export const asEvents = (response: Response): Response =>
  response.setHeader('Content-Type', 'text/event-stream; charset=utf-8').setHeader('X-Accel-Buffering', 'no')

/** Whoever is behind in reading needs the last word only, which comes with the next one. */
export function sendUnlessBehind(response: Response, text: string): void {
  if (response.writableLength === 0 && !response.writableEnded) response.write(text)
}
