import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import {
  createKeyedSemaphore,
  createMemoryBudget,
  type KeyedSemaphore,
  type LimiterFigures,
  type MemoryBudget,
  type MemoryLimits,
  type SemaphoreLimits,
} from '#lib/fair-sharing.ts'
import { type Compress, createCompress, createOutgoing, type Outgoing, type Representation } from './answers.ts'
import type { UnauthenticatedBodies } from './bodies.ts'
import type { RequestLog } from './request-log.ts'

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

/** What the requests of a process share: memory, turns, kept pages, the log. */
export interface Traffic {
  /** Memory for request bodies. */
  readonly bodies: MemoryBudget
  /** Memory for bodies of clients without a key or login. */
  readonly unauthenticatedBodies: UnauthenticatedBodies
  /** Limits requests with large bodies. */
  readonly largeCalls: KeyedSemaphore
  /** Limits pages and forms of the panel, by user. */
  readonly panelTurns: KeyedSemaphore
  /** Large answers to tills. */
  readonly outgoing: Outgoing
  readonly compress: Compress
  readonly pages: PageCache
  /** Called for each cacheable answer of API v1 with its source. */
  readonly onPage: (from: 'memory' | 'tables') => void
  /** Log of the companies' requests. */
  readonly calls: RequestLog
}

const MEBIBYTE = 1_048_576

/** Memory for request bodies until their answers are sent. A body has at most 1 MB, an upload of a till 5. */
const BODIES: MemoryLimits = { allBytes: 64 * MEBIBYTE, companyBytes: 32 * MEBIBYTE }

/**
 * Concurrent requests with large bodies, limited per company so that slow senders do not block other companies. The
 * body of a waiting request is not read.
 */
const LARGE_CALLS: SemaphoreLimits = { running: Number.POSITIVE_INFINITY, runningOfKey: 4, waiting: 256 }

/**
 * Panel pages and forms per user. Browsers send six requests at a time. The queue holds the quota of two sessions for a
 * minute.
 */
const PANEL_TURNS: SemaphoreLimits = { running: Number.POSITIVE_INFINITY, runningOfKey: 6, waiting: 1_024 }

/**
 * Memory for bodies of unauthenticated clients, separate for each of the four kinds. A login has up to 16 KB, a
 * notification 8.
 */
const STRANGERS: MemoryLimits = { allBytes: 16 * MEBIBYTE, companyBytes: MEBIBYTE / 2 }

interface TrafficOptions extends Pick<Traffic, 'onPage' | 'calls'> {
  readonly cacheMebibytes: number
  /** Called with each shared limit, for metrics. */
  readonly watchShared: (name: string, figures: LimiterFigures) => void
}

/** Unauthenticated clients and companies have separate limits. */
export function createTraffic({ cacheMebibytes, watchShared, ...given }: TrafficOptions): Traffic {
  const bodies = createMemoryBudget(BODIES)
  const largeCalls = createKeyedSemaphore(LARGE_CALLS)
  const panelTurns = createKeyedSemaphore(PANEL_TURNS)
  const outgoing = createOutgoing()
  watchShared('body_bytes', bodies)
  watchShared('large_requests', largeCalls)
  watchShared('panel_requests', panelTurns)
  watchShared('downloads', outgoing.waiting)
  watchShared('download_bytes', outgoing.bytes)
  watchShared('request_log', given.calls)
  const unauthenticatedBodies = {
    panelLogins: createMemoryBudget(STRANGERS),
    tillLogins: createMemoryBudget(STRANGERS),
    notifications: createMemoryBudget(STRANGERS),
    checkouts: createMemoryBudget(STRANGERS),
  }
  const pages = createPageCache(cacheMebibytes * MEBIBYTE)
  return {
    ...given,
    bodies,
    unauthenticatedBodies,
    largeCalls,
    panelTurns,
    outgoing,
    compress: createCompress(),
    pages,
  }
}
