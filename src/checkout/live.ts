import type { Pool } from 'pg'
import { createSharedRoom } from '#lib/shared-room.ts'
import { Unavailable } from '#lib/unavailable.ts'
import type { LiveUpdates } from '#live/updates.ts'
import { revisionsOfOrders } from '#queries/orders.ts'

/** Pages that follow one order, and all that this process serves, which companies share (ORDER-36). */
const PAGES_OF_ORDER = 10
const PAGES = 1_000

/** Between two looks at the orders of a company: one that sells much moves many times a second. */
const PAUSE_MS = 250

/** An open page. Neither may throw. */
interface Follower {
  /** The order has changed, as of this revision. */
  moved(revision: number): void
  /** Nothing more will be told. */
  ended(): void
}

interface Followed {
  readonly companyId: number
  readonly orderId: number
  /** The revision of the order's last change that the page shows. */
  readonly since: number
}

/** Tells pages of the changes of their order. */
interface OrderUpdates {
  /** Tells changes after `since`, at once if there were any. Returns what ends it. @throws Unavailable when too many follow. */
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
 * However many buyers look at orders of a company, it is followed once, and its moves cost one look at all these orders: they
 * take no places from the panel's pages, and no sale at the counter is told to buyers.
 */
export function createOrderUpdates({ live, pool, onError }: OrderUpdatesOptions): OrderUpdates {
  const places = createSharedRoom(PAGES)
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
      places.give(companyId, 1)
      throw error
    }
  }

  return {
    follow({ companyId, orderId, since }, follower) {
      const pages = [...(groups.get(companyId)?.pages ?? [])]
      const ofOrder = pages.filter((page) => page.orderId === orderId).length
      if (ofOrder >= PAGES_OF_ORDER) throw new Unavailable('no more pages can follow this order')
      if (!places.take(companyId, 1)) throw new Unavailable('no more pages of buyers can follow')
      const group = groups.get(companyId) ?? openOrGive(companyId)
      const page: Following = { orderId, known: since, follower }
      group.pages.add(page)
      groups.set(companyId, group)
      group.look()
      return () => {
        if (!group.pages.delete(page)) return
        places.give(companyId, 1)
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
