import type { Request, Response } from 'express'
import type { Pool } from 'pg'
import { coalesce } from '#lib/background-loops.ts'
import { TenantLimitExceeded, Unavailable } from '#lib/errors.ts'
import type { FairShareLimiter } from '#lib/fair-sharing.ts'
import { listenToChannel } from '#postgres/listener.ts'

/** Prepares an answer for server-sent events and keeps proxies from buffering them. */
const asEvents = (response: Response): Response =>
  response.setHeader('Content-Type', 'text/event-stream; charset=utf-8').setHeader('X-Accel-Buffering', 'no')

/** Begins server-sent events; a client that loses them reconnects after `retry_ms`. */
export function openEventStream(response: Response, retry_ms: number): void {
  asEvents(response).flushHeaders()
  sendUnlessBehind(response, `retry: ${retry_ms}\n\n`)
}

/** Skips the message for a slow reader: only the latest state matters, and the next message contains it. */
function sendUnlessBehind(response: Response, text: string): void {
  if (response.writableLength === 0 && !response.writableEnded) response.write(text)
}

/** An open page. The callbacks must not throw. */
export interface PageFollower {
  /** What the page shows has changed, as of this revision. */
  moved(revision: number): void
  /** No further updates follow. */
  ended(): void
}

interface Changes {
  /** Reports changes after a revision; returns what ends it. */
  follow(since: number, follower: PageFollower): () => void
  /** Calls `beat` again and again: proxies close connections that are silent for a minute. Returns what ends it. */
  every(beat: () => void): () => void
}

const PAGE_RETRY_MS = 2_000

/**
 * Server-sent events: `mudou` when what the page shows has moved beyond its revision (`?desde=`). The page then reloads
 * itself; the stream carries nothing but the revision.
 */
export function streamChanges(request: Request, response: Response, { follow, every }: Changes): void {
  // HEAD ends at once.
  if (request.method === 'HEAD') return void asEvents(response).end()
  const since = /^\d{1,15}$/.test(String(request.query.desde)) ? Number(request.query.desde) : 0
  const stop = follow(since, {
    moved: (revision) => sendUnlessBehind(response, `event: mudou\ndata: ${revision}\n\n`),
    ended: () => response.end(),
  })
  const leave = every(() => sendUnlessBehind(response, ':\n\n'))
  response.on('close', () => {
    leave()
    stop()
  })
  openEventStream(response, PAGE_RETRY_MS)
}

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

/** A subscriber of a company, such as an open page or an event stream. The callbacks must not throw. */
interface Subscriber {
  /** The ledger has reached this revision; several revisions may be merged. */
  moved(revision: number): void
  /** No further updates: the process stops. */
  ended(): void
}

/** Notifies subscribers of a company's new revisions. */
export interface LiveUpdates {
  /**
   * Reports revisions after `since`, immediately if the ledger is there already: no later commit is missed. Takes one of
   * the `places` until it ends; without them the caller bounds its subscribers. Returns the unsubscribe function.
   * @throws TenantLimitExceeded without a free place, Unavailable while stopping
   */
  subscribe(companyId: number, since: number, subscriber: Subscriber, places?: FairShareLimiter): () => void
  /** Ends all subscriptions. */
  close(): Promise<void>
}

interface LiveUpdatesOptions {
  readonly databaseUrl: string
  readonly pool: Pool
  readonly onError: (error: unknown) => void
}

interface Subscription {
  readonly companyId: number
  /** The last reported revision. */
  known: number
  readonly subscriber: Subscriber
  readonly places: FairShareLimiter | undefined
}

/** Listens to the commits of all processes on one connection; after a gap it reads the ledgers themselves. */
export function createLiveUpdates({ databaseUrl, pool, onError }: LiveUpdatesOptions): LiveUpdates {
  const companies = new Map<number, Set<Subscription>>()
  let closed = false

  function publish(positions: readonly LedgerPosition[]): void {
    for (const { companyId, revision } of positions) {
      for (const subscription of companies.get(companyId) ?? []) {
        if (revision <= subscription.known) continue
        subscription.known = revision
        subscription.subscriber.moved(revision)
      }
    }
  }

  function remove(subscription: Subscription): void {
    const { companyId, places } = subscription
    const ofCompany = companies.get(companyId)
    if (!ofCompany?.delete(subscription)) return
    places?.release(companyId, 1)
    if (ofCompany.size === 0) companies.delete(companyId)
  }

  function end(subscriptions: readonly Subscription[]): void {
    for (const subscription of subscriptions) {
      remove(subscription)
      subscription.subscriber.ended()
    }
  }

  async function readPositions(companyIds: readonly number[]): Promise<void> {
    if (companyIds.length === 0) return
    try {
      const { rows } = await pool.query<LedgerPosition>({ ...READ_POSITIONS, values: [companyIds] })
      publish(rows)
    } catch (error) {
      onError(error)
    }
  }

  const listener = listenToChannel({
    databaseUrl,
    channel: LIVE_CHANNEL,
    application_name: 'tillbook live',
    onNotification(message) {
      const positions = message === null ? null : decodePositions(message)
      if (positions) publish(positions)
      else void readPositions([...companies.keys()])
    },
    onError,
  })

  return {
    subscribe(companyId, since, subscriber, places) {
      if (closed) throw new Unavailable('live updates have ended: the process stops')
      if (places && !places.acquire(companyId, 1))
        throw new TenantLimitExceeded('too many live subscriptions of this company or process')
      const subscription: Subscription = { companyId, known: since, subscriber, places }
      companies.set(companyId, (companies.get(companyId) ?? new Set()).add(subscription))
      void readPositions([companyId])
      return () => remove(subscription)
    },
    async close() {
      closed = true
      end([...companies.values()].flatMap((ofCompany) => [...ofCompany]))
      await listener.close()
    },
  }
}

const READ_POSITIONS = {
  name: 'read_ledger_positions',
  text: `select company_id as "companyId", revision from ops.ledgers where company_id = any($1::bigint[])`,
}
