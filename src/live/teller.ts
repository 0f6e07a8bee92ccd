import { setTimeout as pause } from 'node:timers/promises'
import type { Pool } from 'pg'
import { coalesce } from '#lib/repeat.ts'
import { messagesOf, NEWS_CHANNEL, type News } from './payload.ts'

/** At most four statements a second, however much is committed: nobody reads faster, and each takes its share from the sales. */
const PAUSE_MS = 250

/** Tells all processes what was committed, so that open pages follow. */
export interface Teller {
  tell(news: readonly News[]): void
  /** Resolves when everything is told; what is told later is not. */
  close(): Promise<void>
}

/**
 * Tells after the commit rather than within it: transactions that notify commit one after the other in the whole database. The
 * first news go at once; what comes meanwhile waits, one entry a company. What cannot be told waits for the next news.
 */
export function createTeller(pool: Pool, onError: (error: unknown) => void, pause_ms = PAUSE_MS): Teller {
  const waiting = new Map<number, number>()
  const closing = new AbortController()

  function remember(news: readonly News[]): void {
    for (const { companyId, revision } of news) {
      waiting.set(companyId, Math.max(revision, waiting.get(companyId) ?? revision))
    }
  }

  const telling = coalesce(async () => {
    const news = [...waiting].map(([companyId, revision]) => ({ companyId, revision }))
    waiting.clear()
    try {
      await pool.query({ ...TELL, values: [NEWS_CHANNEL, messagesOf(news)] })
    } catch (error) {
      remember(news)
      return onError(error)
    }
    await pause(pause_ms, undefined, { signal: closing.signal, ref: false }).catch(() => {})
  })

  return {
    tell(news) {
      if (closing.signal.aborted) return
      remember(news)
      telling.ask()
    },
    close() {
      closing.abort()
      return telling.idle()
    },
  }
}

/** Nothing that must outlive a crash: the commit does not wait for the disk. */
const TELL = {
  name: 'tell_news',
  text: `select set_config('synchronous_commit', 'off', true), pg_notify($1, message) from unnest($2::text[]) as message`,
}
