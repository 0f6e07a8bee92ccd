import { z } from 'zod'
import { NOTIFICATION_OUTCOMES } from '#domain/orders.ts'
import type { NotificationObject } from '#queries/orders.ts'
import { RecordId, Timestamp } from '../formats.ts'

const example = {
  id: 311,
  received_at: '2026-11-21T08:21:40.480-03:00',
  payload: {
    id: 12345,
    live_mode: true,
    type: 'payment',
    date_created: '2026-11-21T07:21:39.000-04:00',
    user_id: '44444',
    api_version: 'v1',
    action: 'payment.updated',
    data: { id: '1325908722' },
  },
  response: { processed: true, order_id: 57, status: 'paid', message: 'Notificação processada.' },
  http_status: 200,
  duration_ms: 184,
  outcome: 'applied',
}

/** A notification of the payment provider, as it was kept. */
export const Notification = z
  .strictObject({
    id: RecordId,
    received_at: Timestamp,
    payload: z.unknown(),
    response: z.record(z.string(), z.unknown()).nullable(),
    http_status: z.int().min(100).max(599).nullable(),
    duration_ms: z.int().min(0).nullable(),
    outcome: z.enum(NOTIFICATION_OUTCOMES).nullable(),
  })
  .meta({ id: 'Notification', examples: [example] }) satisfies z.ZodType<NotificationObject>
