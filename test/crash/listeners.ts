import { expect } from 'chai'
import { v7 as uuidv7 } from 'uuid'
import { followEventStream } from '#cli/listen-verbs.ts'
import { createServiceClient } from '#cli/service-client.ts'
import { createPool } from '#postgres/pool.ts'
import { DEPTH } from '../support/random.ts'
import { until } from '../support/wait.ts'
import type { PlayedCompany } from './companies.ts'

/** Types of `@tillbook/client`, which is compiled separately; only its events matter here. */
interface ClientEvents {
  eventsOf(
    open: (path: string, signal: AbortSignal, headers: Readonly<Record<string, string>>) => Promise<Response>,
    retries: { readonly times: number; readonly firstPauseMs: number; readonly longestPauseMs: number },
    options: { readonly signal: AbortSignal },
  ): AsyncGenerator<{ readonly revision: number }>
}

const CLIENT = new URL('../../clients/typescript/src/events.ts', import.meta.url).href
const RETRIES = { times: 4, firstPauseMs: 20, longestPauseMs: 200 }

/** Event stream readers of several shops during crashes of the service. */
export interface Listeners {
  /** Asserts that each reader received all current events, once and in order. */
  expectNothingMissed(): Promise<void>
}

/** Starts a reader per shop with the client's `events()`, and in deep runs also a `tillbook listen` listener. */
export async function startListeners(url: string, shops: readonly PlayedCompany[]): Promise<Listeners> {
  const { eventsOf } = (await import(CLIENT)) as ClientEvents
  const stop = new AbortController()
  const { signal } = stop
  const quietly = (following: Promise<void>) => void following.catch((error) => signal.aborted || Promise.reject(error))
  const told = shops.map((shop) => {
    const open = (path: string, cut: AbortSignal, headers: Readonly<Record<string, string>>) =>
      fetch(`${url}/api/v1${path}`, { headers: { ...headers, Authorization: `Bearer ${shop.key}` }, signal: cut })
    const revisions: number[] = []
    const messages: Stored[] = []
    const followEvents = async () => {
      for await (const { revision } of eventsOf(open, RETRIES, { signal })) revisions.push(revision)
    }
    const followMessages = async () => {
      const service = createServiceClient(url, shop.key, uuidv7)
      for await (const event of followEventStream({ service, from: { after: -1 }, onAway: () => {}, signal }))
        messages.push(...event.messages.map((message) => ({ revision: event.revision, ...message })))
    }
    quietly(followEvents())
    if (DEPTH > 1) quietly(followMessages())
    return { shop, revisions, messages }
  })
  return {
    async expectNothingMissed() {
      try {
        for (const one of told) await expectAll(one)
      } finally {
        stop.abort()
      }
    },
  }
}

interface Told {
  readonly shop: PlayedCompany
  readonly revisions: readonly number[]
  readonly messages: readonly Stored[]
}

const PATIENCE = { timeout_ms: 60_000, what: 'the last event' }

async function expectAll({ shop, revisions, messages }: Told): Promise<void> {
  const pool = createPool(shop.databaseUrl, { max: 1 })
  try {
    const { rows: heads } = await pool.query<Pick<Stored, 'revision'>>(HEAD, [shop.companyId])
    const { rows: stored } = await pool.query<Stored>(STORED, [shop.companyId])
    const [{ revision: head }, { revision: first }] = [heads[0]!, stored[0]!]
    await until(() => revisions.length > head, PATIENCE)
    expect(revisions).to.deep.equal(Array.from({ length: head + 1 }, (_, revision) => revision))
    if (DEPTH === 1) return
    const since = () => messages.filter(({ revision }) => revision >= first)
    await until(() => since().length >= stored.length, PATIENCE)
    expect(since()).to.have.deep.members(stored)
  } finally {
    await pool.end()
  }
}

interface Stored {
  readonly revision: number
  readonly event: string
  readonly body: string
}

const HEAD = 'select revision from ops.ledgers where company_id = $1'

/** Webhook messages of a shop since the registration of its endpoint. */
const STORED = 'select revision, event, body from ops.webhook_messages where company_id = $1 order by revision'
