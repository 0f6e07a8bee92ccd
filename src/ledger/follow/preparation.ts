import { Unavailable } from '#lib/errors.ts'
import { retry } from '#lib/retry.ts'
import { raiseCompanyIds } from '../ledgers.ts'
import { type CatchUpSubscriptionOptions, catchUpAll } from './follower.ts'

/** Work that must be done before a process may write to an external store. */
export interface Preparation {
  isDone(): boolean
  /** @throws Unavailable */
  assertDone(): void
  /** Resolves after the first attempt, successful or not. */
  readonly tried: Promise<void>
  stop(): Promise<void>
}

/**
 * Applies the store's events beyond the read model, and raises the sequence of company ids above all ids in the store.
 * Retries until the store can be reached; reads are served meanwhile.
 */
export function prepare(
  options: CatchUpSubscriptionOptions,
  /** Rejects a store with other ledgers. */
  assertOwn: () => Promise<void>,
): Preparation {
  const stopping = new AbortController()
  let isDone = false
  let tried = () => {}
  const first = new Promise<void>((resolve) => {
    tried = resolve
  })
  const preparing = retry(
    stopping.signal,
    async () => {
      try {
        await assertOwn()
        await raiseCompanyIds(options.pool, [await catchUpAll(options)])
        isDone = true
        return 'done'
      } finally {
        tried()
      }
    },
    (error) => options.log('event store: catch-up failed, will retry', error),
  )
  return {
    isDone: () => isDone,
    assertDone() {
      if (!isDone) throw new Unavailable('the event store has not been caught up with')
    },
    tried: first,
    async stop() {
      stopping.abort()
      await preparing
    },
  }
}
