import { fromCents } from '#domain/money.ts'
import type { Line } from './line.ts'
import { type OfflineSale, type PaymentType, type Product, type Queue, sell, type World } from './sale.ts'
import type { Session } from './session.ts'

/** A result of an upload, as far as a till looks at it. */
interface Result {
  readonly offline_id: string | null
  readonly status: 'created' | 'duplicate' | 'resolved' | 'error'
  readonly sale_id: number | null
  readonly message?: string
  readonly warnings?: readonly { readonly message: string }[]
}

/** What a till has done so far. */
export interface Tally {
  readonly created: number
  readonly duplicate: number
  /** Refused before, and resolved by a person since. */
  readonly resolved: number
  readonly refused: number
  readonly warnings: number
  /** Ids that the service gave to the till's sales. */
  readonly saleIds: ReadonlyMap<string, number>
}

/** A till that works without a connection, and reconciles with the service when it has one. */
export interface Till {
  /** Configuration and all products. */
  download(): Promise<void>
  products(): readonly Product[]
  /** A sale without any connection, safe in the queue. */
  sellOffline(): Promise<OfflineSale>
  /** Uploads all that waits, in portions. */
  upload(): Promise<void>
  /** Products that changed at the service since they were downloaded, by reason. */
  checkConflicts(): Promise<Record<'updated' | 'deleted' | 'unknown', number>>
  /** What changed since the last download. Returns how many products did, and how many are gone. */
  refresh(): Promise<{ changed: number; deleted: number }>
  tally(): Tally
}

interface Options {
  readonly session: Session
  readonly queue: Queue
  readonly world: World
  readonly say: (text: string) => void
  /** Sales of one upload; the service takes 1,000. */
  readonly portion: number
}

/** The counter's own ways to pay, which stand for something that happened before, are left out: nobody redeems from nothing. */
const SOLD_WITH = ['cash', 'card', 'pix', 'transfer', 'credit_account', 'other']

/** A till of the company that the session's user belongs to. */
export function createTill({ session, queue, world, say, portion }: Options): Till {
  const products = new Map<number, Product>()
  let types: PaymentType[] = []
  let syncedAt = ''
  const counts = { created: 0, duplicate: 0, resolved: 0, refused: 0, warnings: 0 }
  const saleIds = new Map<string, number>()

  const read = (path: string) => session.call({ method: 'GET', path })

  function take(result: Result): void {
    counts[result.status === 'error' ? 'refused' : result.status] += 1
    counts.warnings += result.warnings?.length ?? 0
    for (const { message } of result.warnings ?? []) say(`${result.offline_id}: ${message}`)
    if (result.status === 'error') say(`${result.offline_id} was refused: ${result.message}`)
    else if (result.offline_id !== null && result.sale_id !== null) saleIds.set(result.offline_id, result.sale_id)
  }

  return {
    products: () => [...products.values()],
    tally: () => ({ ...counts, saleIds }),
    async download() {
      const { data } = await read('/sync/config')
      types = (data.payment_types as PaymentType[]).filter(({ kind }) => SOLD_WITH.includes(kind))
      const answer = await read('/sync/products')
      products.clear()
      for (const product of answer.data as Product[]) products.set(product.id, product)
      syncedAt = answer.sync_timestamp
      say(`${data.company.name}: ${products.size} products and ${types.length} ways to pay`)
    },
    async sellOffline() {
      if (products.size === 0 || types.length === 0) throw new Error('the company has nothing to sell or no way to pay')
      const sale = sell([...products.values()], types, world)
      await queue.add(sale)
      return sale
    },
    async upload() {
      while (queue.size() > 0) {
        const sales = queue.first(portion)
        const answer = await session.call({ method: 'POST', path: '/sync/sales', body: { sales } })
        for (const result of answer.results as Result[]) take(result)
        // Each has its result; a refused one is kept by the service, for people to look at, and would be refused again.
        await queue.remove(new Set(sales.map((sale) => sale.offline_id)))
        say(answer.message)
      }
    },
    async checkConflicts() {
      const known = [...products.values()].map(({ id, updated_at }) => ({ id, updated_at }))
      const answer = await session.call({ method: 'POST', path: '/sync/check-conflicts', body: { products: known } })
      const reasons = { updated: 0, deleted: 0, unknown: 0 }
      for (const { reason } of answer.conflicts as { reason: keyof typeof reasons }[]) reasons[reason] += 1
      return reasons
    },
    async refresh() {
      const answer = await read(`/sync/products?last_sync=${encodeURIComponent(syncedAt)}`)
      for (const product of answer.data as Product[]) products.set(product.id, product)
      const gone = (answer.deleted as number[]).filter((id) => products.delete(id))
      syncedAt = answer.sync_timestamp
      return { changed: answer.data.length, deleted: gone.length }
    },
  }
}

/** What came of a day at the till. */
export interface Report {
  /** Sales of the day, those among them that were cancelled, and what the others add up to. */
  readonly sold: number
  readonly cancelled: number
  readonly total: string
  /** Sales of another day that had not been uploaded. */
  readonly left_from_before: number
  /** Results of the upload. A duplicate is a sale whose first answer was lost. */
  readonly created: number
  readonly duplicate: number
  readonly resolved: number
  readonly refused: number
  readonly warnings: number
  /** Different ids that the service gave to the sales. */
  readonly sale_ids: number
  /** Calls that were made again, as the line broke. */
  readonly retries: number
  /** Products that changed at the service meanwhile, and what the till took over of it. */
  readonly conflicts: number
  readonly products_changed: number
  readonly products_deleted: number
  /** Sales that are still to be uploaded. */
  readonly waiting: number
}

interface Parts {
  readonly line: Line
  readonly session: Session
  readonly queue: Queue
  readonly till: Till
  readonly say: (text: string) => void
}

/** Downloads, sells so many times offline, loses the line twice in the upload, and reconciles. */
export async function playDay({ line, session, queue, till, say }: Parts, sales: number): Promise<Report> {
  await till.download()
  const left_from_before = queue.size()
  let cents = 0
  let cancelled = 0
  for (let n = 0; n < sales; n++) {
    const { status, total } = await till.sellOffline()
    if (status === 'cancelled') cancelled += 1
    else cents += Math.round(total * 100)
  }
  say(`${sales} sales without a connection`)
  // The second time all of it has been carried out, and only the answer is lost.
  if (queue.size() > 0) line.breakNext('while sending', () => line.breakNext('while receiving'))
  await till.upload()
  const { updated, deleted, unknown } = await till.checkConflicts()
  const refreshed = await till.refresh()
  const { saleIds, ...results } = till.tally()
  return {
    sold: sales,
    cancelled,
    total: fromCents(cents),
    left_from_before,
    ...results,
    sale_ids: new Set(saleIds.values()).size,
    retries: session.retries(),
    conflicts: updated + deleted + unknown,
    products_changed: refreshed.changed,
    products_deleted: refreshed.deleted,
    waiting: queue.size(),
  }
}
