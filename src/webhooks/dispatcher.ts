import type { Pool } from 'pg'
import { repeat } from '#lib/repeat.ts'
import { type Claim, takeDue } from './claims.ts'
import { createRecorder } from './recorder.ts'
import { type Result, recordResults, resultOf } from './results.ts'
import type { Sender } from './sender.ts'
import { type Flight, Slots } from './slots.ts'

/** Sends what is due, for as long as it runs. */
export interface Dispatcher {
  /** Something may be due. */
  wake(): void
  /** Takes nothing more, waits for the attempts under way and records them. */
  stop(): Promise<void>
}

export interface DispatcherOptions {
  /** With two connections at least: one to take deliveries, one to record results. */
  readonly pool: Pool
  readonly sender: Sender
  /** Longest time from taking a delivery until its result is there; others take it over somewhat later. */
  readonly attempt_ms: number
  /** Looks for work this often even when nobody wakes it. */
  readonly poll_ms: number
  readonly retrySeconds: readonly number[]
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /** 0 up to but excluding 1. */
  readonly random: () => number
  /** An address answered that it is gone for good. */
  readonly onGone: (claim: Claim) => void
  /** Hears of attempts as they are recorded. */
  readonly onRecorded?: ((results: readonly Result[]) => void) | undefined
  readonly log: (message: string, error: unknown) => void
}

/** Room in a lease for a process that is busy, and for recording. */
const LEASE_MARGIN_MS = 9_000

/** While so many results cannot be recorded, nothing more is sent. */
const UNRECORDED = 512

interface Landed {
  readonly flight: Flight
  readonly result: Result
}

const resultsOf = (landed: readonly Landed[]): Result[] => landed.map(({ result }) => result)

/**
 * Takes due deliveries whenever it is woken, whenever there is room again, when the next one falls due and every `poll_ms`.
 * What is under way is bounded by the slots; so is what waits to be recorded.
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { pool, sender, poll_ms, clock, log } = options
  const slots = new Slots()
  const underWay = new Set<Promise<void>>()
  let unrecorded = 0
  let wait_ms = poll_ms

  const recorder = createRecorder<Landed>({
    record: (landed) => recordResults(pool, resultsOf(landed)),
    onRecorded(landed) {
      for (const { flight } of landed) slots.release(flight)
      options.onRecorded?.(resultsOf(landed))
      unrecorded -= landed.length
      taking.now()
    },
    onError: (error) => log('results of deliveries could not be recorded', error),
  })

  async function fly(claim: Claim, flight: Flight): Promise<void> {
    const attempt = await sender.send(claim)
    const result = resultOf(claim, attempt, options.retrySeconds, options.random())
    if (attempt.error === 'gone' && claim.sequence !== null) options.onGone(claim)
    unrecorded += 1
    // What a failure means for the address has to be known before it gets another delivery.
    if (result.status === 'delivered') slots.release(flight)
    recorder.add({ flight, result })
    taking.now()
  }

  function start(claim: Claim): void {
    const flight = { webhookId: claim.webhook_id, failing: claim.failing, startedAt: clock() }
    slots.take(flight)
    const flying = fly(claim, flight)
    underWay.add(flying)
    void flying.then(() => underWay.delete(flying))
  }

  async function take(): Promise<void> {
    wait_ms = poll_ms
    const room = slots.room(clock())
    // Full: results and their recording make room, and wake.
    if (room.sound + room.strained === 0 || unrecorded >= UNRECORDED) return
    const { claims, next_due_ms } = await takeDue(pool, room, options.attempt_ms + LEASE_MARGIN_MS)
    for (const claim of claims) start(claim)
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
      await Promise.all(underWay)
      await recorder.drain()
    },
  }
}
