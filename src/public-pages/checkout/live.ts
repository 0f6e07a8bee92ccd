import type { Pool } from 'pg'
import { Unavailable } from '#lib/errors.ts'
import { createFairShareLimiter } from '#lib/fair-share-limiter.ts'
import type { LiveUpdates } from '#live/updates.ts'
import { revisionsOfOrders } from '#queries/orders.ts'

/** Open pages of one order, and of this process, shared fairly between companies (ORDER-36). */
const PAGES_OF_ORDER = 10
const PAGES = 1_000

/** Minimum interval between queries of a company's orders, in ms: a busy company commits many times a second. */
const PAUSE_MS = 250

/** An open page. The callbacks must not throw. */
interface Follower {
  /** The order has changed, as of this revision. */
  moved(revision: number): void
  /** No further updates follow. */
  ended(): void
}

interface Followed {
  readonly companyId: number
  readonly orderId: number
  /** Revision of the order that the page shows. */
  readonly since: number
}

/** Notifies pages of changes of their order. */
interface OrderUpdates {
  /**
   * Reports changes after `since`, immediately if there are any. Returns the unsubscribe function. @throws Unavailable
   * when the bound is reached
   */
  follow(followed: Followed, follower: Follower): () => void
}

interface OrderUpdatesOptions {
  readonly live: LiveUpdates
  readonly pool: Pool
  readonly onError: (error: unknown) => void
}

interface Following {
  readonly orderId: number
  known: number
  readonly follower: Follower
}

/** The open pages of a company's buyers. */
interface Group {
  readonly pages: Set<Following>
  look(): void
  leave(): void
}

/**
 * One subscription and one query per change serve all buyers of a company. They take no slots from the panel, and other
 * sales are not revealed to buyers.
 */
export function createOrderUpdates({ live, pool, onError }: OrderUpdatesOptions): OrderUpdates {
  const places = createFairShareLimiter(PAGES)
  const groups = new Map<number, Group>()

  function open(companyId: number): Group {
    const pages = new Set<Following>()
    let state: 'idle' | 'looking' | 'moved meanwhile' = 'idle'

    async function lookUp(): Promise<void> {
      state = 'looking'
      try {
        const ids = [...new Set([...pages].map(({ orderId }) => orderId))]
        const revisions = new Map((await revisionsOfOrders(pool, companyId, ids)).map((row) => [row.id, row.revision]))
        for (const page of pages) tell(page, revisions.get(page.orderId) ?? 0)
      } catch (error) {
        onError(error)
      }
      setTimeout(() => {
        const isMoved = state === 'moved meanwhile'
        state = 'idle'
        if (isMoved && pages.size > 0) void lookUp()
      }, PAUSE_MS).unref()
    }

    const look = () => {
      if (state === 'idle') void lookUp()
      else state = 'moved meanwhile'
    }
    const leave = live.subscribe(companyId, -1, {
      moved: look,
      ended() {
        groups.delete(companyId)
        for (const { follower } of pages) follower.ended()
      },
    })
    return { pages, look, leave }
  }

  function openOrGive(companyId: number): Group {
    try {
      return open(companyId)
    } catch (error) {
      places.release(companyId, 1)
      throw error
    }
  }

  return {
    follow({ companyId, orderId, since }, follower) {
      const pages = [...(groups.get(companyId)?.pages ?? [])]
      const ofOrder = pages.filter((page) => page.orderId === orderId).length
      if (ofOrder >= PAGES_OF_ORDER) throw new Unavailable('too many open pages of this order')
      if (!places.acquire(companyId, 1)) throw new Unavailable('too many open checkout pages')
      const group = groups.get(companyId) ?? openOrGive(companyId)
      const page: Following = { orderId, known: since, follower }
      group.pages.add(page)
      groups.set(companyId, group)
      group.look()
      return () => {
        if (!group.pages.delete(page)) return
        places.release(companyId, 1)
        if (group.pages.size > 0) return
        group.leave()
        if (groups.get(companyId) === group) groups.delete(companyId)
      }
    },
  }
}

function tell(page: Following, revision: number): void {
  if (revision <= page.known) return
  page.known = revision
  page.follower.moved(revision)
}
