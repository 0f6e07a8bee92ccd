import type { Request, Response } from 'express'
import { asEvents, sendUnlessBehind } from '#http/event-stream.ts'
import type { BuyersOrder } from '#queries/orders.ts'
import type { createOrderUpdates } from './live.ts'

/** Heartbeat interval: proxies close connections that are silent for a minute. */
const BEAT_MS = 20_000

export type Followers = ReturnType<typeof createOrderUpdates>

/**
 * Server-sent events: `mudou` when the order has changed after the revision that the page shows (`?desde=`). The page
 * then reloads; the stream carries nothing but the revision.
 */
export function streamTo(
  followers: Followers,
  { companyId, order }: BuyersOrder,
  request: Request,
  response: Response,
) {
  asEvents(response)
  // HEAD ends at once.
  if (request.method === 'HEAD') return void response.end()
  const since = /^\d{1,15}$/.test(String(request.query.desde)) ? Number(request.query.desde) : 0
  const stop = followers.follow(
    { companyId, orderId: order.id, since },
    {
      moved: (revision) => sendUnlessBehind(response, `event: mudou\ndata: ${revision}\n\n`),
      ended: () => response.end(),
    },
  )
  const beat = setInterval(() => sendUnlessBehind(response, ':\n\n'), BEAT_MS)
  response.on('close', () => {
    clearInterval(beat)
    stop()
  })
  response.flushHeaders()
  sendUnlessBehind(response, 'retry: 2000\n\n')
}
