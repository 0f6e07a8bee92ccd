import { type Calls, get } from './pages.ts'
import { TillbookError } from './problem.ts'
import { pause } from './retry.ts'
import type { components } from './schema.ts'

type Schemas = components['schemas']

/** Records that tell when they have changed, by the path of their list. */
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

/** In an order in which what a record refers to comes before it. With the scope that reads each, and whether its records can be deleted. */
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

/** A page's worth of changes of one resource. */
export type Changes = {
  [R in Resource]: {
    readonly resource: R
    /** As they are now; one that changes again comes again. */
    readonly records: readonly Records[R][]
    readonly deleted: readonly Schemas['DeletedRecord'][]
    /** The test company was emptied: whatever was had of this resource is gone, and comes in no other batch. */
    readonly erased?: true
    /** How far `changes` has come with this batch: to be kept with what was made of it, in the same transaction. */
    readonly position: string
  }
}[Resource]

/** Where a position is kept that goes on after a restart. */
export interface PositionStore {
  load(): Promise<string | null>
  save(position: string): Promise<void>
}

export interface ChangesOptions {
  /** An instant (ISO 8601), or a `position` of before; without either all that there is comes first. */
  readonly since?: string
  /**
   * Asked for the position at the beginning, and given each one when its batch has been dealt with. A crash in between repeats
   * that batch: whoever may not see it twice keeps `position` with the data instead.
   */
  readonly store?: PositionStore
  /** All that the key may read, where it is not given. */
  readonly resources?: readonly Resource[]
  /** Whether to go on asking; without it the changes end with those that there are. */
  readonly follow?: boolean
  /** Pause between two rounds. */
  readonly everyMs?: number
  readonly signal?: AbortSignal
}

/** Where a listing goes on. */
interface Place {
  /** Changes before this instant are seen, and those of `seen`. */
  since: string
  /** Digests of records that may be listed again, by id. */
  seen: Record<string, string>
  /** Of a listing that has begun: its next page, and what the place is after its last one. */
  begun?: { cursor: string | null; since: string; seen: Record<string, string> }
}

/** By path of the listing. */
type Position = Record<string, Place>

const BEGINNING = '1970-01-01T00:00:00Z'
const EVERY_MS = 30_000
const PAGE = 200

/**
 * Asks every resource what has changed, in rounds. An instant may hold changes that were made after it was asked for, so that each
 * listing begins where the first page of the one before ended, and what it repeats of that is left out: nothing is missed, nothing
 * comes twice.
 */
export async function* changesOf(calls: Calls, options: ChangesOptions = {}): AsyncGenerator<Changes> {
  const { since = BEGINNING, store, follow = false, everyMs = EVERY_MS, signal } = options
  const { position, begin } = positionOf((await store?.load()) ?? since)
  const resources = options.resources ?? (await readable(calls, signal))
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
          for await (const fresh of pagesSince(calls, { path, place, signal })) {
            const { records, deleted } =
              path === resource ? { records: fresh, deleted: [] } : { records: [], deleted: fresh }
            yield* told({ resource, records, deleted })
          }
        } catch (error) {
          const since = erasedAt(error)
          if (since === null) throw error
          for (const each of paths) position[each] = { since, seen: {} }
          yield* told({ resource, records: [], deleted: [], erased: true })
          // What has been made since then.
          at = -1
        }
      }
    }
    if (!follow) return
    await pause(everyMs, signal)
  }
}

/** A position of before, or the instant to begin at. */
function positionOf(text: string): { position: Position; begin: string } {
  if (!text.startsWith('{')) return { position: {}, begin: text }
  const { begin, places } = JSON.parse(text) as { begin: string; places: Position }
  return { position: places, begin }
}

/** When a test company was emptied, of an answer that says so. */
function erasedAt(error: unknown): string | null {
  if (!(error instanceof TillbookError) || error.code !== 'test_data_erased') return null
  return (error.details as { erased_at: string }).erased_at
}

/** Resources that the key may read. */
async function readable(calls: Calls, signal: AbortSignal | undefined): Promise<Resource[]> {
  const { data } = (await get(calls, '/me', { ...(signal && { signal }) })) as { data: Schemas['Me'] }
  const scopes: readonly string[] = data.key.scopes
  return (Object.keys(RESOURCES) as Resource[]).filter((resource) => scopes.includes(RESOURCES[resource].scope))
}

interface Listed {
  readonly id: number
  readonly updated_at?: string
  readonly deleted_at?: string
}

/** What a listing holds that was not seen, page by page; the place has moved behind a page when it is yielded. */
async function* pagesSince(
  calls: Calls,
  { path, place, signal }: { readonly path: string; readonly place: Place; readonly signal: AbortSignal | undefined },
): AsyncGenerator<Listed[]> {
  const parameter = path.endsWith('/deleted') ? 'since' : 'updated_since'
  do {
    const { cursor } = place.begun ?? {}
    const query = { limit: PAGE, [parameter]: place.since, ...(cursor && { cursor }) }
    const asked = { params: { query }, ...(signal && { signal }) }
    const { data, meta } = (await get(calls, path, asked)) as { data: Listed[]; meta: Schemas['PageMeta'] }
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
