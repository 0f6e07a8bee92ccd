/** Lead of a till's clock that is tolerated without a warning. */
const TOLERANCE_MS = 5 * 60_000
const DAY_MS = 86_400_000
/** Age beyond which a fact is told as old. */
const OLD_MS = 60 * DAY_MS

/** Whether a till's clock is ahead beyond the tolerance. */
export const isFarAhead = (at: string, now: string): boolean => Date.parse(at) - Date.parse(now) > TOLERANCE_MS

/**
 * The instant (UTC) that a fact precedes although it should not: its oldest likely one, or the creation of a record that
 * it names, less a day, for what a till without a connection made first. Null if it is not old (UP-762).
 */
export function findOlder(at: string, now: string, created: readonly (string | undefined)[]): string | null {
  const known = created.flatMap((each) => (each === undefined ? [] : Date.parse(each) - DAY_MS))
  const earliest = Math.max(Date.parse(now) - OLD_MS, ...known)
  return Date.parse(at) < earliest ? new Date(earliest).toISOString() : null
}
