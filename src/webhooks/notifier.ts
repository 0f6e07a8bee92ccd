import type { Pool } from 'pg'
import { coalesce } from '#lib/repeat.ts'

/** Postgres channel of the dispatchers. */
export const DELIVERIES_CHANNEL = 'webhook_deliveries'

/** Wakes the dispatchers of all processes. */
export interface DeliveryNotifier {
  notify(): void
  /**
   * Calls `listener` at once when this process notifies, without a round trip to Postgres. Returns the unsubscribe
   * function.
   */
  onNotify(listener: () => void): () => void
}

/**
 * Notifies after the commit: transactions that notify commit one after another in the whole database. Calls during a
 * notification are merged into one more. Polling covers a lost notification.
 */
export function createDeliveryNotifier(pool: Pool, onError: (error: unknown) => void): DeliveryNotifier {
  const listeners = new Set<() => void>()
  const sending = coalesce(() =>
    pool.query({ name: 'notify_deliveries', text: `select pg_notify('${DELIVERIES_CHANNEL}', '')` }).catch(onError),
  )

  return {
    onNotify(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    notify() {
      for (const listener of listeners) listener()
      sending.ask()
    },
  }
}
