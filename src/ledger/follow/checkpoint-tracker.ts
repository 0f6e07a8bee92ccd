import type { Pool } from 'pg'
import type { Note } from '../port.ts'

/** Position of the store when a note arrived. Positions cannot be compared, so `order` counts the notes. */
interface Mark {
  readonly order: number
  readonly position: string | null
}

/** A company with events that may not be applied yet. */
interface Behind {
  /** Revision of the last note. */
  revision: number
  /** Start of the lag (ms of a monotonic clock), and the store's position then: everything before it is applied. */
  since_ms: number
  since: Mark
  /** State at the last check. Once the company has applied this revision, its lag counts from that check. */
  seen: { readonly revision: number; readonly at_ms: number; readonly mark: Mark }
}

/** Progress of a subscription. Memory is bounded by the number of companies. Times are those of a monotonic clock. */
export interface CheckpointTracker {
  add(companyId: number, note: Note, now_ms: number): void
  /**
   * Companies with notes that are not known to be applied, with the last noted revision; only those behind since
   * `before_ms` or earlier.
   */
  behind(before_ms?: number): Map<number, number>
  /** Records that a company's read model has reached a revision. */
  applied(companyId: number, revision: number, now_ms: number): void
  /** The position up to which all events are applied; null for the beginning. */
  checkpoint(): string | null
}

/** Tracks the events after a position. */
export function trackCheckpoint(after: string | null): CheckpointTracker {
  const companies = new Map<number, Behind>()
  let last: Mark = { order: 0, position: after }
  return {
    add(companyId, { revision, position }, now_ms) {
      const known = companies.get(companyId)
      if (known) known.revision = Math.max(known.revision, revision)
      else {
        const seen = { revision, at_ms: now_ms, mark: last }
        companies.set(companyId, { revision, since_ms: now_ms, since: last, seen })
      }
      last = { order: last.order + 1, position }
    },
    behind(before_ms = Number.POSITIVE_INFINITY) {
      const late = [...companies].filter(([, { since_ms }]) => since_ms <= before_ms)
      return new Map(late.map(([companyId, { revision }]) => [companyId, revision]))
    },
    applied(companyId, revision, now_ms) {
      const known = companies.get(companyId)
      if (!known) return
      if (known.revision <= revision) {
        companies.delete(companyId)
        return
      }
      if (known.seen.revision > revision) return
      known.since_ms = known.seen.at_ms
      known.since = known.seen.mark
      known.seen = { revision: known.revision, at_ms: now_ms, mark: last }
    },
    checkpoint() {
      let first = last
      for (const { since } of companies.values()) if (since.order < first.order) first = since
      return first.position
    },
  }
}

const NAME = 'follower'

/** The position up to which all events of the store are applied; null before the first. */
export async function readSubscriptionCheckpoint(pool: Pool): Promise<string | null> {
  const { rows } = await pool.query<{ position: string }>('select position from ops.checkpoints where name = $1', [
    NAME,
  ])
  return rows[0]?.position ?? null
}

export async function writeSubscriptionCheckpoint(pool: Pool, position: string): Promise<void> {
  await pool.query(
    `insert into ops.checkpoints (name, position) values ($1, $2)
     on conflict (name) do update set position = excluded.position`,
    [NAME, position],
  )
}
