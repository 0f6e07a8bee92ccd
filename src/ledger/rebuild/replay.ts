import { inBatches, prefetch } from '#lib/batches.ts'
import type { BulkTransaction, Transaction } from '#postgres/transaction.ts'
import { resetCompanyRows } from '../company-reset.ts'
import type { Envelope } from '../envelope.ts'
import { erasuresOf, project, type ReadModel, refsOf } from '../projection.ts'
import { createWorkingSet, type WorkingSet } from '../working-set.ts'

/** Called between portions of work with the milliseconds that the last one took; makes it wait, or rejects to end it. */
export type ReplayPace = (spent_ms: number) => Promise<void>

/** Does a portion of work at a pace. */
export async function paced(pace: ReplayPace | undefined, portion: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now()
  await portion()
  await pace?.(performance.now() - startedAt)
}

interface ReplayOptions {
  readonly onApplied?: (events: number) => void
  /** Portions end where rows are written. */
  readonly pace?: ReplayPace | undefined
  /** By default nothing is read before it became unreadable. */
  readonly erasesAfter?: number
}

/** Events read ahead, and applied with one load of the rows that they need. */
const BATCH_EVENTS = 500
/**
 * Rows are kept, and written once, until so much was applied: what changes again mostly does so soon. Memory is bounded by it.
 * An event counts for itself and for each member of its lists, because the rows of long sales are large.
 */
const KEPT_WEIGHT = 4_000

/**
 * Applies one company's events up to a revision (inclusive) to tables that hold nothing of that company yet, or the state
 * just before the first of the events. Makes no answers and no deliveries. `onApplied` hears of events a few hundred at a
 * time. What events after `erasesAfter` made unreadable may have been read before: it is erased from the tables. Returns how
 * many were applied.
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
    // Heard of where it is awaited, though the next batch may fail first.
    writing.catch(() => {})
    kept = createWorkingSet()
    weight = 0
    if (erasing.length === 0) return
    // Before rows are loaded again.
    await writing
    for (const erase of erasing) await erase(tx)
    erasing = []
  }
  for await (const batch of prefetch(inBatches(upTo(upToRevision, events), BATCH_EVENTS))) {
    for (const part of partsOf(model, batch)) {
      // What was written must be there to be deleted.
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

/** A batch in parts of which only the first event may empty the company: rows loaded before are not those of afterwards. */
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
  for (const event of batch) set.want(companyId, refsOf(model, event))
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
