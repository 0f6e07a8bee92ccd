import type { Pool } from 'pg'
import { createPool } from '#postgres/pool.ts'
import { createDispatcher, type Dispatcher } from '#webhooks/delivery.ts'
import type { LeasedDelivery } from '#webhooks/delivery-leases.ts'
import { createSender } from '#webhooks/sender.ts'
import { vault } from '../support/master-key.ts'
import { until } from '../support/wait.ts'
import { createEndpoints, type StoredDelivery, storedDeliveries, type TestEndpoint } from './outbox.ts'
import { type Answer, type Receiver, startReceiver } from './receiver.ts'

export const failing: Answer = (_received, response) => response.writeHead(500).end()
export const silent: Answer = () => {}

/** Dispatcher of this process, with a method to start a round. */
export interface TestDispatcher extends Dispatcher {
  readonly gone: LeasedDelivery[]
  readonly errors: unknown[]
}

export interface TestDispatcherOptions {
  readonly timeout_ms?: number
  readonly retrySeconds?: readonly number[]
  /** Replaces the dispatcher's own pool. */
  readonly pool?: Pool
}

type Health = Record<'last_success_at' | 'failing_since' | 'no_response_since', string | null>

interface Hour {
  readonly bucket: number
  readonly attempts: number
  readonly failures: number
  readonly last_failure: object | null
}

/** Delivery ids received by an endpoint. */
export const idsOf = (received: Receiver['received']) => received.map(({ headers }) => headers['x-service-delivery'])

/** Dispatchers and receivers of a test file, closed at its end. */
export function useDispatchers(database: { readonly url: string }) {
  const stops: (() => Promise<unknown>)[] = []
  let pool: Pool

  before(async () => {
    pool = createPool(database.url, { max: 4 })
    await createEndpoints(pool)
  })
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop()
    await pool.query(`delete from webhook_deliveries; delete from webhook_messages; delete from webhook_health; delete from webhook_hours;
      delete from webhook_secrets; delete from read.webhooks`)
  })
  after(() => pool.end())

  return {
    get pool() {
      return pool
    },
    /** Waits until all deliveries have one of the statuses. */
    async allAre(...statuses: StoredDelivery['status'][]): Promise<StoredDelivery[]> {
      const text = 'select 1 from webhook_deliveries where status <> all($1) limit 1'
      const done = async () => (await pool.query(text, [statuses])).rowCount === 0
      await until(done, { what: `${statuses} for all deliveries`, timeout_ms: 18_000 })
      return storedDeliveries(pool)
    },
    /** Waits until each delivery has this number of attempts. */
    attempted: (count: number): Promise<StoredDelivery[]> =>
      until(async () => {
        const deliveries = await storedDeliveries(pool)
        return deliveries.every(({ attempts }) => attempts.length === count) && deliveries
      }),
    async healthOf({ id }: TestEndpoint): Promise<Health | null> {
      const { rows } = await pool.query<Health>(
        'select last_success_at, failing_since, no_response_since from webhook_health where webhook_id = $1',
        [id],
      )
      return rows[0] ?? null
    },
    async hoursOf({ id }: TestEndpoint): Promise<Hour[]> {
      const { rows } = await pool.query<Hour>('select * from webhook_hours where webhook_id = $1', [id])
      return rows
    },
    /** Registers a cleanup that runs after the dispatchers of the test have stopped. */
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
      const gone: LeasedDelivery[] = []
      const errors: unknown[] = []
      const dispatcher = createDispatcher({
        pool: own,
        vault,
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
