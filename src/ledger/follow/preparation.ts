import type { Pool } from 'pg'
import { Unavailable } from '#lib/errors.ts'
import { retry } from '#lib/retry.ts'
import type { Writer } from '../write/writer.ts'
import { type CatchUpSubscriptionOptions, catchUpAll } from './follower.ts'

/** What has to be done before a process may write to a store outside Postgres. */
export interface Preparation {
  isDone(): boolean
  /** Settles when it was tried once, whatever came of it. */
  readonly tried: Promise<void>
  stop(): Promise<void>
}

/**
 * Applies what the store holds beyond the read model, and raises the sequence of companies' ids above all that it has seen; tried until
 * the store can be reached. Reads are served meanwhile.
 */
export function prepare(
  options: CatchUpSubscriptionOptions,
  /** Refuses a store that holds other ledgers. */
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
    tried: first,
    async stop() {
      stopping.abort()
      await preparing
    },
  }
}

/** A writer that promises nothing before everything is prepared. */
export function guarded(writer: Writer, preparation: Preparation): Writer {
  return {
    idle: writer.idle,
    async run(request) {
      if (!preparation.isDone()) throw new Unavailable('the event store has not been caught up with')
      return writer.run(request)
    },
  }
}

/**
 * A Postgres that is older than its event store, or new, would otherwise give out ids of companies that have a ledger already, here
 * or in another home.
 */
const raiseCompanyIds = (pool: Pool, seen: number) =>
  pool.query(
    `select setval('ops.company_ids', highest)
     from (select greatest($1, max(company_id), (select max(company_id) from ops.company_homes)) as highest from ops.ledgers) ids,
       ops.company_ids s
     where highest > case when s.is_called then s.last_value else 0 end`,
    [seen],
  )
