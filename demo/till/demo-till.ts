import { fromCents } from '#domain/money.ts'
import type { Drawer, DrawerTally, ReturnDesk, Session } from './demo-drawer.ts'
import {
  type Line,
  type OfflineSale,
  type PaymentType,
  type Product,
  type Queue,
  sell,
  type World,
} from './demo-sales.ts'

/** Fields of an upload result that the till reads. */
interface Result {
  readonly offline_id: string | null
  readonly status: 'created' | 'duplicate' | 'resolved' | 'error'
  readonly sale_id: number | null
  readonly message?: string
  readonly warnings?: readonly { readonly message: string }[]
}

/** Counters of a till. */
export interface Tally {
  readonly created: number
  readonly duplicate: number
  /** Refused earlier, resolved by a person since. */
  readonly resolved: number
  readonly refused: number
  readonly warnings: number
  /** Sale ids from the service. */
  readonly saleIds: ReadonlyMap<string, number>
}

/** Till that works offline and syncs when connected. */
export interface Till {
  /** Downloads configuration and all products. */
  download(): Promise<void>
  products(): readonly Product[]
  /** Makes a sale without a connection, and stores it in the queue. */
  sellOffline(): Promise<OfflineSale>
  /** Uploads the queue in portions. */
  upload(): Promise<void>
  /** Products changed at the service since their download, by reason. */
  checkConflicts(): Promise<Record<'updated' | 'deleted' | 'unknown', number>>
  /** Downloads changes since the last download. Returns the numbers of changed and deleted products. */
  refresh(): Promise<{ changed: number; deleted: number }>
  tally(): Tally
}

interface Options {
  readonly session: Session
  readonly queue: Queue
  readonly drawer: Drawer
  readonly world: World
  readonly say: (text: string) => void
  /** Sales per upload; the service accepts 1,000. */
  readonly portion: number
}

/** Without kinds that redeem an earlier event, such as a voucher: the simulation has none to redeem. */
const SOLD_WITH = ['cash', 'card', 'pix', 'transfer', 'credit_account', 'other']

/** Till of the company of the session's user. */
export function createTill({ session, queue, drawer, world, say, portion }: Options): Till {
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
      say(`${data.company.name}: ${products.size} products and ${types.length} payment types`)
    },
    async sellOffline() {
      if (products.size === 0 || types.length === 0) throw new Error('company has no products or no payment types')
      const cash_session_id = drawer.session()
      const sale = {
        ...sell([...products.values()], types, world),
        ...(cash_session_id !== null && { cash_session_id }),
      }
      await queue.add(sale)
      await drawer.take(sale, types)
      return sale
    },
    async upload() {
      while (queue.size() > 0) {
        const sales = queue.first(portion)
        const answer = await session.call({ method: 'POST', path: '/sync/sales', body: { sales } })
        for (const result of answer.results as Result[]) take(result)
        // Every sale has a result. The service stores refused ones for review, and would refuse them again.
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

/** Results of a day at the till. */
export interface Report extends DrawerTally {
  /** Sales of the day, cancelled ones among them, and the total of the others. */
  readonly sold: number
  readonly cancelled: number
  readonly total: string
  /** Returns that the service has. */
  readonly returned: number
  readonly returns_refused: number
  /** Earlier sales that were not uploaded. */
  readonly left_from_before: number
  /** Upload results. A duplicate means that the first response was lost. */
  readonly created: number
  readonly duplicate: number
  readonly resolved: number
  readonly refused: number
  readonly warnings: number
  /** Distinct sale ids from the service. */
  readonly sale_ids: number
  /** Calls retried after a connection failure. */
  readonly retries: number
  /** Products that changed at the service meanwhile, and the downloaded changes. */
  readonly conflicts: number
  readonly products_changed: number
  readonly products_deleted: number
  /** Sales still to upload. */
  readonly waiting: number
}

interface Parts {
  readonly line: Line
  readonly session: Session
  readonly queue: Queue
  readonly drawer: Drawer
  readonly desk: ReturnDesk
  readonly till: Till
  readonly say: (text: string) => void
}

/** Downloads, opens the drawer, makes `sales` offline sales, counts, breaks the connection twice during the upload, and syncs. */
export async function playDay(
  { line, session, queue, drawer, desk, till, say }: Parts,
  sales: number,
): Promise<Report> {
  await till.download()
  const left_from_before = queue.size()
  await drawer.open()
  let cents = 0
  let cancelled = 0
  for (let n = 0; n < sales; n++) {
    const sale = await till.sellOffline()
    const { status, total } = sale
    await desk.serve(sale)
    if (status === 'cancelled') cancelled += 1
    else cents += Math.round(total * 100)
  }
  await drawer.close()
  say(`${sales} sales without a connection`)
  // The second failure happens after processing: only the response is lost.
  if (queue.size() > 0) line.breakNext('while sending', () => line.breakNext('while receiving'))
  await till.upload()
  await desk.upload()
  await drawer.upload()
  const { updated, deleted, unknown } = await till.checkConflicts()
  const refreshed = await till.refresh()
  const { saleIds, ...results } = till.tally()
  return {
    sold: sales,
    cancelled,
    total: fromCents(cents),
    left_from_before,
    ...results,
    ...drawer.tally(),
    ...desk.tally(),
    sale_ids: new Set(saleIds.values()).size,
    retries: session.retries(),
    conflicts: updated + deleted + unknown,
    products_changed: refreshed.changed,
    products_deleted: refreshed.deleted,
    waiting: queue.size(),
  }
}
