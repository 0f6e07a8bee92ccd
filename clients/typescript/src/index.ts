import createFetchClient from 'openapi-fetch'
import type { ExactCalls } from './calls.ts'
import { type Changes, type ChangesOptions, changesOf } from './changes.ts'
import { type EventsOptions, eventsOf, type LedgerEvent } from './events.ts'
import { type ListPath, type Page, type PageInit, pagesOf } from './pages.ts'
import { isRead, RETRIES, type Retries, retrying } from './retry.ts'
import type { components, paths } from './schema.ts'

export type { Changes, ChangesOptions, PositionStore, Resource } from './changes.ts'
export type { EventsOptions, LedgerEvent } from './events.ts'
export type { ListPath, Page } from './pages.ts'
export type { Problem } from './problem.ts'
// biome-ignore lint/performance/noBarrelFile: what callers of a package catch comes from its entry
export { ok, TillbookError } from './problem.ts'
export type { Retries } from './retry.ts'
export type { components, paths } from './schema.ts'

/** Record or input of the contract, by its name there. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name]

export interface ClientOptions {
  /** Address of the service, without `/api/v1`. */
  readonly baseUrl: string
  /** An API key, `tb_…`. */
  readonly key: string
  readonly retries?: Partial<Retries>
  /** Longest time of an attempt, in milliseconds; streams have no limit. */
  readonly timeoutMs?: number
  /** Replacement for `fetch`, for tests. */
  readonly fetch?: (request: Request) => Promise<Response>
}

/** `GET`, `POST` … of openapi-fetch with retries, and operations of several requests. */
export interface Client extends ExactCalls {
  /** Pages of a list, from the first one on. @throws TillbookError */
  pages<Path extends ListPath>(path: Path, init?: PageInit<Path>): AsyncGenerator<Page<Path>>
  /** Changes since an instant, in batches; with `follow`, later ones too. @throws TillbookError */
  changes(options?: ChangesOptions): AsyncGenerator<Changes>
  /** Events of the ledger after a revision, as they are recorded. @throws TillbookError */
  events(options?: EventsOptions): AsyncGenerator<LedgerEvent>
}

const TIMEOUT_MS = 30_000

/** Creates a client for the data of one company, within the scopes of its key. */
export function createClient({
  baseUrl,
  key,
  retries,
  timeoutMs = TIMEOUT_MS,
  fetch = globalThis.fetch,
}: ClientOptions): Client {
  const root = `${baseUrl.replace(/\/+$/, '')}/api/v1`
  const timed = (request: Request) =>
    fetch(new Request(request, { signal: AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)]) }))
  const headers = { Authorization: `Bearer ${key}` }
  const calls = createFetchClient<paths>({
    baseUrl: root,
    headers,
    fetch: retrying(timed, { ...RETRIES, ...retries }),
  })
  calls.use({
    onRequest({ request }) {
      // One key per call, for all of its attempts.
      if (!isRead(request) && !request.headers.has('Idempotency-Key'))
        request.headers.set('Idempotency-Key', crypto.randomUUID())
    },
  })
  const open = (path: string, signal: AbortSignal | undefined, more: Readonly<Record<string, string>>) =>
    fetch(new Request(`${root}${path}`, { headers: { ...headers, ...more }, ...(signal && { signal }) }))
  return {
    ...(calls as unknown as ExactCalls),
    pages: (path, init) => pagesOf(calls, path, init),
    changes: (options) => changesOf(calls, options),
    events: (options) => eventsOf(open, { ...RETRIES, ...retries }, options),
  }
}
