import { type DBSchema, type IDBPDatabase, openDB } from 'idb'
import type { Customer, Product, Recorded } from './records.ts'
import type { Draft, Storage } from './stored.ts'

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
