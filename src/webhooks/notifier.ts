import type { Pool } from 'pg'
import { coalesce } from '#background/repeat.ts'

/** Channel on which dispatchers listen. */
export const DELIVERIES_CHANNEL = 'webhook_deliveries'

/** Wakes the dispatchers of all processes. */
export interface DeliveryNotifier {
  notify(): void
  /** Calls `listener` at once when this process notifies, without a round trip to Postgres. Returns what unsubscribes it. */
  onNotify(listener: () => void): () => void
}

/**
 * Notifies after a commit rather than within it: transactions that notify commit one after the other in the whole database.
 * Calls while one is under way become one more. What is lost here, a dispatcher's polling finds.
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
