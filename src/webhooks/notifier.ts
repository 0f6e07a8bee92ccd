import type { Pool } from 'pg'
import { coalesce } from '#background/repeat.ts'

/** Postgres channel of the dispatchers. */
export const DELIVERIES_CHANNEL = 'webhook_deliveries'

/** Wakes the dispatchers of all processes. */
export interface DeliveryNotifier {
  /** Payload of this process's notifications: its own dispatcher was woken before. */
  readonly sender: string
  notify(): void
  /**
   * Calls `listener` at once when this process notifies, without a round trip to Postgres. Returns the unsubscribe
   * function.
   */
  onNotify(listener: () => void): () => void
  /** Resolves when everything is sent. */
  close(): Promise<void>
}

/** A process that delivers itself notifies the others, which help under load, at most twenty times a second. */
const REST_MS = 50

/**
 * Notifies after the commit: transactions that notify commit one after another in the whole database. Calls during a
 * notification are merged into one more. Polling covers a lost notification.
 */
export function createDeliveryNotifier(
  pool: Pool,
  sender: string,
  onError: (error: unknown) => void,
): DeliveryNotifier {
  const listeners = new Set<() => void>()
  const closing = new AbortController()
  const send = () => pool.query({ ...NOTIFY, values: [sender] }).catch(onError)
  const atOnce = coalesce(send)
  const inGroups = coalesce(send, { rest_ms: REST_MS, signal: closing.signal })

  return {
    sender,
    onNotify(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    notify() {
      for (const listener of listeners) listener()
      const sending = listeners.size > 0 ? inGroups : atOnce
      sending.ask()
    },
    async close() {
      closing.abort()
      await Promise.all([atOnce.idle(), inGroups.idle()])
    },
  }
}

/** Nothing here must survive a crash: the commit does not wait for the disk. */
const NOTIFY = {
  name: 'notify_deliveries',
  text: `select set_config('synchronous_commit', 'off', true), pg_notify('${DELIVERIES_CHANNEL}', $1)`,
}
