import type { Pool } from 'pg'
import { inZone } from '#domain/instant.ts'
import { type Envelope, streamOf } from '#ledger/envelope.ts'
import type { EventStore } from '#ledger/port.ts'
import { search } from '#ledger/reading.ts'
import { ledgerHead } from '../ledger-head.ts'

/** What happened, where, and by whom; `recorded_at` on the company's clock. */
export type RecentEvent = Pick<Envelope, 'revision' | 'type' | 'subject' | 'recorded_at' | 'origin' | 'actor'>

export interface RecentEvents {
  /** The last one first. */
  readonly events: readonly RecentEvent[]
  /** Of the ledger. */
  readonly revision: number
}

/** The last events of a company that the read model knows. */
export async function recentEvents(
  { pool, store }: { readonly pool: Pool; readonly store: EventStore },
  companyId: number,
  limit: number,
): Promise<RecentEvents> {
  const { revision, timezone } = await ledgerHead(pool, companyId)
  const wanted = {
    fromRevision: Math.max(0, revision - limit + 1),
    toRevision: revision,
    types: null,
    subject: null,
    limit,
  }
  const found = await search(store, streamOf(companyId), wanted)
  const events = found.events.map(({ json }) => recent(JSON.parse(json) as Envelope, timezone))
  return { events: events.reverse(), revision }
}

const recent = ({ revision, type, subject, recorded_at, origin, actor }: Envelope, timezone: string): RecentEvent => ({
  revision,
  type,
  subject,
  recorded_at: inZone(recorded_at, timezone),
  origin,
  actor,
})
