import type { Pool } from 'pg'
import { TenantLimitExceeded, Unavailable } from '#lib/errors.ts'
import type { FairShareLimiter } from '#lib/fair-share-limiter.ts'
import { listenToChannel } from '#postgres/listener.ts'
import { decodePositions, type LedgerPosition, LIVE_CHANNEL } from './notifier.ts'

/** A subscriber of a company, such as an open page or an event stream. The callbacks must not throw. */
interface Subscriber {
  /** The ledger has reached this revision; several revisions may be merged. */
  moved(revision: number): void
  /** No further updates: the process stops. */
  ended(): void
}

/** Notifies subscribers of a company's new revisions. */
export interface LiveUpdates {
  /**
   * Reports revisions after `since`, immediately if the ledger is there already: no later commit is missed. Takes one of
   * the `places` until it ends; without them the caller bounds its subscribers. Returns the unsubscribe function.
   * @throws TenantLimitExceeded without a free place, Unavailable while stopping
   */
  subscribe(companyId: number, since: number, subscriber: Subscriber, places?: FairShareLimiter): () => void
  /** Ends all subscriptions. */
  close(): Promise<void>
}

interface LiveUpdatesOptions {
  readonly databaseUrl: string
  readonly pool: Pool
  readonly onError: (error: unknown) => void
}

interface Subscription {
  readonly companyId: number
  /** The last reported revision. */
  known: number
  readonly subscriber: Subscriber
  readonly places: FairShareLimiter | undefined
}

/** Listens to the commits of all processes on one connection; after a gap it reads the ledgers themselves. */
export function createLiveUpdates({ databaseUrl, pool, onError }: LiveUpdatesOptions): LiveUpdates {
  const companies = new Map<number, Set<Subscription>>()
  let closed = false

  function publish(positions: readonly LedgerPosition[]): void {
    for (const { companyId, revision } of positions) {
      for (const subscription of companies.get(companyId) ?? []) {
        if (revision <= subscription.known) continue
        subscription.known = revision
        subscription.subscriber.moved(revision)
      }
    }
  }

  function remove(subscription: Subscription): void {
    const { companyId, places } = subscription
    const ofCompany = companies.get(companyId)
    if (!ofCompany?.delete(subscription)) return
    places?.release(companyId, 1)
    if (ofCompany.size === 0) companies.delete(companyId)
  }

  function end(subscriptions: readonly Subscription[]): void {
    for (const subscription of subscriptions) {
      remove(subscription)
      subscription.subscriber.ended()
    }
  }

  async function readPositions(companyIds: readonly number[]): Promise<void> {
    if (companyIds.length === 0) return
    try {
      const { rows } = await pool.query<LedgerPosition>({ ...READ_POSITIONS, values: [companyIds] })
      publish(rows)
    } catch (error) {
      onError(error)
    }
  }

  const listener = listenToChannel({
    databaseUrl,
    channel: LIVE_CHANNEL,
    application_name: 'tillbook live',
    onNotification(message) {
      const positions = message === null ? null : decodePositions(message)
      if (positions) publish(positions)
      else void readPositions([...companies.keys()])
    },
    onError,
  })

  return {
    subscribe(companyId, since, subscriber, places) {
      if (closed) throw new Unavailable('live updates have ended: the process stops')
      if (places && !places.acquire(companyId, 1))
        throw new TenantLimitExceeded('too many live subscriptions of this company or process')
      const subscription: Subscription = { companyId, known: since, subscriber, places }
      companies.set(companyId, (companies.get(companyId) ?? new Set()).add(subscription))
      void readPositions([companyId])
      return () => remove(subscription)
    },
    async close() {
      closed = true
      end([...companies.values()].flatMap((ofCompany) => [...ofCompany]))
      await listener.close()
    },
  }
}

const READ_POSITIONS = {
  name: 'read_ledger_positions',
  text: `select company_id as "companyId", revision from ops.ledgers where company_id = any($1::bigint[])`,
}
