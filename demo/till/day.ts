import { fromCents } from '#domain/money.ts'
import type { Line } from './line.ts'
import type { Queue } from './queue.ts'
import type { Session } from './session.ts'
import type { Till } from './till.ts'

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
