/** The highest id of each kind that a company has given out. */
export type Counters = Readonly<Record<string, number>>

interface Lost {
  /** Events that are there, and when the first of them was recorded: UTC. */
  readonly events: number
  readonly first_at: string
  /** UTC. */
  readonly lost_after: string
  readonly restored_at: string
  /** Events that were sealed and are gone. */
  readonly sealed: number
}

/** Even of the smallest shop, and where nothing is known of its pace. */
const LEAST = 10_000
/** How much faster than on average events may have come in the time that was lost. */
const RUSH = 20
const DAY_MS = 86_400_000
/** Far from where numbers end. */
const MOST = 1_000_000_000_000

/**
 * From where ids go on: no id up to it may be given out. Each id that was given out has its event, so there are no more of them
 * than events that were lost; these are estimated by the ledger's pace, generously (OPS-84).
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
