import type { WorkPace } from '#background/pace.ts'
import { inBatches, prefetch } from '#lib/batches.ts'
import type { BulkTransaction, Transaction } from '#postgres/transaction.ts'
import { resetCompanyRows } from '../company-reset.ts'
import type { Envelope } from '../envelope.ts'
import { erasuresOf, project, type ReadModel, refsOf } from '../projection.ts'
import { createWorkingSet, type WorkingSet } from '../working-set.ts'

interface ReplayOptions {
  readonly onApplied?: ((events: number) => void) | undefined
  /** A portion ends when rows are written. */
  readonly pace?: WorkPace | undefined
  /** By default no event was read before its fields became unreadable. */
  readonly erasesAfter?: number
}

/** Events that are read ahead and share one load of rows. */
const BATCH_EVENTS = 500
/**
 * Weight of events between two writes of rows: most rows that change again do so soon, and are written once. Bounds
 * memory. An event counts for itself and for each member of its lists, because the rows of long sales are large.
 */
const KEPT_WEIGHT = 4_000

/**
 * Applies one company's events up to a revision (inclusive) to tables without rows of that company, or in the state
 * just before the first event. It creates no stored answers and no deliveries. `onApplied` is called every few hundred
 * events. Fields that became unreadable by events after `erasesAfter` may have been read earlier, so they are erased
 * from the tables. Returns the number of applied events.
 */
export async function replay(
  tx: BulkTransaction,
  model: ReadModel,
  companyId: number,
  events: AsyncIterable<Envelope>,
  upToRevision: number,
  { onApplied = () => {}, pace, erasesAfter = Number.POSITIVE_INFINITY }: ReplayOptions = {},
): Promise<number> {
  let applied = 0
  let erasing: ((tx: Transaction) => Promise<void>)[] = []
  let weight = 0
  let kept = createWorkingSet()
  let writing: Promise<unknown> = Promise.resolve()
  let resumedAt = performance.now()
  const rest = async () => {
    await writing
    await pace?.(performance.now() - resumedAt)
    resumedAt = performance.now()
  }
  const write = async () => {
    await writing
    writing = Promise.all(kept.flushInBulk(tx))
    // The failure is handled where `writing` is awaited, even if the next batch fails first.
    writing.catch(() => {})
    kept = createWorkingSet()
    weight = 0
    if (erasing.length === 0) return
    // Rows must be written before they are loaded again.
    await writing
    for (const erase of erasing) await erase(tx)
    erasing = []
  }
  for await (const batch of prefetch(inBatches(upTo(upToRevision, events), BATCH_EVENTS))) {
    for (const part of partsOf(model, batch)) {
      // Rows must be written before they can be deleted.
      if (empties(model, part[0])) await writing
      await applyBatch(tx, model, companyId, kept, part)
    }
    for (const event of batch) if (event.revision > erasesAfter) erasing.push(...erasuresOf(model, companyId, event))
    applied += batch.length
    onApplied(batch.length)
    weight += batch.reduce((sum, event) => sum + weightOf(event), 0)
    if (weight < KEPT_WEIGHT) continue
    await write()
    if (pace) await rest()
  }
  await write()
  await rest()
  return applied
}

const empties = (model: ReadModel, event: Envelope | undefined): boolean =>
  event !== undefined && model.emptiedBy(event).length > 0

/**
 * Splits a batch so that only the first event of a part may empty the company: rows loaded before it are invalid
 * afterwards.
 */
function partsOf(model: ReadModel, batch: readonly Envelope[]): readonly (readonly Envelope[])[] {
  const cuts = batch.flatMap((event, place) => (empties(model, event) ? [place] : []))
  return [0, ...cuts].map((from, n) => batch.slice(from, cuts[n] ?? batch.length)).filter((part) => part.length > 0)
}

async function applyBatch(
  tx: BulkTransaction,
  model: ReadModel,
  companyId: number,
  set: WorkingSet,
  batch: readonly Envelope[],
): Promise<void> {
  if (batch[0]) await resetCompanyRows({ model, set, tx }, companyId, batch[0])
  for (const event of batch) set.queue(companyId, refsOf(model, event))
  await Promise.all(set.load(tx))
  const rows = set.of(companyId)
  for (const event of batch) project(model, rows, event)
}

function weightOf({ data }: Envelope): number {
  let weight = 1
  for (const name in data) {
    const member: unknown = (data as Record<string, unknown>)[name]
    if (Array.isArray(member)) weight += member.length
  }
  return weight
}

async function* upTo(revision: number, events: AsyncIterable<Envelope>): AsyncGenerator<Envelope> {
  for await (const event of events) {
    if (event.revision > revision) return
    yield event
  }
}
