import { setTimeout as pause } from 'node:timers/promises'
import type { Pool } from 'pg'
import { coalesce } from '#background/repeat.ts'

/** Channel on which processes tell each other what was committed; its name stays, so that releases understand each other. */
export const LIVE_CHANNEL = 'ledger_news'

/** How far a company's ledger has come. */
export interface LedgerPosition {
  readonly companyId: number
  readonly revision: number
}

/** Sent where there are more companies than fit, or one has moved: whoever waits for any of them has to look. */
export const TOO_MANY = '*'

/** A message may have 7,999 bytes, and a company takes 34 at the most. */
const COMPANIES_OF_A_MESSAGE = 200
const MESSAGES = 10

/** The messages for these positions: few, and each short enough for Postgres. */
export function encodePositions(positions: readonly LedgerPosition[]): string[] {
  if (positions.length > COMPANIES_OF_A_MESSAGE * MESSAGES) return [TOO_MANY]
  const messages: string[] = []
  for (let from = 0; from < positions.length; from += COMPANIES_OF_A_MESSAGE) {
    const some = positions.slice(from, from + COMPANIES_OF_A_MESSAGE)
    messages.push(some.map(({ companyId, revision }) => `${companyId}:${revision}`).join(','))
  }
  return messages
}

/** The positions of a message; null for one that does not hold them all. */
export function decodePositions(message: string): LedgerPosition[] | null {
  if (!/^\d{1,16}:\d{1,16}(,\d{1,16}:\d{1,16})*$/.test(message)) return null
  return message.split(',').map((entry) => {
    const [companyId, revision] = entry.split(':').map(Number) as [number, number]
    return { companyId, revision }
  })
}

/** At most twenty statements a second, however much is committed: each takes its share from the sales, and streams wait for them. */
const PAUSE_MS = 50

/** Notifies all processes of what was committed, so that open pages follow. */
interface LiveNotifier {
  notify(positions: readonly LedgerPosition[]): void
  /** Resolves when everything is sent; what is given to it later is not. */
  close(): Promise<void>
}

/**
 * Notifies after the commit rather than within it: transactions that notify commit one after the other in the whole database.
 * The first positions go at once; what comes meanwhile waits, one entry a company. What cannot be sent waits for the next ones.
 */
export function createLiveNotifier(pool: Pool, onError: (error: unknown) => void, pause_ms = PAUSE_MS): LiveNotifier {
  const waiting = new Map<number, number>()
  const closing = new AbortController()

  function remember(positions: readonly LedgerPosition[]): void {
    for (const { companyId, revision } of positions) {
      waiting.set(companyId, Math.max(revision, waiting.get(companyId) ?? revision))
    }
  }

  const sending = coalesce(async () => {
    const positions = [...waiting].map(([companyId, revision]) => ({ companyId, revision }))
    waiting.clear()
    try {
      await pool.query({ ...NOTIFY, values: [LIVE_CHANNEL, encodePositions(positions)] })
    } catch (error) {
      remember(positions)
      return onError(error)
    }
    await pause(pause_ms, undefined, { signal: closing.signal, ref: false }).catch(() => {})
  })

  return {
    notify(positions) {
      if (closing.signal.aborted) return
      remember(positions)
      sending.ask()
    },
    close() {
      closing.abort()
      return sending.idle()
    },
  }
}

/** Nothing that must outlive a crash: the commit does not wait for the disk. */
const NOTIFY = {
  name: 'notify_live',
  text: `select set_config('synchronous_commit', 'off', true), pg_notify($1, message) from unnest($2::text[]) as message`,
}
