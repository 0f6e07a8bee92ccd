import { toCents } from './amounts.ts'
import { createCatalog, fold } from './product-search.ts'
import type { Recorder } from './recorder.ts'
import type { Customer, Product, Recorded, TillConfig } from './records.ts'
import { callService, ServiceError } from './service-calls.ts'
import type { Connection, Store } from './state.ts'
import type { Draft, Storage } from './stored.ts'
import { concernsAll, draftElement, type Outcome, portionsOf, type Send, sendPortion } from './upload-queue.ts'

interface SentProduct {
  readonly id: number
  readonly name: string
  readonly barcode: string
  readonly price: number
  readonly sku?: string | null
  readonly unit?: string | null
}

interface SentCustomer {
  readonly id: number
  readonly name: string
  readonly document?: string | null
  readonly credit?: number
}

interface SyncStatus {
  readonly server_time: string
  readonly till?: { readonly last_number: number; readonly last_hash: string | null } | null
}

interface Download<T> {
  readonly data: readonly T[]
  readonly deleted?: readonly number[]
  readonly sync_timestamp: string
}

const toProduct = ({ id, name, barcode, price, sku, unit }: SentProduct): Product => ({
  id,
  offlineId: null,
  name,
  barcode,
  sku: sku ?? '',
  unit: unit ?? 'UN',
  price: toCents(price),
  folded: fold(name),
})

const toCustomer = ({ id, name, document, credit }: SentCustomer): Customer => ({
  id,
  offlineId: null,
  name,
  document: document ?? '',
  credit: toCents(credit ?? 0),
})

const draftProduct = ({ offlineId, body }: Draft): Product => {
  const { name, barcode = '', price, unit = 'UN' } = body as SentProduct
  return { id: 0, offlineId, name, barcode, sku: '', unit: unit ?? 'UN', price: toCents(price), folded: fold(name) }
}

const draftCustomer = ({ offlineId, body }: Draft): Customer => {
  const { name, document = '' } = body as SentCustomer
  return { id: 0, offlineId, name, document: document ?? '', credit: 0 }
}

/** What was downloaded and what was made here, in memory. */
export async function loadLists(store: Store, storage: Storage): Promise<void> {
  const [products, customers, drafts] = await Promise.all([storage.products(), storage.customers(), storage.drafts()])
  const made = (kind: Draft['kind']) => drafts.filter((draft) => draft.kind === kind)
  store.set({
    drafts,
    catalog: createCatalog([...products, ...made('item').map(draftProduct)]),
    customers: [...customers, ...made('customer').map(draftCustomer)],
  })
}

const INTERVAL_MS = 20_000
const LISTS_INTERVAL_MS = 60_000
const LONGEST_PAUSE_MS = 120_000

interface Dependencies {
  readonly store: Store
  readonly storage: Storage
  readonly recorder: () => Recorder | null
  now(): number
}

type CallOptions = { readonly body?: object; readonly token?: string | null; readonly isDownload?: boolean }

/** Sends what was recorded and reads what has changed, in rounds, as long as the page is open. */
export class Sync {
  readonly #parts: Dependencies
  #running: Promise<boolean> | null = null
  #isWanted = false
  #listsAt = 0
  #failures = 0
  #waitMs = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  /** They leave with the download that brings what the service has made of them. */
  #sentDrafts: string[] = []

  constructor(parts: Dependencies) {
    this.#parts = parts
  }

  /** Something was recorded: it is sent soon, unless the service has asked for a pause. */
  wake(): void {
    this.#isWanted = true
    if (!this.#running && this.#failures === 0) void this.run()
  }

  /** One round, now; true if nothing is left to send. */
  run(withLists = false): Promise<boolean> {
    this.#running ??= this.#round(withLists).finally(() => {
      this.#running = null
      this.#plan()
    })
    return this.#running
  }

  #plan(): void {
    clearTimeout(this.#timer)
    const failed = Math.min(2 ** this.#failures * 1000, LONGEST_PAUSE_MS)
    const pause = this.#failures > 0 ? failed : this.#isWanted ? 0 : INTERVAL_MS
    this.#isWanted = false
    this.#timer = setTimeout(() => void this.run(), Math.max(pause, this.#waitMs))
    this.#waitMs = 0
  }

  #call<T>(path: string, options: CallOptions = {}): Promise<T> {
    const { device, current } = this.#parts.store.get()
    const till = device ? `${device.id}/${this.#parts.recorder()?.lastNumber ?? 0}` : null
    return callService<T>(path, { token: current?.token ?? null, till, ...options })
  }

  async #round(withLists: boolean): Promise<boolean> {
    const { store, now } = this.#parts
    store.set({ isSyncing: true })
    try {
      // Of before: what is recorded from now on may name what is made from now on.
      const waiting = this.#parts.recorder()?.records.filter(({ state }) => state === 'waiting') ?? []
      // What was made here goes first, but holds nothing up: under an ended token only signed records are taken.
      const failed = await this.#sendDrafts().then(
        () => null,
        (error: unknown) => ({ error }),
      )
      const isDone = await this.#sendRecords(waiting)
      if (failed) throw failed.error
      if (!store.get().current) return isDone
      await this.#readClock()
      store.set({ connection: 'connected' })
      if (withLists || this.#sentDrafts.length > 0 || now() - this.#listsAt > LISTS_INTERVAL_MS) await this.#readLists()
      this.#failures = isDone ? 0 : this.#failures + 1
      return isDone
    } catch (error) {
      this.#failures += 1
      this.#noteFailure(error)
      return false
    } finally {
      store.set({ isSyncing: false })
    }
  }

  async #sendDrafts(): Promise<void> {
    const { store, storage } = this.#parts
    const { drafts, current } = store.get()
    if (!current) return
    const waiting = drafts.filter(
      ({ state, offlineId }) => state === 'waiting' && !this.#sentDrafts.includes(offlineId),
    )
    for (const portion of portionsOf(waiting.map(draftElement)))
      for (const { key, state, note } of await sendPortion(portion, this.#sendWith(current.token))) {
        if (state === 'sent') this.#sentDrafts.push(key)
        const draft = waiting.find(({ offlineId }) => offlineId === key)
        if (state !== 'refused' || !draft) continue
        await storage.putDraft({ ...draft, state, note })
        await loadLists(store, storage)
      }
  }

  #sendWith(token: string | null): Send {
    return (kind, elements) =>
      this.#call(`/sync/${kind}`, { body: { [kind === 'cash' ? 'movements' : kind]: elements }, token })
  }

  /** True if nothing is left over for a later round. */
  async #sendRecords(waiting: readonly Recorded[]): Promise<boolean> {
    const recorder = this.#parts.recorder()
    if (!recorder) return true
    let isDone = true
    const { operators, current } = this.#parts.store.get()
    for (const portion of portionsOf(waiting)) {
      const [{ userId } = { userId: 0 }] = portion
      const token = operators.find((each) => each.userId === userId)?.token ?? current?.token ?? null
      const outcomes = await sendPortion(portion, this.#sendWith(token))
      if (outcomes.some(({ state }) => state === 'later')) isDone = false
      await this.#noteOutcomes(recorder, outcomes)
    }
    return isDone
  }

  async #noteOutcomes(recorder: Recorder, outcomes: readonly Outcome[]): Promise<void> {
    await recorder.note(outcomes.flatMap(({ key, state, note }) => (state === 'later' ? [] : [{ key, state, note }])))
    this.#parts.store.set({ records: recorder.records, missingCopy: recorder.missingCopy })
  }

  async #readClock(): Promise<void> {
    const { store, storage, now } = this.#parts
    const before = now()
    const { server_time, till } = await this.#call<SyncStatus>('/sync/status')
    const clockOffsetMs = Math.round(Date.parse(server_time) - (before + now()) / 2)
    store.set({ clockOffsetMs })
    await storage.set({ clockOffsetMs }).catch(() => {})
    if (till) await this.#parts.recorder()?.continueAfter(till.last_number, till.last_hash)
  }

  async #readLists(): Promise<void> {
    const { store, storage, now } = this.#parts
    const { data: config } = await this.#call<{ data: TillConfig }>('/sync/config')
    store.set({ config })
    await storage.set({ config })
    const { drawer } = store.get()
    // It was closed in the panel meanwhile.
    if (drawer?.ownerId === config.user.id && config.drawer?.session_id !== drawer.sessionId) {
      store.set({ drawer: null })
      await storage.set({ drawer: null })
    }
    const done = await Promise.allSettled([
      this.#readList('products', toProduct),
      this.#readList('customers', toCustomer),
    ])
    const failures = done.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
    // What has arrived is used, whatever became of the other list.
    store.set({ isStale: failures.length > 0 })
    const isChanged = done.some((each) => each.status === 'fulfilled' && each.value)
    if (failures.length > 0) {
      if (isChanged) await loadLists(store, storage)
      const ofAll = failures.find((error) => error instanceof ServiceError && concernsAll(error.status))
      if (ofAll) throw ofAll
      console.warn('till: a list was not downloaded', failures[0])
      return
    }
    const sent = this.#sentDrafts
    for (const offlineId of sent) await storage.deleteDraft(offlineId)
    this.#sentDrafts = []
    if (isChanged || sent.length > 0) await loadLists(store, storage)
    this.#listsAt = now()
  }

  /** True if something has changed. */
  async #readList<T>(list: 'products' | 'customers', read: (sent: T) => Product | Customer): Promise<boolean> {
    const { storage } = this.#parts
    const since = await storage.get(list === 'products' ? 'productsSince' : 'customersSince')
    const query = since === undefined ? '' : `?${new URLSearchParams({ last_sync: since })}`
    const {
      data,
      deleted = [],
      sync_timestamp,
    } = await this.#call<Download<T>>(`/sync/${list}${query}`, { isDownload: true })
    await storage.merge(list, data.map(read), deleted, sync_timestamp, since === undefined)
    return since === undefined || data.length + deleted.length > 0
  }

  #noteFailure(error: unknown): void {
    const { status, retryAfterSeconds } =
      error instanceof ServiceError ? error : { status: -1, retryAfterSeconds: null }
    this.#waitMs = (retryAfterSeconds ?? 0) * 1000
    this.#parts.store.set({ connection: connectionOf(status) })
    if (status === -1) console.warn('till: a round of the synchronization has failed', error)
  }
}

function connectionOf(status: number): Connection {
  if (status === 0) return 'offline'
  if (status === 401) return 'password'
  return status === 429 || status === 503 ? 'waiting' : 'trouble'
}
