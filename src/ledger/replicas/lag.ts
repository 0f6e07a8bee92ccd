/** Length of a primary's write-ahead log (bytes since its beginning) at a time of this process's clock. */
export interface PrimaryProgress {
  readonly at_ms: number
  readonly bytes: number
}

/** Progress of a replica: replayed bytes, and the last replayed commit. */
export interface ReplicaProgress {
  readonly bytes: number
  /** Age of the last replayed commit by the primary's clock; null if there is none. */
  readonly commit_age_ms: number | null
}

/**
 * Upper bound of a replica's lag in ms. An idle primary causes no lag: a replica with the complete log is up to date,
 * however old its last commit is. `written` is ordered by time.
 */
export function replicaLag(
  written: readonly PrimaryProgress[],
  { bytes, commit_age_ms }: ReplicaProgress,
  now_ms: number,
): number {
  if ((written.at(-1)?.bytes ?? Number.POSITIVE_INFINITY) <= bytes) return 0
  const level = written.findLast((sample) => sample.bytes <= bytes)
  const sinceLevel_ms = level ? now_ms - level.at_ms : Number.POSITIVE_INFINITY
  return Math.max(0, Math.min(sinceLevel_ms, commit_age_ms ?? Number.POSITIVE_INFINITY))
}
