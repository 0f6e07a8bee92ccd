import type { Pool } from 'pg'
import { z } from 'zod'
import { inZone } from '#domain/instant.ts'
import { invalid, type Refusal } from '#domain/refusal.ts'
import { streamOf } from '#ledger/envelope.ts'
import type { EventStore } from '#ledger/port.ts'
import { search } from '#ledger/reading.ts'
import { decodeCursor, encodeCursor } from '../cursor.ts'
import { ledgerHead } from '../ledger-head.ts'
import type { Page, Paging } from '../list.ts'

export interface EventFilters {
  /** Revision that the first event comes after. */
  readonly after?: number | undefined
  readonly types?: readonly string[] | undefined
  readonly subject?: string | undefined
}

/** What a cursor holds: the last revision that was looked at. */
const Key = z.tuple([z.int().nonnegative()])

/**
 * A page of the ledger itself: envelopes as they were hashed, in order, up to the read model's revision. Where a filter
 * makes it look far, a page may be short though there are more. `find` may show them otherwise than they are stored.
 */
export async function listEvents(
  { pool, store }: { readonly pool: Pool; readonly store: EventStore },
  companyId: number,
  { limit, cursor, after, types, subject }: Paging & EventFilters,
  find: typeof search = search,
): Promise<Page | Refusal> {
  const scope = { resource: 'events', filters: { after, types: types?.join(), subject } }
  const key = cursor === undefined ? [after ?? -1] : decodeCursor(scope, Key, cursor)
  if (!key) return invalid('cursor', 'não é um cursor desta lista com estes filtros')
  const head = await ledgerHead(pool, companyId)
  const { revision: toRevision } = head
  const { events, seenTo } = await find(store, streamOf(companyId), {
    fromRevision: (key[0] ?? -1) + 1,
    toRevision,
    types: types ?? null,
    subject: subject ?? null,
    limit,
  })
  const has_more = seenTo < toRevision
  return {
    data: events.map(({ json }) => json).join(','),
    has_more,
    next: has_more ? encodeCursor(scope, [seenTo]) : null,
    synced_at: inZone(head.last_recorded_at, head.timezone),
    revision: toRevision,
  }
}
