import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Representation } from '#http/representation.ts'

/** What a page follows from, beside the request: the same page of the same moment is the same bytes. */
export interface PageMoment {
  /** Of the company's ledger. */
  readonly revision: number
  /** Identifies the read model's tables: a rebuild puts others in their place, at the same revision. */
  readonly tables: number
  /** The company's day. */
  readonly today: string
}

/** Pages that were sent, for those who ask for them again and again, before the company's ledger has moved. */
export interface PageCache {
  /** `key` names the company and the whole request. Null when the page is not held, or as of another moment. */
  find(key: string, moment: PageMoment): Representation | null
  /**
   * From the second time on that it is read from the tables, unless as much was read in between as there is room: most pages are
   * asked for once, and those of a whole history would be let go of before anybody asks for them again.
   */
  keep(key: string, moment: PageMoment, page: Representation): void
}

interface Kept {
  readonly moment: PageMoment
  readonly page: Representation
  readonly size_bytes: number
}

/** One page may take so much of the room, so that a few large ones do not drive out all others. */
const LARGEST_SHARE = 1 / 8

/** What a page takes beside its bytes and its key, roughly. */
const OVERHEAD_BYTES = 512

/** Requests that were answered from the tables lately, of all companies, at most. */
const REMEMBERED = 10_000

/**
 * Holds pages up to `capacity_bytes` and lets go of those that were not asked for longest. It decides nothing about time: who
 * asks says which moment it must be, from what the gate has read in Postgres after the request came (decision 28).
 */
export function createPageCache(capacity_bytes: number): PageCache {
  const room = { maxSize: Math.max(1, capacity_bytes) }
  const pages = new LRUCache<string, Kept>({ ...room, sizeCalculation: ({ size_bytes }) => size_bytes })
  /** Sizes of pages that were read once, by digests of requests: addresses may be long. */
  const seen = new LRUCache<string, number>({ ...room, max: REMEMBERED, sizeCalculation: (size_bytes) => size_bytes })

  /** Whether it was read before; that it is now, is remembered. */
  function isReadAgain(key: string, size_bytes: number): boolean {
    const digest = hash('sha256', key, 'base64')
    if (seen.delete(digest)) return true
    seen.set(digest, size_bytes)
    return false
  }

  return {
    find(key, moment) {
      const kept = pages.peek(key)
      return kept && isSame(kept.moment, moment) ? (pages.get(key)?.page ?? null) : null
    },
    keep(key, moment, page) {
      const { etag, identity, br, gzip } = page
      const size_bytes = [identity, br, gzip].reduce(
        (sum, bytes) => sum + (bytes?.length ?? 0),
        2 * key.length + OVERHEAD_BYTES,
      )
      if (size_bytes > capacity_bytes * LARGEST_SHARE || isOlder(moment, pages.peek(key)?.moment)) return
      if (!pages.has(key) && !isReadAgain(key, size_bytes)) return
      const kept = {
        etag,
        identity: copied(identity),
        ...(br && { br: copied(br) }),
        ...(gzip && { gzip: copied(gzip) }),
      }
      pages.set(key, { moment, page: kept, size_bytes })
    },
  }
}

const isSame = (a: PageMoment, b: PageMoment): boolean =>
  a.revision === b.revision && a.tables === b.tables && a.today === b.today

/** A standby's page does not drive out one that is newer. */
const isOlder = (a: PageMoment, b: PageMoment | undefined): boolean => b?.tables === a.tables && a.revision < b.revision

/** In memory of its own: an answer's is used again, and a small buffer is cut from one of Node's, which lives as long as any piece. */
function copied(body: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(body.length)
  body.copy(copy)
  return copy
}
