import type { Pool } from 'pg'
import { coalesce } from '#lib/repeat.ts'

/** Channel on which dispatchers listen. */
export const DELIVERIES_CHANNEL = 'webhook_deliveries'

/** Wakes the dispatchers of all processes. */
export interface Bell {
  ring(): void
  /** Calls those of this process at once, without the way through Postgres. Returns what ends that. */
  onRing(listener: () => void): () => void
}

/**
 * Rings after a commit rather than within it: transactions that notify commit one after the other in the whole database.
 * Rings that come while one is under way become one more. What is lost here, a dispatcher's polling finds.
 */
export function createBell(pool: Pool, onError: (error: unknown) => void): Bell {
  const listeners = new Set<() => void>()
  const ringing = coalesce(() =>
    pool.query({ name: 'ring_deliveries', text: `select pg_notify('${DELIVERIES_CHANNEL}', '')` }).catch(onError),
  )

  return {
    onRing(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    ring() {
      for (const listener of listeners) listener()
      ringing.ask()
    },
  }
}
