import { LRUCache } from 'lru-cache'
import { coalesce } from '#background/repeat.ts'
import { Unavailable } from '#lib/errors.ts'

/** Result of a look-up; `account` names the login that ends it (directory.ts). */
export interface LookUpResult {
  readonly companyId: number
  readonly shard: string
  readonly account: string | null
}

/** Freshness of a cached answer while the directory is reachable and notifications arrive (SHARD-22). */
const FRESH_MS = 60_000
/** Longest use of a cached answer while it is not. */
const LONGEST_MS = 24 * 3_600_000
/** Wait budget for a newer answer if an outdated one is cached. */
const WAIT_BUDGET_MS = 250
/** Pause after a failed look-up. */
const PAUSE_MS = 1_000
/** Keys in one statement, and queued keys. */
const BATCH = 500
const MAX_WAITING = 10_000

export interface DirectoryCacheOptions {
  /** Looks all keys up at once; results in the order of the keys. */
  readonly ask: (keys: readonly string[]) => Promise<readonly (readonly LookUpResult[])[]>
  /** Answers that are kept. */
  readonly maxEntries: number
  /** Monotonic, in milliseconds. */
  readonly now: () => number
}

export interface DirectoryCache {
  /** @throws Unavailable when it is neither known nor can be asked, or too many wait. */
  find(key: string): Promise<readonly LookUpResult[]>
  /** Like `find`, for what is never cached. */
  ask(key: string): Promise<readonly LookUpResult[]>
  /** Drops answers about a company, or those that end with an account. */
  drop(what: Partial<Pick<LookUpResult, 'companyId' | 'account'>>): void
  /**
   * Marks all answers as outdated, because notifications may have been missed. They are still used if the directory is
   * unreachable.
   */
  doubt(): void
  isUp(): boolean
}

interface CacheEntry {
  readonly found: readonly LookUpResult[]
  /** Time of the look-up. */
  readonly at: number
  isSuspect: boolean
}

interface PendingLookUp {
  readonly key: string
  readonly isCacheable: boolean
  readonly answer: Promise<readonly LookUpResult[]>
  readonly resolve: (found: readonly LookUpResult[]) => void
  readonly reject: (error: unknown) => void
}

function createPendingLookUp(key: string, isCacheable: boolean): PendingLookUp {
  let settle: Pick<PendingLookUp, 'resolve' | 'reject'> | undefined
  const answer = new Promise<readonly LookUpResult[]>((resolve, reject) => {
    settle = { resolve, reject }
  })
  return { key, isCacheable, answer, ...(settle as Pick<PendingLookUp, 'resolve' | 'reject'>) }
}

/** The newer answer if it arrives within the wait budget. */
async function withWaitBudget(
  newer: Promise<readonly LookUpResult[]>,
  known: readonly LookUpResult[],
): Promise<readonly LookUpResult[]> {
  let timer: NodeJS.Timeout | undefined
  const later = new Promise<readonly LookUpResult[]>((resolve) => {
    timer = setTimeout(() => resolve(known), WAIT_BUDGET_MS)
  })
  try {
    return await Promise.race([newer.catch(() => known), later])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Batches all waiting look-ups into one statement at a time: invented keys, which are never cached, take a place in it
 * but no connection (SHARD-21). Only found keys are cached; the least recently used go first.
 */
export function createDirectoryCache({ ask, maxEntries, now }: DirectoryCacheOptions): DirectoryCache {
  const cache = new LRUCache<string, CacheEntry>({ max: maxEntries })
  let waiting = new Map<string, PendingLookUp>()
  let failedAt = Number.NEGATIVE_INFINITY
  let isUp = true
  /** Incremented on each drop: an answer that was under way may be outdated. */
  let drops = 0

  const rounds = coalesce(async () => {
    while (waiting.size > 0) {
      const pending = [...waiting.values()].slice(0, BATCH)
      for (const { key } of pending) waiting.delete(key)
      await answer(pending)
    }
  })

  async function answer(pending: readonly PendingLookUp[]): Promise<void> {
    const dropsBefore = drops
    try {
      const answers = await ask(pending.map(({ key }) => key))
      isUp = true
      for (const [position, { key, isCacheable, resolve }] of pending.entries()) {
        const found = answers[position] ?? []
        if (isCacheable && drops === dropsBefore) cacheAnswer(key, found)
        resolve(found)
      }
    } catch (error) {
      isUp = false
      failedAt = now()
      // Rejects all waiting look-ups together.
      const all = [...pending, ...waiting.values()]
      waiting = new Map()
      for (const { reject } of all)
        reject(
          new Unavailable('directory lookup failed: database of the default shard is unreachable', { cause: error }),
        )
    }
  }

  function cacheAnswer(key: string, found: readonly LookUpResult[]): void {
    if (found.length === 0) cache.delete(key)
    else cache.set(key, { found, at: now(), isSuspect: false })
  }

  async function lookUp(key: string, isCacheable: boolean): Promise<readonly LookUpResult[]> {
    const known = waiting.get(key)
    if (known) return known.answer
    if (!isUp && now() - failedAt < PAUSE_MS)
      throw new Unavailable('directory lookup failed: database of the default shard is unreachable')
    if (waiting.size >= MAX_WAITING) throw new Unavailable('directory: too many look-ups are queued; try again later')
    const pending = createPendingLookUp(key, isCacheable)
    waiting.set(key, pending)
    rounds.ask()
    return pending.answer
  }

  return {
    ask: (key) => lookUp(key, false),
    async find(key) {
      const known = cache.get(key)
      const age = known ? now() - known.at : Number.POSITIVE_INFINITY
      if (!known || age > LONGEST_MS) return lookUp(key, true)
      if (age <= FRESH_MS && !known.isSuspect) return known.found
      return withWaitBudget(lookUp(key, true), known.found)
    },
    drop({ companyId, account }) {
      drops += 1
      for (const [key, { found }] of [...cache.entries()])
        if (found.some((one) => one.companyId === companyId || (account && one.account === account))) cache.delete(key)
    },
    doubt() {
      drops += 1
      for (const each of cache.values()) each.isSuspect = true
    },
    isUp: () => isUp,
  }
}
