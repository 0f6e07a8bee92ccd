import { TenantLimitExceeded } from '#lib/errors.ts'
import { createFairShareLimiter, type LimiterFigures } from '#lib/fair-share-limiter.ts'
import { createPerKeyQueue } from '#lib/per-key-queue.ts'

export interface Queued {
  readonly companyId: number
  readonly invocations: readonly unknown[]
  /** Equivalent number of usual commands, if the request is more work than its commands suggest. */
  readonly weight?: number | undefined
  /** Runs in a bulk lane, so that writes of other companies do not wait for it. */
  readonly takesLong?: boolean
}

export interface QueueLimits {
  /** Commands of one group. A request that is larger or long-running is a group by itself. */
  readonly groupCommands: number
  /** Concurrent groups, over disjoint companies. */
  readonly lanes: number
  /** Concurrent large or long-running requests, beside those groups. */
  readonly largeLanes: number
  /** Waiting commands of all companies. One company is limited to its fair share (createFairShareLimiter). */
  readonly waitingCommands: number
}

export interface Queue<T extends Queued> extends LimiterFigures {
  /** @throws TenantLimitExceeded if too many commands of the company wait already. */
  push(item: T): void
  /** Resolves when the queue is empty and no group runs. */
  idle(): Promise<void>
}

/**
 * A request without commands counts as one, so that the number of waiting requests is bounded. `weight` keeps a group
 * of 32 sales with 500 lines each from blocking the event loop.
 */
const weightOf = ({ invocations, weight = 1 }: Queued): number => Math.max(1, weight, invocations.length)

/**
 * Groups requests for one commit: one request per waiting company, round-robin, until the group is full; each company's
 * requests in order of arrival. Up to `lanes` groups run at once over disjoint companies. There is no timer: requests
 * that arrive while the lanes are busy form the next group.
 */
export function createQueue<T extends Queued>(limits: QueueLimits, runGroup: (group: T[]) => Promise<void>): Queue<T> {
  const room = createFairShareLimiter(limits.waitingCommands)
  const lines = createPerKeyQueue<number, T>()
  const busyCompanies = new Set<number>()
  const lanesBusy = { small: 0, large: 0 }
  let scheduled = false
  let idleCallbacks: (() => void)[] = []

  /** A request that exceeds the bound is accepted if nothing else waits. */
  const sizeOf = (item: Queued): number => Math.min(limits.waitingCommands, weightOf(item))

  const isLarge = (item: Queued): boolean => item.takesLong === true || sizeOf(item) > limits.groupCommands

  function take(item: T): void {
    lines.take(item.companyId, item)
    room.release(item.companyId, sizeOf(item))
  }

  /** A head that does not fit into the group blocks its company's queue, which keeps the order of arrival. */
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
    // `runGroup` handles its own failures; the queue goes on.
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
