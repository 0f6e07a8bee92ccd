/** How far a primary had written its log (bytes since its beginning) at a time of this process's clock. */
export interface PrimaryProgress {
  readonly at_ms: number
  readonly bytes: number
}

/** What a standby has replayed of it: so far, and up to which commit. */
export interface ReplicaProgress {
  readonly bytes: number
  /** How long ago, by the primary's clock, its last replayed commit was made; null where there was none. */
  readonly commit_age_ms: number | null
}

/**
 * For how long at most there has been something that a standby does not show, in milliseconds. A primary that writes nothing
 * is not waited for: whoever has all of its log is level, however old its last commit is. `written` is in order of time.
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
