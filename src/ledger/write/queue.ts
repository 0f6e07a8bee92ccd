import { Unavailable } from '#lib/unavailable.ts'

export interface Queued {
  readonly companyId: number
  readonly invocations: readonly unknown[]
}

export interface QueueLimits {
  /** Commands of one group; a larger request is a group by itself. */
  readonly groupCommands: number
  /** Groups under way at once, over disjoint companies. */
  readonly lanes: number
  /** Commands waiting; more are refused as unavailable. */
  readonly waitingCommands: number
}

export interface Queue<T extends Queued> {
  /** @throws Unavailable when too many commands wait already. */
  push(item: T): void
  /** Resolves when nothing waits and nothing is under way. */
  idle(): Promise<void>
}

/** A request without commands counts as one, or nothing would bound how many of them wait. */
const sizeOf = (item: Queued): number => Math.max(1, item.invocations.length)

/**
 * Groups requests of any companies for one commit, in order of arrival, and runs up to `lanes` groups at once over
 * disjoint companies. There is no timer: whatever arrived while the lanes were busy is the next group.
 */
export function createQueue<T extends Queued>(limits: QueueLimits, runGroup: (group: T[]) => Promise<void>): Queue<T> {
  let waiting: T[] = []
  let waitingCommands = 0
  let lanesBusy = 0
  let scheduled = false
  const busyCompanies = new Set<number>()
  let idleCallbacks: (() => void)[] = []

  function take(): T[] {
    const group: T[] = []
    const passedOver = new Set<number>(busyCompanies)
    const rest: T[] = []
    let commands = 0
    for (const [position, item] of waiting.entries()) {
      if (commands >= limits.groupCommands) {
        rest.push(...waiting.slice(position))
        break
      }
      const size = sizeOf(item)
      const fits = group.length === 0 || commands + size <= limits.groupCommands
      if (passedOver.has(item.companyId) || !fits) {
        // Whatever is passed over keeps its place before later requests of its company.
        passedOver.add(item.companyId)
        rest.push(item)
      } else {
        group.push(item)
        commands += size
      }
    }
    waiting = rest
    waitingCommands -= commands
    return group
  }

  function pump(): void {
    scheduled = false
    while (lanesBusy < limits.lanes && waiting.length > 0) {
      const group = take()
      if (group.length === 0) return
      const companies = new Set(group.map((item) => item.companyId))
      for (const company of companies) busyCompanies.add(company)
      lanesBusy += 1
      const leave = () => {
        lanesBusy -= 1
        for (const company of companies) busyCompanies.delete(company)
        if (waiting.length === 0 && lanesBusy === 0) {
          for (const callback of idleCallbacks) callback()
          idleCallbacks = []
        }
        pump()
      }
      // Whoever runs groups answers for their failures; the queue only goes on.
      void Promise.resolve(group).then(runGroup).then(leave, leave)
    }
  }

  return {
    push(item) {
      const size = sizeOf(item)
      if (waiting.length > 0 && waitingCommands + size > limits.waitingCommands)
        throw new Unavailable('too many commands are waiting')
      waiting.push(item)
      waitingCommands += size
      // Requests that were read from sockets in the same turn of the event loop share the group.
      if (!scheduled) {
        scheduled = true
        setImmediate(pump)
      }
    },
    idle: () =>
      waiting.length === 0 && lanesBusy === 0
        ? Promise.resolve()
        : new Promise((resolve) => idleCallbacks.push(resolve)),
  }
}
