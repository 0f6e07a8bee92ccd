import type { Pool } from 'pg'
import { Unavailable } from '#lib/errors.ts'
import { listenToChannel } from '#postgres/listener.ts'
import { decodePositions, type LedgerPosition, LIVE_CHANNEL } from './notifier.ts'

/** Subscribers of a company, and of this process. */
const SUBSCRIBERS_OF_COMPANY = 100
const SUBSCRIBERS = 5_000

/** A subscriber of a company, such as an open page. The callbacks must not throw. */
interface Subscriber {
  /** The ledger has reached this revision; several revisions may be merged. */
  moved(revision: number): void
  /** No further updates: the process stops, or the company has migrated. */
  ended(): void
}

/** Notifies subscribers of a company's new revisions. */
export interface LiveUpdates {
  /**
   * Reports revisions after `since`, immediately if the ledger is there already: no later commit is missed. Returns the
   * unsubscribe function.
   * @throws Unavailable at the bound of subscribers, or while stopping
   */
  subscribe(companyId: number, since: number, subscriber: Subscriber): () => void
  /** Ends all subscriptions. */
  close(): Promise<void>
}

interface LiveUpdatesOptions {
  readonly databaseUrl: string
  readonly pool: Pool
  readonly onError: (error: unknown) => void
}

interface Subscription {
  /** The last reported revision. */
  known: number
  readonly subscriber: Subscriber
}

/** Listens to the commits of all processes on one connection; after a gap it reads the ledgers themselves. */
export function createLiveUpdates({ databaseUrl, pool, onError }: LiveUpdatesOptions): LiveUpdates {
  const companies = new Map<number, Set<Subscription>>()
  let count = 0
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

  /** Pages reconnect and are routed to the company's new shard. */
  function endSubscriptions(companyId: number): void {
    const subscriptions = companies.get(companyId) ?? new Set()
    companies.delete(companyId)
    count -= subscriptions.size
    for (const { subscriber } of [...subscriptions]) subscriber.ended()
    subscriptions.clear()
  }

  async function readPositions(companyIds: readonly number[]): Promise<void> {
    if (companyIds.length === 0) return
    try {
      const { rows } = await pool.query<LedgerState>({ ...READ_POSITIONS, values: [companyIds] })
      publish(rows.filter(({ isElsewhere }) => !isElsewhere))
      for (const { companyId, isElsewhere } of rows) if (isElsewhere) endSubscriptions(companyId)
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
    subscribe(companyId, since, subscriber) {
      const ofCompany = companies.get(companyId) ?? new Set()
      if (closed || count >= SUBSCRIBERS || ofCompany.size >= SUBSCRIBERS_OF_COMPANY)
        throw new Unavailable('too many live subscriptions of this company or process')
      const subscription: Subscription = { known: since, subscriber }
      companies.set(companyId, ofCompany.add(subscription))
      count += 1
      void readPositions([companyId])
      return () => {
        if (!ofCompany.delete(subscription)) return
        count -= 1
        if (ofCompany.size === 0) companies.delete(companyId)
      }
    },
    async close() {
      closed = true
      const left = [...companies.values()].flatMap((ofCompany) => [...ofCompany])
      companies.clear()
      for (const { subscriber } of left) subscriber.ended()
      await listener.close()
    },
  }
}

interface LedgerState extends LedgerPosition {
  readonly isElsewhere: boolean
}

const READ_POSITIONS = {
  name: 'read_ledger_positions',
  text: `select company_id as "companyId", revision, coalesce(move in ('left', 'arriving'), false) as "isElsewhere"
         from ops.ledgers where company_id = any($1::bigint[])`,
}
