import { type Calls, get } from './pages.ts'
import { TillbookError } from './problem.ts'
import { PASSING, pause } from './retry.ts'
import type { components } from './schema.ts'

type Schemas = components['schemas']

/** Resources with changes, by the path of their list. */
interface Records {
  '/catalog/categories': Schemas['Category']
  '/catalog/items': Schemas['CatalogItem']
  '/customers': Schemas['Customer']
  '/suppliers': Schemas['Supplier']
  '/finance/receivables': Schemas['Receivable']
  '/finance/payables': Schemas['Payable']
  '/sales': Schemas['Sale']
  '/orders': Schemas['Order']
  '/webhooks': Schemas['Webhook']
}

export type Resource = keyof Records

/**
 * In order of reference: a record comes after the records that it refers to. With the scope that reads each, and
 * whether its records can be deleted.
 */
const RESOURCES: Readonly<Record<Resource, { readonly scope: string; readonly canBeDeleted: boolean }>> = {
  '/catalog/categories': { scope: 'catalog:read', canBeDeleted: true },
  '/catalog/items': { scope: 'catalog:read', canBeDeleted: true },
  '/customers': { scope: 'customers:read', canBeDeleted: true },
  '/suppliers': { scope: 'suppliers:read', canBeDeleted: true },
  '/sales': { scope: 'sales:read', canBeDeleted: false },
  '/orders': { scope: 'orders:read', canBeDeleted: false },
  '/finance/receivables': { scope: 'finance:read', canBeDeleted: true },
  '/finance/payables': { scope: 'finance:read', canBeDeleted: true },
  '/webhooks': { scope: 'webhooks:manage', canBeDeleted: false },
}

/** One page of changes of a resource. */
export type Changes = {
  [R in Resource]: {
    readonly resource: R
    /** Current state; a record that changes again is included again. */
    readonly records: readonly Records[R][]
    readonly deleted: readonly Schemas['DeletedRecord'][]
    /** The test company was erased: delete all records of this resource. Such a batch contains nothing else. */
    readonly erased?: true
    /** Position of `changes` after this batch. Store it with the results of the batch, in the same transaction. */
    readonly position: string
  }
}[Resource]

/** Stores a position across restarts. */
export interface PositionStore {
  load(): Promise<string | null>
  save(position: string): Promise<void>
}

export interface ChangesOptions {
  /** An instant (ISO 8601), or an earlier `position`; without either, all existing records come first. */
  readonly since?: string | undefined
  /**
   * Read once at the beginning; receives the position of each processed batch. A crash in between repeats that batch:
   * to see each batch once, store `position` with the data instead.
   */
  readonly store?: PositionStore
  /** Default: all that the key may read. */
  readonly resources?: readonly Resource[]
  /** Whether to continue polling, also while the service is down; without it the changes end with the existing ones. */
  readonly follow?: boolean
  /** Pause between two rounds, in milliseconds. */
  readonly everyMs?: number
  readonly signal?: AbortSignal
}

/** Position in a listing. */
interface Place {
  /** All changes before this instant were returned, and those in `seen`. */
  since: string
  /** Digests, by id, of records that may be listed again. */
  seen: Record<string, string>
  /** Of an unfinished listing: its next page, and the position after its last page. */
  begun?: { cursor: string | null; since: string; seen: Record<string, string> }
}

/** By path of the listing. */
type Position = Record<string, Place>

const BEGINNING = '1970-01-01T00:00:00Z'
const EVERY_MS = 30_000
const PAGE = 200

/**
 * Polls every resource for changes, in rounds. Changes may be added to an instant after it was listed, so each listing
 * begins where the first page of the previous one ended, and records already returned are skipped: none is missed, none
 * is repeated.
 */
export async function* changesOf(calls: Calls, options: ChangesOptions = {}): AsyncGenerator<Changes> {
  const { since = BEGINNING, store, follow = false, everyMs = EVERY_MS, signal } = options
  const { position, begin } = positionOf((await store?.load()) ?? since)
  const ask = follow ? patient(calls, everyMs) : (path: string, init: Init) => get(calls, path, init)
  const resources = options.resources ?? (await readable(ask, signal))
  async function* told(batch: object): AsyncGenerator<Changes> {
    const kept = JSON.stringify({ begin, places: position })
    yield { ...batch, position: kept } as unknown as Changes
    await store?.save(kept)
  }
  for (;;) {
    for (const resource of resources) {
      const paths = RESOURCES[resource].canBeDeleted ? [resource, `${resource}/deleted`] : [resource]
      for (let at = 0; at < paths.length; at++) {
        const path = paths[at] as string
        const place = position[path] ?? { since: begin, seen: {} }
        position[path] = place
        try {
          for await (const fresh of pagesSince(ask, { path, place, signal })) {
            const { records, deleted } =
              path === resource ? { records: fresh, deleted: [] } : { records: [], deleted: fresh }
            yield* told({ resource, records, deleted })
          }
        } catch (error) {
          const since = erasedAt(error)
          if (since === null) throw error
          for (const each of paths) position[each] = { since, seen: {} }
          yield* told({ resource, records: [], deleted: [], erased: true })
          // Then lists what was created since.
          at = -1
        }
      }
    }
    if (!follow) return
    await pause(everyMs, signal)
  }
}

/** Parses an earlier position, or the instant to begin at. */
function positionOf(text: string): { position: Position; begin: string } {
  if (!text.startsWith('{')) return { position: {}, begin: text }
  const { begin, places } = JSON.parse(text) as { begin: string; places: Position }
  return { position: places, begin }
}

interface Init {
  readonly params?: object
  readonly signal?: AbortSignal
}

type Ask = (path: string, init: Init) => Promise<unknown>

/**
 * Repeats a call until it succeeds, because an outage may outlast the retries of a call. @throws TillbookError if it is
 * refused
 */
function patient(calls: Calls, everyMs: number): Ask {
  return async (path, init) => {
    for (;;) {
      try {
        return await get(calls, path, init)
      } catch (error) {
        if (init.signal?.aborted || (error instanceof TillbookError && !PASSING.has(error.status))) throw error
      }
      await pause(everyMs, init.signal)
    }
  }
}

/** Time of the erasure of a test company, from a response that reports it. */
function erasedAt(error: unknown): string | null {
  if (!(error instanceof TillbookError) || error.code !== 'test_data_erased') return null
  return error.details.erased_at as string
}

/** Resources that the key may read. */
async function readable(ask: Ask, signal: AbortSignal | undefined): Promise<Resource[]> {
  const { data } = (await ask('/me', { ...(signal && { signal }) })) as { data: Schemas['Me'] }
  const scopes: readonly string[] = data.key.scopes
  return (Object.keys(RESOURCES) as Resource[]).filter((resource) => scopes.includes(RESOURCES[resource].scope))
}

interface Listed {
  readonly id: number
  readonly updated_at?: string
  readonly deleted_at?: string
}

/** New changes of a listing, page by page; the position is already behind a page when it is yielded. */
async function* pagesSince(
  ask: Ask,
  { path, place, signal }: { readonly path: string; readonly place: Place; readonly signal: AbortSignal | undefined },
): AsyncGenerator<Listed[]> {
  const parameter = path.endsWith('/deleted') ? 'since' : 'updated_since'
  do {
    const { cursor } = place.begun ?? {}
    const query = { limit: PAGE, [parameter]: place.since, ...(cursor && { cursor }) }
    const asked = { params: { query }, ...(signal && { signal }) }
    const { data, meta } = (await ask(path, asked)) as { data: Listed[]; meta: Schemas['PageMeta'] }
    const begun = { since: meta.synced_at, seen: {}, ...place.begun, cursor: meta.next_cursor }
    place.begun = begun
    const fresh: Listed[] = []
    for (const record of data) {
      const digest = await digestOf(record)
      if (place.seen[record.id] !== digest) fresh.push(record)
      const changedAt = (parameter === 'since' ? record.deleted_at : record.updated_at) ?? ''
      if (Date.parse(changedAt) >= Date.parse(begun.since)) begun.seen[record.id] = digest
    }
    if (begun.cursor === null) {
      place.since = begun.since
      place.seen = begun.seen
      delete place.begun
    }
    if (fresh.length > 0) yield fresh
  } while (place.begun)
}

/** The first 96 bits of a SHA-256. */
async function digestOf(record: object): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(record)))
  return btoa(String.fromCharCode(...new Uint8Array(bytes, 0, 12)))
}
