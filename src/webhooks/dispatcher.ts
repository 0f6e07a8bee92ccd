import { setTimeout as pause } from 'node:timers/promises'
import { mayBeTold, type WebhookEvent } from '#events/webhooks.ts'
import { repeat } from '#lib/repeat.ts'
import { type Claim, endpointOf, giveBack, LONGEST_LEASE_MS, type Taking, takeDue } from './claims.ts'
import { type InFlight, InFlightLimiter } from './in-flight.ts'
import { Lanes, type Outcome } from './lanes.ts'
import { createRecorder, type Result, recordResults, resultOf } from './results.ts'
import type { Attempt, Sender } from './sender.ts'

/** Sends what is due, for as long as it runs. */
export interface Dispatcher {
  /** Something may be due. */
  wake(): void
  /** Takes nothing more, waits for the attempts under way and records them. */
  stop(): Promise<void>
}

/** The pool with two connections at least: one to take deliveries, one to record results. */
export interface DispatcherOptions extends Taking {
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
  /** An endpoint answered that it is gone for good. */
  readonly onGone: (claim: Claim) => void
  /** Hears of attempts as they are recorded. */
  readonly onRecorded?: ((results: readonly Result[]) => void) | undefined
}

/** Room in a lease for a process that is busy, and for recording. */
const LEASE_MARGIN_MS = 9_000

/**
 * While more is due than may be under way, deliveries are taken this often at most: each statement costs Postgres as much as
 * taking ten deliveries.
 */
const GATHER_MS = 5

/** While so many results cannot be recorded, nothing more is sent. */
const UNRECORDED = 512

/** What has waited since other keys had it, or from before scopes counted, is not for whoever has the endpoint now (HOOK-55). */
const isAllowed = ({ event, sequence, scopes }: Claim): boolean =>
  sequence === null || mayBeTold(scopes, event as WebhookEvent)

const withheld = (now: number): Attempt => ({
  at: new Date(now).toISOString(),
  status: null,
  duration_ms: 0,
  error: 'insufficient_scope',
  response: null,
})

/** What was taken ahead and has not been sent for so long is left to others: there has to be time for it within its lease. */
const LONGEST_WAIT_MS = 4_000

interface Taken {
  readonly claim: Claim
  readonly inFlight: InFlight
  readonly takenAt: number
}

interface Finished {
  readonly inFlight: InFlight
  readonly result: Result
}

const resultsOf = (finished: readonly Finished[]): Result[] => finished.map(({ result }) => result)

/**
 * Takes due deliveries whenever it is woken, whenever there is room again for what was left, when the next one falls due and every
 * `poll_ms`.
 * What is under way is bounded by the limiter; so is what waits to be recorded.
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { pool, sender, poll_ms, clock, log } = options
  const lease_ms = Math.min(options.attempt_ms + LEASE_MARGIN_MS, LONGEST_LEASE_MS)
  const limiter = new InFlightLimiter()
  const lanes = new Lanes()
  const underWay = new Set<Promise<void>>()
  let unrecorded = 0
  let wait_ms = poll_ms
  let takenAt = Number.NEGATIVE_INFINITY
  /** Whether something was left for lack of room, and whether there is room that the last look has not seen. */
  let hasMore = true
  let hasRoom = true

  function makeRoom(): void {
    hasRoom = true
    if (hasMore) taking.now()
  }

  const recorder = createRecorder<Finished>({
    record: (finished) => recordResults(pool, resultsOf(finished)),
    onRecorded(finished) {
      for (const { inFlight } of finished) limiter.release(inFlight)
      options.onRecorded?.(resultsOf(finished))
      unrecorded -= finished.length
      makeRoom()
    },
    onError: (error) => log('results of deliveries could not be recorded', error),
  })

  const returned = createRecorder<Taken>({
    record: (taken) =>
      giveBack(
        pool,
        taken.map(({ claim }) => claim),
      ),
    onRecorded(taken) {
      for (const { inFlight } of taken) limiter.release(inFlight)
      makeRoom()
    },
    onError: (error) => log('deliveries could not be given back', error),
  })

  async function attempt(taken: Taken, isGivenUp: boolean): Promise<Outcome> {
    const { claim, inFlight, takenAt } = taken
    if (isGivenUp || clock() - takenAt > LONGEST_WAIT_MS) {
      returned.add(taken)
      return null
    }
    inFlight.startedAt = clock()
    const outcome = isAllowed(claim) ? await sender.send(claim) : withheld(clock())
    const result = resultOf(claim, outcome, options.retrySeconds, options.random())
    if (outcome.error === 'gone' && claim.sequence !== null) options.onGone(claim)
    unrecorded += 1
    // What a failure means for the endpoint has to be known before it gets another delivery.
    if (outcome.error === null || outcome.error === 'insufficient_scope') limiter.release(inFlight)
    recorder.add({ inFlight, result })
    makeRoom()
    return outcome.error === 'insufficient_scope' ? null : outcome.error === null
  }

  function start(claim: Claim): void {
    const inFlight: InFlight = { endpoint: endpointOf(claim), failing: claim.failing, startedAt: null }
    limiter.take(inFlight)
    const taken = { claim, inFlight, takenAt: clock() }
    const attempting = lanes.enter(inFlight.endpoint, (isGivenUp) => attempt(taken, isGivenUp))
    underWay.add(attempting)
    void attempting.then(() => underWay.delete(attempting))
  }

  async function take(): Promise<void> {
    wait_ms = poll_ms
    const early_ms = takenAt + GATHER_MS - performance.now()
    if (hasMore && early_ms > 0) await pause(early_ms)
    const room = limiter.room(clock())
    // They may not hold what others could have.
    lanes.giveUp(Object.keys(room.busy).filter((endpoint) => room.busy[endpoint]?.slow))
    hasRoom = false
    hasMore = true
    // Full: results and their recording make room, and wake.
    if (room.sound + room.strained === 0 || unrecorded >= UNRECORDED) return
    takenAt = performance.now()
    const { claims, has_more, next_due_ms } = await takeDue(options, room, lease_ms)
    for (const claim of claims) start(claim)
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
      lanes.giveUp()
      await Promise.all(underWay)
      await Promise.all([recorder.drain(), returned.drain()])
    },
  }
}
