import { isWritable, type TargetSession } from './hosts.ts'

/** Status that a server reports. */
export interface ServerStatus {
  readonly is_standby: boolean
  /** Its sessions are read-only, on a replica or not. */
  readonly is_read_only: boolean
  /** Postgres's system identifier, which replicas share with their primary; null if unavailable. */
  readonly system: string | null
  /** Timeline of a primary: each promotion begins a new one. Null for a replica, or if unavailable. */
  readonly timeline: number | null
}

/** The newest timeline seen. A server with an older one is a former primary and must not be written to. */
export type PrimaryHistory = Pick<ServerStatus, 'system' | 'timeline'>

/** Reason why a server is not suitable; null if it is (OPS-112, OPS-114). */
export function rejectionReason(sight: ServerStatus, wanted: TargetSession, newest: PrimaryHistory): string | null {
  if (newest.system !== null && sight.system !== null && sight.system !== newest.system) return 'of another cluster'
  if (wanted === 'standby') return sight.is_standby ? null : 'a primary'
  if (wanted === 'any' || wanted === 'prefer-standby') return null
  if (sight.is_standby) return 'a standby'
  if (sight.timeline !== null && sight.timeline < (newest.timeline ?? 0))
    return `a former primary (timeline ${sight.timeline}, and ${newest.timeline} was seen)`
  return wanted === 'read-write' && sight.is_read_only ? 'read-only' : null
}

/**
 * Elects a server; null if none is suitable. Among writable servers the most recently promoted one wins; otherwise the
 * previously elected one, then the first one of the URL. `sights` are null for servers of unknown status.
 */
export function electServer(
  sights: readonly (ServerStatus | null)[],
  {
    wanted,
    newest,
    last,
  }: { readonly wanted: TargetSession; readonly newest: PrimaryHistory; readonly last: number | null },
): number | null {
  const fit = sights.flatMap((sight, index) =>
    sight && rejectionReason(sight, wanted, newest) === null ? [{ sight, index }] : [],
  )
  const preferred = fit.filter(({ sight }) => (wanted === 'prefer-standby' ? sight.is_standby : true))
  const all = preferred.length > 0 ? preferred : fit
  const timeline = Math.max(...all.map(({ sight }) => sight.timeline ?? 0))
  const best = isWritable(wanted) ? all.filter((e) => (e.sight.timeline ?? 0) === timeline) : all
  return (best.find(({ index }) => index === last) ?? best[0])?.index ?? null
}
