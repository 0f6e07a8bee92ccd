import type { Pool } from 'pg'
import { coalesce } from '#background/repeat.ts'

/**
 * Channel between processes for committed positions. The name is fixed, so that versions understand each other during
 * an upgrade.
 */
export const LIVE_CHANNEL = 'ledger_news'

/** Revision of a company's ledger. */
export interface LedgerPosition {
  readonly companyId: number
  readonly revision: number
}

/** Sent if the positions do not fit into a message, or after a migration: subscribers of any company must look. */
export const EVERY_COMPANY = '*'

/** A notification holds 7,999 bytes, a position at most 34. */
const COMPANIES_OF_A_MESSAGE = 200
const MESSAGES = 10

/** Few messages, each within Postgres's limit. */
export function encodePositions(positions: readonly LedgerPosition[]): string[] {
  if (positions.length > COMPANIES_OF_A_MESSAGE * MESSAGES) return [EVERY_COMPANY]
  const messages: string[] = []
  for (let from = 0; from < positions.length; from += COMPANIES_OF_A_MESSAGE) {
    const some = positions.slice(from, from + COMPANIES_OF_A_MESSAGE)
    messages.push(some.map(({ companyId, revision }) => `${companyId}:${revision}`).join(','))
  }
  return messages
}

/** The positions of a message; null if it does not list them all. */
export function decodePositions(message: string): LedgerPosition[] | null {
  if (!/^\d{1,16}:\d{1,16}(,\d{1,16}:\d{1,16})*$/.test(message)) return null
  return message.split(',').map((entry) => {
    const [companyId, revision] = entry.split(':').map(Number) as [number, number]
    return { companyId, revision }
  })
}

/** At most twenty notifications a second, however many commits: each costs sales some time, and streams wait for it. */
const REST_MS = 50

/** Notifies all processes of commits, so that open pages are updated. */
interface LiveNotifier {
  notify(positions: readonly LedgerPosition[]): void
  /** Resolves when everything is sent; later positions are dropped. */
  close(): Promise<void>
}

/**
 * Notifies after the commit: transactions that notify commit one after another in the whole database. The first
 * positions are sent at once; later ones are merged by company. Unsent positions are added to the next message.
 */
export function createLiveNotifier(pool: Pool, onError: (error: unknown) => void, rest_ms = REST_MS): LiveNotifier {
  const waiting = new Map<number, number>()
  const closing = new AbortController()

  function remember(positions: readonly LedgerPosition[]): void {
    for (const { companyId, revision } of positions) {
      waiting.set(companyId, Math.max(revision, waiting.get(companyId) ?? revision))
    }
  }

  const sending = coalesce(
    async () => {
      const positions = [...waiting].map(([companyId, revision]) => ({ companyId, revision }))
      waiting.clear()
      try {
        await pool.query({ ...NOTIFY, values: [LIVE_CHANNEL, encodePositions(positions)] })
      } catch (error) {
        remember(positions)
        onError(error)
      }
    },
    { rest_ms, signal: closing.signal },
  )

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

/** Nothing here must survive a crash: the commit does not wait for the disk. */
const NOTIFY = {
  name: 'notify_live',
  text: `select set_config('synchronous_commit', 'off', true), pg_notify($1, message) from unnest($2::text[]) as message`,
}
