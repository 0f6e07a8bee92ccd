import { isDeliverable, type WebhookEvent } from '#events/webhooks.ts'
import { endpointOf, type LeasedDelivery, type LeaseOptions, releaseLeases } from './delivery-leases.ts'
import { createRecorder, type DeliveryResult, deliveryResultOf, recordResults } from './delivery-results.ts'
import {
  type AttemptOutcome,
  EndpointLanes,
  type FreeSlots,
  type InFlightDelivery,
  InFlightLimiter,
} from './endpoint-concurrency.ts'
import type { AttemptResult, Sender } from './sender.ts'

export interface SendingOptions extends LeaseOptions {
  readonly sender: Sender
  readonly retrySeconds: readonly number[]
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /** In [0, 1). */
  readonly random: () => number
  /** An endpoint answered 410. */
  readonly onGone: (claim: LeasedDelivery) => void
  /** Called with recorded attempts. */
  readonly onRecorded?: ((results: readonly DeliveryResult[]) => void) | undefined
}

/** Bound of unrecorded results: beyond it nothing is sent. */
const UNRECORDED = 512

/** Deliveries queued under another owner, or before scopes applied, are not sent to the present owner (HOOK-55). */
const isAllowed = ({ event, sequence, scopes }: LeasedDelivery): boolean =>
  sequence === null || isDeliverable(scopes, event as WebhookEvent)

const withheld = (now: number): AttemptResult => ({
  at: new Date(now).toISOString(),
  status: null,
  duration_ms: 0,
  error: 'insufficient_scope',
  response: null,
})

/** Queued deliveries older than this are released: sending must fit into the lease. */
const LONGEST_WAIT_MS = 4_000

interface SendingDelivery {
  readonly claim: LeasedDelivery
  readonly inFlight: InFlightDelivery
  readonly takenAt: number
}

interface Finished {
  readonly inFlight: InFlightDelivery
  readonly result: DeliveryResult
}

const claimsOf = (taken: readonly SendingDelivery[]): LeasedDelivery[] => taken.map(({ claim }) => claim)
const resultsOf = (finished: readonly Finished[]): DeliveryResult[] => finished.map(({ result }) => result)

/** Sends leased deliveries, queued by endpoint, and records the results. */
export interface Sending {
  /** Free slots; releases queued deliveries of slow endpoints. */
  room(): FreeSlots
  /** True at the bound of unrecorded results. */
  isFull(): boolean
  start(claim: LeasedDelivery): void
  /** Releases unsent deliveries, waits for attempts under way and records them. */
  stop(): Promise<void>
}

/**
 * `onRoom` is called when slots become free. The limiter bounds attempts under way; unrecorded results are bounded too.
 */
export function createSending(options: SendingOptions, onRoom: () => void): Sending {
  const { pool, sender, clock, log } = options
  const limiter = new InFlightLimiter()
  const lanes = new EndpointLanes()
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
    onError: (error) => log('webhooks: delivery results were not recorded', error),
  })

  const returned = createRecorder<SendingDelivery>({
    record: (taken) => releaseLeases(pool, claimsOf(taken)),
    onRecorded(taken) {
      for (const { inFlight } of taken) limiter.release(inFlight)
      onRoom()
    },
    onError: (error) => log('webhooks: leases were not released', error),
  })

  async function attempt(taken: SendingDelivery, isGivenUp: boolean): Promise<AttemptOutcome> {
    const { claim, inFlight, takenAt } = taken
    if (isGivenUp || clock() - takenAt > LONGEST_WAIT_MS) {
      returned.add(taken)
      return null
    }
    inFlight.startedAt = clock()
    const outcome = isAllowed(claim) ? await sender.send(claim) : withheld(clock())
    const result = deliveryResultOf(claim, outcome, options.retrySeconds, options.random())
    if (outcome.error === 'gone' && claim.sequence !== null) options.onGone(claim)
    unrecorded += 1
    // The effect of a failure on the endpoint must be recorded before its next delivery.
    if (outcome.error === null || outcome.error === 'insufficient_scope') limiter.release(inFlight)
    recorder.add({ inFlight, result })
    onRoom()
    return outcome.error === 'insufficient_scope' ? null : outcome.error === null
  }

  return {
    room() {
      const room = limiter.room(clock())
      // Slow endpoints must not hold leases that others could use.
      lanes.giveUp(Object.keys(room.busy).filter((endpoint) => room.busy[endpoint]?.slow))
      return room
    },
    isFull: () => unrecorded >= UNRECORDED,
    start(claim) {
      const inFlight: InFlightDelivery = { endpoint: endpointOf(claim), failing: claim.failing, startedAt: null }
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
