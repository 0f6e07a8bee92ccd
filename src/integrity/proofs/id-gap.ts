/** Highest assigned id of a company by kind. */
export type Counters = Readonly<Record<string, number>>

interface Lost {
  /** Number of remaining events, and the time of the first one (UTC). */
  readonly events: number
  readonly first_at: string
  /** UTC. */
  readonly lost_after: string
  readonly restored_at: string
  /** Number of lost events that a checkpoint covered. */
  readonly sealed: number
}

/** Minimum gap, also if the pace of the ledger is unknown. */
const LEAST = 10_000
/** Upper bound of the ratio between the event rate in the lost period and the average. */
const RUSH = 20
const DAY_MS = 86_400_000
/** Keeps ids well below the largest safe integer. */
const MOST = 1_000_000_000_000

/**
 * Ids up to this floor must not be assigned again. Each assigned id has an event, so at most as many ids were lost as
 * events. Their number is estimated from the ledger's pace with a large margin (OPS-84).
 */
export function idFloor(kinds: readonly string[], ids: Counters, lost: Lost): Counters {
  const margin = marginOf(lost)
  return Object.fromEntries(kinds.map((kind) => [kind, Math.min(MOST, (ids[kind] ?? 0) + margin)]))
}

function marginOf({ events, first_at, lost_after, restored_at, sealed }: Lost): number {
  const known_ms = Math.max(DAY_MS, Date.parse(lost_after) - Date.parse(first_at))
  const lost_ms = Math.max(0, Date.parse(restored_at) - Date.parse(lost_after))
  return Math.max(LEAST, sealed + Math.ceil((RUSH * events * lost_ms) / known_ms))
}
