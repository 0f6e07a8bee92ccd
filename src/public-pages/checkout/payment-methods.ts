import { setTimeout as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { OnlineMethod } from '#domain/online-payment.ts'

/** Cache time: an account's payment methods hardly ever change. */
const KEPT_MS = 300_000
/** Wait budget of a page: a slow provider must not keep buyers from their order. */
const PATIENCE_MS = 1_000
/** Cached stores. */
const STORES = 1_000

type LoadMethods = () => Promise<readonly OnlineMethod[]>

/** Whether a store's account accepts Pix, as `loadMethods` reports; assumed until it is known. */
export type TakesPix = (alias: string, loadMethods: LoadMethods) => Promise<boolean>

export function createTakesPix(now: () => number): TakesPix {
  const known = new LRUCache<string, Promise<boolean>>({ max: STORES, ttl: KEPT_MS, ttlResolution: 0, perf: { now } })
  return (alias, loadMethods) => {
    let answer = known.get(alias)
    if (!answer) {
      answer = loadMethods().then(
        (methods) => methods.includes('pix'),
        () => true,
      )
      known.set(alias, answer)
    }
    return Promise.race([answer, pause(PATIENCE_MS, true, { ref: false })])
  }
}
