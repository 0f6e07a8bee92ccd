import { setTimeout as pause } from 'node:timers/promises'
import type { OnlineMethod } from '#domain/online-payment.ts'

/** Cache time: an account's payment methods hardly ever change. */
const KEPT_MS = 300_000
/** Wait budget of a page: a slow provider must not keep buyers from their order. */
const PATIENCE_MS = 1_000
/** Cached stores; the oldest entry is evicted. */
const STORES = 1_000

type Ask = () => Promise<readonly OnlineMethod[]>

/** Whether a store's account accepts Pix, as `ask` reports; assumed until it is known. */
export type TakesPix = (alias: string, ask: Ask) => Promise<boolean>

export function createTakesPix(now: () => number): TakesPix {
  const known = new Map<string, { readonly asked_at: number; readonly answer: Promise<boolean> }>()
  return (alias, ask) => {
    let kept = known.get(alias)
    if (!kept || now() - kept.asked_at > KEPT_MS) {
      const answer = ask().then(
        (methods) => methods.includes('pix'),
        () => true,
      )
      kept = { asked_at: now(), answer }
      known.delete(alias)
      known.set(alias, kept)
      const [longest = ''] = known.keys()
      if (known.size > STORES) known.delete(longest)
    }
    return Promise.race([kept.answer, pause(PATIENCE_MS, true, { ref: false })])
  }
}
