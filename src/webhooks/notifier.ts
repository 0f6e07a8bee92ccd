import type { Pool } from 'pg'
import { coalesce } from '#lib/repeat.ts'

/** Channel on which dispatchers listen. */
export const DELIVERIES_CHANNEL = 'webhook_deliveries'

/** Wakes the dispatchers of all processes. */
export interface DeliveryNotifier {
  notify(): void
  /** Calls those of this process at once, without the way through Postgres. Returns what ends that. */
  onNotify(listener: () => void): () => void
}

/**
 * Notifies after a commit rather than within it: transactions that notify commit one after the other in the whole database.
 * Notifications that come while one is under way become one more. What is lost here, a dispatcher's polling finds.
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
