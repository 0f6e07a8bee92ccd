import { setTimeout as pause } from 'node:timers/promises'
import { v5 as uuidv5 } from 'uuid'
import { isAskedFor, type WebhookEvent } from '#events/webhooks.ts'
import type { Attempt, Sender } from '#webhooks/sender.ts'
import { type Following, follow } from './follow.ts'
import { Ended } from './service.ts'

/** One attempt at a delivery, for whoever watches. */
export interface Tried extends Pick<Attempt, 'status' | 'duration_ms' | 'error'> {
  /** The same in each attempt, and whenever the same event is delivered again. */
  readonly delivery: string
  readonly event: string
  readonly revision: number
  /** Counts the deliveries of this listener. */
  readonly sequence: number
  readonly attempt: number
  /** Until the next attempt; null when there is none. */
  readonly again_in_ms: number | null
}

export interface Listening extends Following {
  readonly forwardTo: string
  /** `whsec_…` */
  readonly secret: string
  /** Names of outbound events, `*` for the basic ones; null is all of them. */
  readonly events: readonly string[] | null
  readonly sender: Sender
  readonly onTried: (tried: Tried) => void
  /** Milliseconds until each attempt after the first one. */
  readonly pausesMs?: readonly number[]
}

/** As many attempts as an endpoint gets (HOOK-18), in the time that somebody looks on. */
const PAUSES_MS = [1_000, 2_000, 5_000, 10_000, 30_000]

/**
 * Delivers what happens in a company as its endpoints would get it, one delivery after the other (KIT-12): what comes after one
 * that fails waits for it. Goes on until its signal is aborted. @throws Ended
 */
export async function listen(listening: Listening): Promise<void> {
  const { events, signal, onTried } = listening
  let sequence = 0
  try {
    for await (const { id, revision, messages } of follow(listening)) {
      for (const { event, body } of messages) {
        if (events && !isAskedFor(events, event as WebhookEvent)) continue
        sequence += 1
        const delivery = { id: uuidv5(event, id), event, revision, sequence, body }
        const isGone = await deliver(delivery, listening, onTried)
        if (isGone) throw new Ended('gone', 'The address has answered 410: an endpoint would be switched off now.')
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

type Delivery = Omit<Parameters<Sender['send']>[0], 'url' | 'secret' | 'next_secret' | 'switch_at'>

/** Answers whether the address has said that it is gone. */
async function deliver(delivery: Delivery, listening: Listening, onTried: Listening['onTried']): Promise<boolean> {
  const { forwardTo: url, secret, sender, signal, pausesMs = PAUSES_MS } = listening
  for (let attempt = 1; ; attempt++) {
    const made = await sender.send({ ...delivery, url, secret, next_secret: null, switch_at: null })
    const { status, duration_ms, error } = made
    const isGone = error === 'gone'
    const again_in_ms = error === null || isGone ? null : (pausesMs[attempt - 1] ?? null)
    const { id, event, revision, sequence } = delivery as Delivery & { revision: number; sequence: number }
    onTried({ delivery: id, event, revision, sequence, attempt, status, duration_ms, error, again_in_ms })
    if (again_in_ms === null) return isGone
    await pause(again_in_ms, undefined, { signal })
  }
}
