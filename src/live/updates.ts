import type { Pool } from 'pg'
import { Unavailable } from '#lib/unavailable.ts'
import { listen } from '#postgres/listener.ts'
import { decodePositions, type LedgerPosition, LIVE_CHANNEL } from './notifier.ts'

/** Pages that follow a company, and all that this process serves. */
const SUBSCRIBERS_OF_COMPANY = 100
const SUBSCRIBERS = 5_000

/** Somebody who follows a company, as an open page does. Neither may throw. */
interface Subscriber {
  /** The ledger has come to this revision; many may be told as one. */
  moved(revision: number): void
  /** Nothing more will be told: the process is stopping, or the company lives elsewhere. */
  ended(): void
}

/** Tells whoever follows a company how far its ledger has come. */
export interface LiveUpdates {
  /**
   * Tells each revision beyond `since` that is heard of, at once if the ledger is there already: nothing that was committed after
   * `since` is missed. Returns what ends it.
   * @throws Unavailable when too many follow, or the process is stopping.
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
  /** The last revision that was told. */
  known: number
  readonly subscriber: Subscriber
}

/** Hears what all processes commit on one connection; where something may have been missed, it looks at the ledgers themselves. */
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

  /** Pages ask again, and are followed where the company lives. */
  function endOf(companyId: number): void {
    const subscriptions = companies.get(companyId) ?? new Set()
    companies.delete(companyId)
    count -= subscriptions.size
    for (const { subscriber } of [...subscriptions]) subscriber.ended()
    subscriptions.clear()
  }

  async function look(companyIds: readonly number[]): Promise<void> {
    if (companyIds.length === 0) return
    try {
      const { rows } = await pool.query<Looked>({ ...LOOK, values: [companyIds] })
      publish(rows.filter(({ isElsewhere }) => !isElsewhere))
      for (const { companyId, isElsewhere } of rows) if (isElsewhere) endOf(companyId)
    } catch (error) {
      onError(error)
    }
  }

  const listener = listen({
    databaseUrl,
    channel: LIVE_CHANNEL,
    application_name: 'tillbook live',
    onNotification(message) {
      const positions = message === null ? null : decodePositions(message)
      if (positions) publish(positions)
      else void look([...companies.keys()])
    },
    onError,
  })

  return {
    subscribe(companyId, since, subscriber) {
      const ofCompany = companies.get(companyId) ?? new Set()
      if (closed || count >= SUBSCRIBERS || ofCompany.size >= SUBSCRIBERS_OF_COMPANY)
        throw new Unavailable('no more pages can follow')
      const subscription: Subscription = { known: since, subscriber }
      companies.set(companyId, ofCompany.add(subscription))
      count += 1
      void look([companyId])
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

interface Looked extends LedgerPosition {
  readonly isElsewhere: boolean
}

const LOOK = {
  name: 'look_at_ledgers',
  text: `select company_id as "companyId", revision, coalesce(move in ('left', 'arriving'), false) as "isElsewhere"
         from ops.ledgers where company_id = any($1::bigint[])`,
}
