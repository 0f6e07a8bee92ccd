import type { Pool } from 'pg'
import { createPool } from '../../src/postgres/pool.ts'
import type { Claim } from '../../src/webhooks/claims.ts'
import { createDispatcher, type Dispatcher } from '../../src/webhooks/dispatcher.ts'
import { createSender } from '../../src/webhooks/sender.ts'
import { createAddresses } from './outbox.ts'
import { type Receiver, startReceiver } from './receiver.ts'

/** A dispatcher of this process, to be told when to look. */
export interface TestDispatcher extends Dispatcher {
  readonly gone: Claim[]
  readonly errors: unknown[]
}

export interface TestDispatcherOptions {
  readonly timeout_ms?: number
  readonly retrySeconds?: readonly number[]
  /** In the place of a pool of its own. */
  readonly pool?: Pool
}

/** Dispatchers and receivers of a test file; all that is open at its end is closed. */
export function useDispatchers(database: { readonly url: string }) {
  const stops: (() => Promise<unknown>)[] = []
  let pool: Pool

  before(async () => {
    pool = createPool(database.url, { max: 4 })
    await createAddresses(pool)
  })
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop()
    await pool.query('truncate webhook_deliveries, webhook_messages, webhook_health, webhook_secrets, read.webhooks')
  })
  after(() => pool.end())

  return {
    get pool() {
      return pool
    },
    /** After the dispatchers of the test have stopped. */
    closeLater(close: () => Promise<unknown>): void {
      stops.unshift(close)
    },
    async receiver(tls?: Parameters<typeof startReceiver>[0]): Promise<Receiver> {
      const receiver = await startReceiver(tls)
      stops.push(() => receiver.close())
      return receiver
    },
    dispatcher(options: TestDispatcherOptions = {}): TestDispatcher {
      const { timeout_ms = 15_000, retrySeconds = [60, 300, 1800, 7200, 21_600] } = options
      const own = options.pool ?? createPool(database.url, { max: 2, keyLookupsOnly: true, lock_timeout_ms: 500 })
      const sender = createSender({ timeout_ms, allowPrivate: true, clock: Date.now })
      const gone: Claim[] = []
      const errors: unknown[] = []
      const dispatcher = createDispatcher({
        pool: own,
        sender,
        attempt_ms: timeout_ms + 1_000,
        poll_ms: 100,
        retrySeconds,
        clock: Date.now,
        random: () => 0.5,
        onGone: (claim) => gone.push(claim),
        log: (_message, error) => errors.push(error),
      })
      stops.push(async () => {
        await dispatcher.stop()
        await sender.close()
        if (!options.pool) await own.end()
      })
      return { ...dispatcher, gone, errors }
    },
  }
}
