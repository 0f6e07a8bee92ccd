import { Unavailable } from '#lib/unavailable.ts'
import { isOutage } from '../outage.ts'

/** lock_not_available, query_canceled (statement time-out): another attempt at the same rows would only wait again. */
const WAITED_TOO_LONG = ['55P03', '57014']
/** unique_violation: somebody has just committed a name that is unique in the whole service; the next decision sees it. */
const NAME_TAKEN = '23505'
/** Class 53: out of disk, memory or connections. */
const EXHAUSTED = /^53/

/**
 * The groups in which requests are to be decided again after a unit of work that failed before anything was appended,
 * so that none fails for a fault of its neighbours; none at all when that would not help.
 */
export function retriesOf<T extends { readonly companyId: number }>(
  group: readonly T[],
  error: unknown,
  mayRepeat: boolean,
): (readonly T[])[] {
  const code = String((error as { code?: unknown } | null)?.code ?? '')
  if (error instanceof Unavailable || EXHAUSTED.test(code)) return []
  // It was one company's lock: the requests of that company wait together or fail together.
  if (WAITED_TOO_LONG.includes(code)) return several(companiesOf(group))
  // A lost connection or a deadlock is nobody's fault.
  if (isOutage(error)) return mayRepeat ? [group] : []
  if (group.length > 1) return group.map((request) => [request])
  return code === NAME_TAKEN && mayRepeat ? [group] : []
}

const several = <T>(groups: T[]): T[] => (groups.length > 1 ? groups : [])

function companiesOf<T extends { readonly companyId: number }>(group: readonly T[]): T[][] {
  const companies = new Map<number, T[]>()
  for (const request of group) {
    const requests = companies.get(request.companyId) ?? []
    companies.set(request.companyId, requests)
    requests.push(request)
  }
  return [...companies.values()]
}
