import { setTimeout as pause } from 'node:timers/promises'
import { repeat } from '#background/repeat.ts'
import { LONGEST_LEASE_MS, takeDue } from './claims.ts'
import { createSending, type SendingOptions } from './sending.ts'

/** Sends what is due, for as long as it runs. */
export interface Dispatcher {
  /** Something may be due. */
  wake(): void
  /** Takes nothing more, waits for the attempts under way and records them. */
  stop(): Promise<void>
}

/** The pool with two connections at least: one to take deliveries, one to record results. */
export interface DispatcherOptions extends SendingOptions {
  /** Longest time from sending a delivery until its result is there; others take it over somewhat later. */
  readonly attempt_ms: number
  /** Looks for work this often even when nobody wakes it. */
  readonly poll_ms: number
}

/** Room in a lease for a process that is busy, and for recording. */
const LEASE_MARGIN_MS = 9_000

/**
 * While more is due than may be under way, deliveries are taken this often at most: each statement costs Postgres as much as
 * taking ten deliveries.
 */
const GATHER_MS = 5

/**
 * Takes due deliveries whenever it is woken, whenever there is room again for what was left, when the next one falls due and every
 * `poll_ms`.
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { poll_ms, log } = options
  const lease_ms = Math.min(options.attempt_ms + LEASE_MARGIN_MS, LONGEST_LEASE_MS)
  let wait_ms = poll_ms
  let takenAt = Number.NEGATIVE_INFINITY
  /** Whether something was left for lack of room, and whether there is room that the last look has not seen. */
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
    // Full: results and their recording make room, and wake.
    if (room.sound + room.strained === 0 || sending.isFull()) return
    takenAt = performance.now()
    const { claims, has_more, next_due_ms } = await takeDue(options, room, lease_ms)
    for (const claim of claims) sending.start(claim)
    hasMore = has_more
    if (hasRoom) makeRoom()
    wait_ms = Math.min(poll_ms, Math.max(1, Math.ceil(next_due_ms ?? poll_ms)))
  }

  const taking = repeat(
    take,
    () => wait_ms,
    (error) => log('deliveries could not be taken', error),
  )
  return {
    wake: taking.now,
    async stop() {
      await taking.stop()
      await sending.stop()
    },
  }
}
