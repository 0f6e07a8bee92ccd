import {
  createKeyedSemaphore,
  type KeyedSemaphore,
  type LimiterFigures,
  type SemaphoreLimits,
} from '#lib/fair-sharing.ts'
import { createMemoryBudget, type MemoryBudget, type MemoryLimits } from '#lib/memory.ts'
import { type Compress, createCompress, createOutgoing, type Outgoing } from './answers.ts'
import type { UnauthenticatedBodies } from './bodies.ts'
import { createPageCache, type PageCache } from './page-cache.ts'
import type { RequestLog } from './request-log.ts'

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
