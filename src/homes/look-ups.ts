import { coalesce } from '#background/repeat.ts'
import { Unavailable } from '#lib/unavailable.ts'

/** What was found under a key; `account` is of whom it ends with (directory.ts). */
export interface Found {
  readonly companyId: number
  readonly home: string
  readonly account: string | null
}

/** For so long an answer is good while the directory can be asked, and this process hears of changes (HOME-22). */
const FRESH_MS = 60_000
/** And for so long while it cannot. */
const LONGEST_MS = 24 * 3_600_000
/** Whoever has an answer that is older than fresh waits no longer for a newer one. */
const PATIENCE_MS = 250
/** A directory that has just failed is not asked again before. */
const PAUSE_MS = 1_000
/** Keys in one statement, and keys that wait for theirs. */
const BATCH = 500
const WAITING = 10_000

export interface LookUpOptions {
  /** Asks for all keys at once; what a key stands for, in the order of the keys. */
  readonly ask: (keys: readonly string[]) => Promise<readonly (readonly Found[])[]>
  /** Answers that are kept. */
  readonly kept: number
  /** Monotonic, in milliseconds. */
  readonly now: () => number
}

export interface LookUps {
  /** @throws Unavailable when it is neither known nor can be asked, or too many wait. */
  find(key: string): Promise<readonly Found[]>
  /** As `find`, of what is never kept. */
  ask(key: string): Promise<readonly Found[]>
  /** Answers about a company, or that end with an account, are asked for anew before they are given again. */
  drop(what: Partial<Pick<Found, 'companyId' | 'account'>>): void
  /** All are asked for anew, but given where they cannot be: changes may have been missed. */
  doubt(): void
  isUp(): boolean
}

interface Kept {
  readonly found: readonly Found[]
  /** When it was found. */
  readonly at: number
  isDoubted: boolean
}

interface Asked {
  readonly key: string
  readonly isKept: boolean
  readonly answer: Promise<readonly Found[]>
  readonly resolve: (found: readonly Found[]) => void
  readonly reject: (error: unknown) => void
}

function askedFor(key: string, isKept: boolean): Asked {
  let settle: Pick<Asked, 'resolve' | 'reject'> | undefined
  const answer = new Promise<readonly Found[]>((resolve, reject) => {
    settle = { resolve, reject }
  })
  return { key, isKept, answer, ...(settle as Pick<Asked, 'resolve' | 'reject'>) }
}

/** The newer answer where it comes soon. */
async function withPatience(newer: Promise<readonly Found[]>, known: readonly Found[]): Promise<readonly Found[]> {
  let timer: NodeJS.Timeout | undefined
  const later = new Promise<readonly Found[]>((resolve) => {
    timer = setTimeout(() => resolve(known), PATIENCE_MS)
  })
  try {
    return await Promise.race([newer.catch(() => known), later])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Look-ups by a statement for all that wait, one at a time: made-up keys, which are never kept, take a place in it and no
 * connection (HOME-21). Kept is what was found, the longest unasked goes first.
 */
export function createLookUps({ ask, kept: room, now }: LookUpOptions): LookUps {
  const kept = new Map<string, Kept>()
  let waiting = new Map<string, Asked>()
  let failedAt = Number.NEGATIVE_INFINITY
  let isUp = true
  /** Counts what was dropped: an answer that was on its way by then may be the one of before. */
  let drops = 0

  const rounds = coalesce(async () => {
    while (waiting.size > 0) {
      const asked = [...waiting.values()].slice(0, BATCH)
      for (const { key } of asked) waiting.delete(key)
      await answer(asked)
    }
  })

  async function answer(asked: readonly Asked[]): Promise<void> {
    const dropsBefore = drops
    try {
      const answers = await ask(asked.map(({ key }) => key))
      isUp = true
      for (const [position, { key, isKept, resolve }] of asked.entries()) {
        const found = answers[position] ?? []
        if (isKept && drops === dropsBefore) keep(key, found)
        resolve(found)
      }
    } catch (error) {
      isUp = false
      failedAt = now()
      // Whoever waits is not told one after the other.
      const all = [...asked, ...waiting.values()]
      waiting = new Map()
      for (const { reject } of all) reject(new Unavailable('the directory cannot be asked', { cause: error }))
    }
  }

  function keep(key: string, found: readonly Found[]): void {
    kept.delete(key)
    if (found.length === 0) return
    kept.set(key, { found, at: now(), isDoubted: false })
    const [first] = kept.size > room ? kept.keys() : []
    if (first !== undefined) kept.delete(first)
  }

  async function lookUp(key: string, isKept: boolean): Promise<readonly Found[]> {
    const known = waiting.get(key)
    if (known) return known.answer
    if (!isUp && now() - failedAt < PAUSE_MS) throw new Unavailable('the directory cannot be asked')
    if (waiting.size >= WAITING) throw new Unavailable('too many look-ups wait')
    const asked = askedFor(key, isKept)
    waiting.set(key, asked)
    rounds.ask()
    return asked.answer
  }

  return {
    ask: (key) => lookUp(key, false),
    async find(key) {
      const known = kept.get(key)
      const age = known ? now() - known.at : Number.POSITIVE_INFINITY
      if (!known || age > LONGEST_MS) return lookUp(key, true)
      if (age <= FRESH_MS && !known.isDoubted) return known.found
      return withPatience(lookUp(key, true), known.found)
    },
    drop({ companyId, account }) {
      drops += 1
      for (const [key, { found }] of kept)
        if (found.some((one) => one.companyId === companyId || (account && one.account === account))) kept.delete(key)
    },
    doubt() {
      drops += 1
      for (const each of kept.values()) each.isDoubted = true
    },
    isUp: () => isUp,
  }
}
