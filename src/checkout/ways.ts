import { setTimeout as pause } from 'node:timers/promises'
import type { OnlineMethod } from '#domain/online-payment.ts'

/** For so long an answer of the provider is good: which methods an account takes hardly ever changes. */
const KEPT_MS = 300_000
/** A page does not wait longer for it: a provider that is slow or down keeps nobody from seeing an order. */
const PATIENCE_MS = 1_000
/** Stores remembered at a time; the longest known is forgotten. */
const STORES = 1_000

type Ask = () => Promise<readonly OnlineMethod[]>

/** Whether a store's account at the provider takes Pix, as `ask` tells; until that is known, that it does. */
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
