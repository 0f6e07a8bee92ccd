import { setTimeout as pause } from 'node:timers/promises'
import { v5 as uuidv5 } from 'uuid'
import { isSubscribed, type WebhookEvent } from '#events/webhooks.ts'
import { retryDelay_ms } from '#webhooks/retry-schedule.ts'
import type { AttemptResult, Sender } from '#webhooks/sender.ts'
import { type EventStreamOptions, followEventStream } from './event-stream-client.ts'
import { RequestRefused } from './service-client.ts'

/** A delivery attempt of the listener. */
export interface ListenerAttempt extends Pick<AttemptResult, 'status' | 'duration_ms' | 'error'> {
  /** Equal in all attempts and repeated deliveries of an event. */
  readonly delivery: string
  readonly event: string
  readonly revision: number
  /** Number of the delivery within this listener. */
  readonly sequence: number
  readonly attempt: number
  /** Time until the next attempt; null if there is none. */
  readonly again_in_ms: number | null
}

export interface ListenerRun extends EventStreamOptions {
  readonly forwardTo: string
  /** `whsec_…` */
  readonly secret: string
  /** Names of outbound events, `basic` for the basic ones; null for all. */
  readonly events: readonly string[] | null
  readonly sender: Sender
  readonly onTried: (tried: ListenerAttempt) => void
  /** Milliseconds before each retry. */
  readonly pausesMs?: readonly number[]
}

/** As many attempts as an endpoint gets (HOOK-18), compressed to the time of a person watching. */
const PAUSES_MS = [1_000, 2_000, 5_000, 10_000, 30_000]

/**
 * Delivers a company's events as an endpoint would get them, one after another (KIT-12): a failing delivery holds up
 * the next. Runs until its signal aborts. @throws RequestRefused
 */
export async function runListener(listening: ListenerRun): Promise<void> {
  const { events, signal, onTried } = listening
  let sequence = 0
  try {
    for await (const { id, revision, messages } of followEventStream(listening)) {
      for (const { event, body } of messages) {
        if (events && !isSubscribed(events, event as WebhookEvent)) continue
        sequence += 1
        const delivery = { id: uuidv5(event, id), event, revision, sequence, body }
        const isGone = await deliver(delivery, listening, onTried)
        if (isGone)
          throw new RequestRefused('gone', 'The address answered 410: a webhook endpoint would be disabled now.')
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

type Delivery = Omit<Parameters<Sender['send']>[0], 'url' | 'secret' | 'next_secret' | 'switch_at'>

/** Returns whether the address answered 410. */
async function deliver(delivery: Delivery, listening: ListenerRun, onTried: ListenerRun['onTried']): Promise<boolean> {
  const { forwardTo: url, secret, sender, signal, pausesMs = PAUSES_MS } = listening
  const retrySeconds = pausesMs.map((ms) => ms / 1000)
  for (let attempt = 1; ; attempt++) {
    const made = await sender.send({ ...delivery, url, secret, next_secret: null, switch_at: null })
    const { status, duration_ms, error, retry_after_ms } = made
    const isGone = error === 'gone'
    const again_in_ms = error === null || isGone ? null : retryDelay_ms(retrySeconds, attempt, 0, retry_after_ms)
    const { id, event, revision, sequence } = delivery as Delivery & { revision: number; sequence: number }
    onTried({ delivery: id, event, revision, sequence, attempt, status, duration_ms, error, again_in_ms })
    if (again_in_ms === null) return isGone
    await pause(again_in_ms, undefined, { signal })
  }
}
