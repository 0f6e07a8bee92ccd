import { mayBeTold, type WebhookEvent } from '#events/webhooks.ts'
import { type Claim, endpointOf, giveBack, type Taking } from './claims.ts'
import { type InFlight, InFlightLimiter, type Room } from './in-flight.ts'
import { Lanes, type Outcome } from './lanes.ts'
import { createRecorder, type Result, recordResults, resultOf } from './results.ts'
import type { Attempt, Sender } from './sender.ts'

export interface SendingOptions extends Taking {
  readonly sender: Sender
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

const claimsOf = (taken: readonly Taken[]): Claim[] => taken.map(({ claim }) => claim)
const resultsOf = (finished: readonly Finished[]): Result[] => finished.map(({ result }) => result)

/** Deliveries that were taken: they are sent in the lanes of their endpoints, and what comes of them is recorded. */
export interface Sending {
  /** What may be taken now; what slow endpoints hold that has not been sent is given back. */
  room(): Room
  /** So many results wait that nothing more may be sent. */
  isFull(): boolean
  start(claim: Claim): void
  /** Gives back what has not been sent, waits for the attempts under way and records them. */
  stop(): Promise<void>
}

/** `onRoom` hears that more may be taken. What is under way is bounded by the limiter; so is what waits to be recorded. */
export function createSending(options: SendingOptions, onRoom: () => void): Sending {
  const { pool, sender, clock, log } = options
  const limiter = new InFlightLimiter()
  const lanes = new Lanes()
  const underWay = new Set<Promise<void>>()
  let unrecorded = 0

  const recorder = createRecorder<Finished>({
    record: (finished) => recordResults(pool, resultsOf(finished)),
    onRecorded(finished) {
      for (const { inFlight } of finished) limiter.release(inFlight)
      options.onRecorded?.(resultsOf(finished))
      unrecorded -= finished.length
      onRoom()
    },
    onError: (error) => log('results of deliveries could not be recorded', error),
  })

  const returned = createRecorder<Taken>({
    record: (taken) => giveBack(pool, claimsOf(taken)),
    onRecorded(taken) {
      for (const { inFlight } of taken) limiter.release(inFlight)
      onRoom()
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
    onRoom()
    return outcome.error === 'insufficient_scope' ? null : outcome.error === null
  }

  return {
    room() {
      const room = limiter.room(clock())
      // They may not hold what others could have.
      lanes.giveUp(Object.keys(room.busy).filter((endpoint) => room.busy[endpoint]?.slow))
      return room
    },
    isFull: () => unrecorded >= UNRECORDED,
    start(claim) {
      const inFlight: InFlight = { endpoint: endpointOf(claim), failing: claim.failing, startedAt: null }
      limiter.take(inFlight)
      const taken = { claim, inFlight, takenAt: clock() }
      const attempting = lanes.enter(inFlight.endpoint, (isGivenUp) => attempt(taken, isGivenUp))
      underWay.add(attempting)
      void attempting.then(() => underWay.delete(attempting))
    },
    async stop() {
      lanes.giveUp()
      await Promise.all(underWay)
      await Promise.all([recorder.drain(), returned.drain()])
    },
  }
}
