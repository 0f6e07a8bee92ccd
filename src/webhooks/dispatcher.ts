import { setTimeout as pause } from 'node:timers/promises'
import { repeat } from '#background/repeat.ts'
import { LONGEST_LEASE_MS, leaseDue } from './delivery-leases.ts'
import { createSending, type SendingOptions } from './sending.ts'

/** Sends due deliveries while it runs. */
export interface Dispatcher {
  /** Signals that deliveries may be due. */
  wake(): void
  /** Stops leasing, waits for attempts under way and records their results. */
  stop(): Promise<void>
}

/** The pool needs at least two connections: one to lease, one to record. */
export interface DispatcherOptions extends SendingOptions {
  /** Longest time from sending to a result; another process takes over soon after. */
  readonly attempt_ms: number
  /** Polls this often even without a signal. */
  readonly poll_ms: number
}

/** Margin in a lease for a busy process and for recording. */
const LEASE_MARGIN_MS = 9_000

/** Minimum interval between leases under load: a statement costs Postgres as much as ten deliveries. */
const GATHER_MS = 5

/** Leases due deliveries when woken, when slots become free, when the next delivery is due, and every `poll_ms`. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { poll_ms, log } = options
  const lease_ms = Math.min(options.attempt_ms + LEASE_MARGIN_MS, LONGEST_LEASE_MS)
  let wait_ms = poll_ms
  let takenAt = Number.NEGATIVE_INFINITY
  /** Whether deliveries were left for lack of slots, and whether slots have become free since. */
  let hasMore = true
  let hasRoom = true

  function makeRoom(): void {
    hasRoom = true
    if (hasMore) taking.now()
  }
  const sending = createSending(options, makeRoom)

  async function take(): Promise<void> {
    wait_ms = poll_ms
    const early_ms = takenAt + GATHER_MS - performance.now()
    if (hasMore && early_ms > 0) await pause(early_ms)
    const room = sending.room()
    hasRoom = false
    hasMore = true
    // No free slot: results and their recording free slots and wake the loop.
    if (room.sound + room.strained === 0 || sending.isFull()) return
    takenAt = performance.now()
    const { claims, has_more, next_due_ms } = await leaseDue(options, room, lease_ms)
    for (const claim of claims) sending.start(claim)
    hasMore = has_more
    if (hasRoom) makeRoom()
    wait_ms = Math.min(poll_ms, Math.max(1, Math.ceil(next_due_ms ?? poll_ms)))
  }

  const taking = repeat(
    take,
    () => wait_ms,
    (error) => log('webhooks: due deliveries were not leased', error),
  )
  return {
    wake: taking.now,
    async stop() {
      await taking.stop()
      await sending.stop()
    },
  }
}
