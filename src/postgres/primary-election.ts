import { isWritable, type TargetSession } from './hosts.ts'

/** What a server says of itself. */
export interface ServerStatus {
  readonly is_standby: boolean
  /** Its sessions take no writes, whether it is a standby or not. */
  readonly is_read_only: boolean
  /** Postgres's own name of the cluster, which standbys share with their primary; null where it does not tell. */
  readonly system: string | null
  /** Of the history that a primary writes: each promotion begins the next one. Null for a standby, and where it does not tell. */
  readonly timeline: number | null
}

/** The newest history that was seen: whoever has an older one was the primary once, and must not be written to any more. */
export type PrimaryHistory = Pick<ServerStatus, 'system' | 'timeline'>

/** Why a server is not what is wanted, in words; null where it is (OPS-112, OPS-114). */
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
 * Which server is taken; null while none is fit. Of several that take writes it is the one that was promoted last; else the
 * one that was right last, and the first one of the URL. `sights` are null where nothing is known.
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
