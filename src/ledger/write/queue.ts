import { TenantLimitExceeded } from '#lib/errors.ts'
import { createFairShareLimiter, type LimiterFigures } from '#lib/fair-share-limiter.ts'
import { createPerKeyQueue } from '#lib/per-key-queue.ts'

export interface Queued {
  readonly companyId: number
  readonly invocations: readonly unknown[]
  /** Equivalent number of usual commands, if the request is more work than its commands suggest. */
  readonly weight?: number | undefined
  /** As a larger request: nobody else's write waits for it. */
  readonly takesLong?: boolean
}

export interface QueueLimits {
  /** Commands of one group; a request that is larger or takes long is a group by itself. */
  readonly groupCommands: number
  /** Groups under way at once, over disjoint companies. */
  readonly lanes: number
  /** Such requests that are under way at once, beside those groups: nobody else's write waits for them. */
  readonly largeLanes: number
  /** Commands waiting, of all companies; one company's share is refused beyond (createFairShareLimiter). */
  readonly waitingCommands: number
}

export interface Queue<T extends Queued> extends LimiterFigures {
  /** @throws TenantLimitExceeded when too many commands of the company wait already. */
  push(item: T): void
  /** Resolves when nothing waits and nothing is under way. */
  idle(): Promise<void>
}

/**
 * A request without commands counts as one, so that the number of waiting requests is bounded. `weight` keeps a group of 32 sales
 * with 500 lines each from blocking the event loop.
 */
const weightOf = ({ invocations, weight = 1 }: Queued): number => Math.max(1, weight, invocations.length)

/**
 * Groups requests for one commit: of each company that waits one, in turns, until the group is full, and each company's in
 * order of arrival. Up to `lanes` groups run at once over disjoint companies. There is no timer: whatever arrived while the
 * lanes were busy is the next group.
 */
export function createQueue<T extends Queued>(limits: QueueLimits, runGroup: (group: T[]) => Promise<void>): Queue<T> {
  const room = createFairShareLimiter(limits.waitingCommands)
  const lines = createPerKeyQueue<number, T>()
  const busyCompanies = new Set<number>()
  const lanesBusy = { small: 0, large: 0 }
  let scheduled = false
  let idleCallbacks: (() => void)[] = []

  /** One that is beyond all bounds may wait alone. */
  const sizeOf = (item: Queued): number => Math.min(limits.waitingCommands, weightOf(item))

  const isLarge = (item: Queued): boolean => item.takesLong === true || sizeOf(item) > limits.groupCommands

  function take(item: T): void {
    lines.take(item.companyId, item)
    room.release(item.companyId, sizeOf(item))
  }

  /** What comes first in a line may be too much for the group: then all behind it waits too. */
  function takeGroup(): T[] {
    const group: T[] = []
    let commands = 0
    for (const [companyId, item] of lines.heads()) {
      if (commands >= limits.groupCommands) break
      if (busyCompanies.has(companyId) || isLarge(item) || commands + sizeOf(item) > limits.groupCommands) continue
      take(item)
      group.push(item)
      commands += sizeOf(item)
    }
    return group
  }

  function takeLarge(): T[] {
    for (const [companyId, item] of lines.heads()) {
      if (busyCompanies.has(companyId) || !isLarge(item)) continue
      take(item)
      return [item]
    }
    return []
  }

  function start(group: T[], kind: keyof typeof lanesBusy): void {
    const companies = new Set(group.map((item) => item.companyId))
    for (const company of companies) busyCompanies.add(company)
    lanesBusy[kind] += 1
    const leave = () => {
      lanesBusy[kind] -= 1
      for (const company of companies) busyCompanies.delete(company)
      pump()
      if (!isIdle()) return
      for (const callback of idleCallbacks) callback()
      idleCallbacks = []
    }
    // Whoever runs groups answers for their failures; the queue only goes on.
    void Promise.resolve(group).then(runGroup).then(leave, leave)
  }

  function pump(): void {
    scheduled = false
    for (const kind of ['small', 'large'] as const) {
      while (lanesBusy[kind] < (kind === 'small' ? limits.lanes : limits.largeLanes)) {
        const group = kind === 'small' ? takeGroup() : takeLarge()
        if (group.length === 0) break
        start(group, kind)
      }
    }
  }

  const isIdle = (): boolean => lines.isEmpty() && lanesBusy.small + lanesBusy.large === 0

  return {
    get used() {
      return room.used
    },
    get refused() {
      return room.refused
    },
    push(item) {
      const { companyId } = item
      if (!room.acquire(companyId, sizeOf(item))) throw new TenantLimitExceeded('write queue of the company is full')
      lines.add(companyId, item)
      // Requests that were read from sockets in the same turn of the event loop share the group.
      if (!scheduled) {
        scheduled = true
        setImmediate(pump)
      }
    },
    idle: () => (isIdle() ? Promise.resolve() : new Promise((resolve) => idleCallbacks.push(resolve))),
  }
}
