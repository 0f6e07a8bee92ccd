import type { Request, Response } from 'express'
import type { Pool } from 'pg'
import { type LiveUpdates, type PageFollower, streamChanges } from '#http/live-updates.ts'
import { Unavailable } from '#lib/errors.ts'
import { createFairShareLimiter } from '#lib/fair-sharing.ts'
import { type BuyersOrder, revisionsOfOrders } from '#queries/order-queries.ts'
import { fullReader } from '#queries/reader.ts'

/** Open pages of one order, and of this process, shared fairly between companies. */
const PAGES_OF_ORDER = 10
const PAGES = 1_000

/** Minimum interval between queries of a company's orders, in ms: a busy company commits many times a second. */
const PAUSE_MS = 250

interface FollowedOrder {
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
  follow(followed: FollowedOrder, follower: PageFollower): () => void
}

interface OrderUpdatesOptions {
  readonly live: LiveUpdates
  readonly pool: Pool
  readonly onError: (error: unknown) => void
}

interface FollowerState {
  readonly orderId: number
  known: number
  readonly follower: PageFollower
}

/** The open pages of a company's buyers. */
interface CompanyPages {
  readonly pages: Set<FollowerState>
  checkForChanges(): void
  leave(): void
}

/**
 * One subscription and one query per change serve all buyers of a company. They take no slots from the panel, and other
 * sales are not revealed to buyers.
 */
export function createOrderUpdates({ live, pool, onError }: OrderUpdatesOptions): OrderUpdates {
  const slots = createFairShareLimiter(PAGES)
  const groups = new Map<number, CompanyPages>()

  function open(companyId: number): CompanyPages {
    const pages = new Set<FollowerState>()
    let state: 'idle' | 'reading' | 'moved meanwhile' = 'idle'

    async function readRevisions(): Promise<void> {
      state = 'reading'
      try {
        const ids = [...new Set([...pages].map(({ orderId }) => orderId))]
        const revisions = new Map(
          (await revisionsOfOrders(fullReader(pool, companyId), ids)).map((row) => [row.id, row.revision]),
        )
        for (const page of pages) notifyFollower(page, revisions.get(page.orderId) ?? 0)
      } catch (error) {
        onError(error)
      }
      setTimeout(() => {
        const isMoved = state === 'moved meanwhile'
        state = 'idle'
        if (isMoved && pages.size > 0) void readRevisions()
      }, PAUSE_MS).unref()
    }

    const checkForChanges = () => {
      if (state === 'idle') void readRevisions()
      else state = 'moved meanwhile'
    }
    const leave = live.subscribe(companyId, -1, {
      moved: checkForChanges,
      ended() {
        groups.delete(companyId)
        for (const { follower } of pages) follower.ended()
      },
    })
    return { pages, checkForChanges, leave }
  }

  function openOrRelease(companyId: number): CompanyPages {
    try {
      return open(companyId)
    } catch (error) {
      slots.release(companyId, 1)
      throw error
    }
  }

  return {
    follow({ companyId, orderId, since }, follower) {
      const pages = [...(groups.get(companyId)?.pages ?? [])]
      const ofOrder = pages.filter((page) => page.orderId === orderId).length
      if (ofOrder >= PAGES_OF_ORDER) throw new Unavailable('too many open pages of this order')
      if (!slots.acquire(companyId, 1)) throw new Unavailable('too many open checkout pages')
      const group = groups.get(companyId) ?? openOrRelease(companyId)
      const page: FollowerState = { orderId, known: since, follower }
      group.pages.add(page)
      groups.set(companyId, group)
      group.checkForChanges()
      return () => {
        if (!group.pages.delete(page)) return
        slots.release(companyId, 1)
        if (group.pages.size > 0) return
        group.leave()
        if (groups.get(companyId) === group) groups.delete(companyId)
      }
    },
  }
}

function notifyFollower(page: FollowerState, revision: number): void {
  if (revision <= page.known) return
  page.known = revision
  page.follower.moved(revision)
}

/** Heartbeat interval. */
const BEAT_MS = 20_000

export type Followers = ReturnType<typeof createOrderUpdates>

/** Tells an open page that its order has changed. */
export function streamTo(
  followers: Followers,
  { companyId, order }: BuyersOrder,
  request: Request,
  response: Response,
) {
  streamChanges(request, response, {
    follow: (since, follower) => followers.follow({ companyId, orderId: order.id, since }, follower),
    every(beat) {
      const beats = setInterval(beat, BEAT_MS)
      return () => clearInterval(beats)
    },
  })
}
