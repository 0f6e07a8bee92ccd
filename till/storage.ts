import { type DBSchema, type IDBPDatabase, openDB } from 'idb'
import type { Cart } from './cart.ts'
import type { Customer, Product, Recorded, TillConfig } from './records.ts'
import type { ScaleSetting } from './scale-labels.ts'

/** A person who sells at this device, with the token of their login. */
export interface Operator {
  readonly userId: number
  readonly name: string
  readonly email: string
  readonly token: string
  /** PBKDF2 of the PIN; null without one. */
  readonly pin: { readonly salt: Uint8Array; readonly hash: string } | null
  readonly wrongPins: number
}

export interface Device {
  readonly id: number
  readonly number: number
  readonly name: string
  readonly companyId: number
}

export interface Drawer {
  readonly sessionId: string
  readonly openedAt: string
  /** Cents. */
  readonly float: number
}

/** One product or customer that was made here and waits for its upload. */
export interface Draft {
  readonly offlineId: string
  readonly kind: 'item' | 'customer'
  readonly body: object
  readonly state: 'waiting' | 'refused'
  readonly note: string
}

export interface Parked {
  readonly cart: Cart
  readonly at: string
  readonly name: string
}

export interface Preferences {
  readonly scale: ScaleSetting
  readonly paper: 58 | 80
  readonly sound: boolean
}

/** Single values, each under its own key. */
interface Values {
  key: CryptoKeyPair
  device: Device
  operators: readonly Operator[]
  current: number
  config: TillConfig
  productsSince: string
  customersSince: string
  clockOffsetMs: number
  drawer: Drawer | null
  cart: Cart
  parked: readonly Parked[]
  preferences: Preferences
  /** Key of the last sale whose receipt was shown. */
  shown: string
}

interface Schema extends DBSchema {
  values: { key: string; value: unknown }
  /** Products in chunks by id, which load ten times as fast as single ones. */
  products: { key: number; value: readonly Product[] }
  customers: { key: number; value: readonly Customer[] }
  records: { key: string; value: Recorded }
  drafts: { key: string; value: Draft }
}

const CHUNK = 500

type Listed = { readonly id: number }

/** The database of the till. Writes are on the disk when their promise is kept. */
export interface Storage {
  get<K extends keyof Values>(name: K): Promise<Values[K] | undefined>
  set(values: Partial<Values>): Promise<void>
  products(): Promise<Product[]>
  customers(): Promise<Customer[]>
  /** Takes an answer in as a whole: what changed, what went, and since when the next one counts. */
  merge(
    store: 'products' | 'customers',
    changed: readonly (Product | Customer)[],
    gone: readonly number[],
    since: string,
    isAll: boolean,
  ): Promise<void>
  records(): Promise<Recorded[]>
  /** Records and values in one transaction. */
  putRecords(records: readonly Recorded[], values?: Partial<Values>): Promise<void>
  deleteRecords(keys: readonly string[]): Promise<void>
  drafts(): Promise<Draft[]>
  putDraft(draft: Draft): Promise<void>
  deleteDraft(offlineId: string): Promise<void>
}

const STRICT = { durability: 'strict' } as const

export async function openStorage(): Promise<Storage> {
  const database = await openDB<Schema>('tillbook-caixa', 1, {
    upgrade(fresh) {
      fresh.createObjectStore('values')
      fresh.createObjectStore('products')
      fresh.createObjectStore('customers')
      fresh.createObjectStore('records', { keyPath: 'key' })
      fresh.createObjectStore('drafts', { keyPath: 'offlineId' })
    },
  })
  return {
    get: async (name) => (await database.get('values', name)) as never,
    async set(values) {
      const transaction = database.transaction('values', 'readwrite', STRICT)
      for (const [name, value] of Object.entries(values)) void transaction.store.put(value, name)
      await transaction.done
    },
    products: async () => (await database.getAll('products')).flat(),
    customers: async () => (await database.getAll('customers')).flat(),
    merge: (store, changed, gone, since, isAll) => merge(database, store, changed, gone, since, isAll),
    records: () => database.getAll('records'),
    async putRecords(records, values = {}) {
      const transaction = database.transaction(['records', 'values'], 'readwrite', STRICT)
      for (const record of records) void transaction.objectStore('records').put(record)
      for (const [name, value] of Object.entries(values)) void transaction.objectStore('values').put(value, name)
      await transaction.done
    },
    async deleteRecords(keys) {
      const transaction = database.transaction('records', 'readwrite', STRICT)
      for (const key of keys) void transaction.store.delete(key)
      await transaction.done
    },
    drafts: () => database.getAll('drafts'),
    async putDraft(draft) {
      const transaction = database.transaction('drafts', 'readwrite', STRICT)
      void transaction.store.put(draft)
      await transaction.done
    },
    deleteDraft: (offlineId) => database.delete('drafts', offlineId),
  }
}

async function merge(
  database: IDBPDatabase<Schema>,
  store: 'products' | 'customers',
  changed: readonly (Product | Customer)[],
  gone: readonly number[],
  since: string,
  isAll: boolean,
): Promise<void> {
  const transaction = database.transaction([store, 'values'], 'readwrite', STRICT)
  const chunks = transaction.objectStore(store)
  if (isAll) await chunks.clear()
  const byChunk = new Map<number, { put: Map<number, Listed>; drop: Set<number> }>()
  const chunkOf = (id: number) => {
    const number = Math.floor(id / CHUNK)
    const found = byChunk.get(number) ?? { put: new Map<number, Listed>(), drop: new Set<number>() }
    byChunk.set(number, found)
    return found
  }
  for (const each of changed) chunkOf(each.id).put.set(each.id, each)
  for (const id of gone) chunkOf(id).drop.add(id)
  for (const [number, { put, drop }] of byChunk) {
    const before: readonly Listed[] = (isAll ? undefined : await chunks.get(number)) ?? []
    const rest = before.filter(({ id }) => !put.has(id) && !drop.has(id))
    void chunks.put([...rest, ...put.values()].sort((one, other) => one.id - other.id) as never, number)
  }
  void transaction.objectStore('values').put(since, store === 'products' ? 'productsSince' : 'customersSince')
  await transaction.done
}
