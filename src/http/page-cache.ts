import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Representation } from './answers.ts'

/** Everything that a page depends on besides the request: pages with an equal moment have equal bytes. */
export interface PageMoment {
  /** Revision of the company's ledger. */
  readonly revision: number
  /** Identifies the read model's tables. A rebuild replaces them at the same revision. */
  readonly tables: number
  /** The company's day. */
  readonly today: string
}

/** Cache for repeated requests between two changes of the company's ledger. */
export interface PageCache {
  /** `key` identifies the company and the request. Null if the page is not cached, or at another moment. */
  find(key: string, moment: PageMoment): Representation | null
  /**
   * Caches a page from its second read on, unless the reads in between exceed the capacity. Most pages are requested
   * once, and those of a whole history would be evicted before their next request.
   */
  keep(key: string, moment: PageMoment, page: Representation): void
}

interface CachedPage {
  readonly moment: PageMoment
  readonly page: Representation
  readonly size_bytes: number
}

/** Largest share of the capacity for one page, so that a few large pages do not evict all others. */
const LARGEST_SHARE = 1 / 8

/** Approximate memory of a page besides its bytes and key. */
const OVERHEAD_BYTES = 512

/** Maximum of remembered requests, of all companies. */
const REMEMBERED = 10_000

/**
 * LRU cache of up to `capacity_bytes`. It has no expiry: the caller passes the moment that the page must have, read
 * from Postgres by authentication after the request arrived (ADR-0020).
 */
export function createPageCache(capacity_bytes: number): PageCache {
  const room = { maxSize: Math.max(1, capacity_bytes) }
  const pages = new LRUCache<string, CachedPage>({ ...room, sizeCalculation: ({ size_bytes }) => size_bytes })
  /** Sizes of pages that were read once, by digests of requests: addresses may be long. */
  const seen = new LRUCache<string, number>({ ...room, max: REMEMBERED, sizeCalculation: (size_bytes) => size_bytes })

  /** Whether the page was read before; also remembers this read. */
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
        identity: copyBuffer(identity),
        ...(br && { br: copyBuffer(br) }),
        ...(gzip && { gzip: copyBuffer(gzip) }),
      }
      pages.set(key, { moment, page: kept, size_bytes })
    },
  }
}

const isSame = (a: PageMoment, b: PageMoment): boolean =>
  a.revision === b.revision && a.tables === b.tables && a.today === b.today

/** A page of a read replica does not replace a newer one. */
const isOlder = (a: PageMoment, b: PageMoment | undefined): boolean => b?.tables === a.tables && a.revision < b.revision

/**
 * Copies to separate memory. The buffer of an answer is reused, and a small buffer is a slice of Node's pool, which
 * would stay in memory as a whole.
 */
function copyBuffer(body: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(body.length)
  body.copy(copy)
  return copy
}
