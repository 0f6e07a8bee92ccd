import type { Pool } from 'pg'
import { Unavailable } from '#lib/errors.ts'
import { retry } from '#lib/retry.ts'
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
        await raiseCompanyIds(options.pool, await catchUpAll(options))
        isDone = true
        return 'done'
      } finally {
        tried()
      }
    },
    (error) => options.log('the event store could not be caught up with', error),
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

/**
 * A Postgres that is new, or older than its event store, would otherwise assign company ids that have a ledger already,
 * here or on another shard.
 */
const raiseCompanyIds = (pool: Pool, seen: number) =>
  pool.query(
    `select setval('ops.company_ids', highest)
     from (select greatest($1, max(company_id), (select max(company_id) from ops.company_shards)) as highest from ops.ledgers) ids,
       ops.company_ids s
     where highest > case when s.is_called then s.last_value else 0 end`,
    [seen],
  )
