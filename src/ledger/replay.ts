import type { Envelope } from './envelope.ts'
import { project, type ReadModel, refsOf } from './projection.ts'
import type { Transaction } from './transaction.ts'
import { createWorkingSet } from './working-set.ts'

/** Events applied with one load and one flush; memory stays bounded by it. */
const REPLAY_BATCH = 500

/**
 * Applies one company's events up to a revision (inclusive) to tables that hold nothing of that company yet, or the state
 * just before the first of the events. Makes no answers and no deliveries. Returns how many events were applied.
 */
export async function replay(
  tx: Transaction,
  model: ReadModel,
  companyId: number,
  events: AsyncIterable<Envelope>,
  upToRevision: number,
): Promise<number> {
  let applied = 0
  let batch: Envelope[] = []
  for await (const event of events) {
    if (event.revision > upToRevision) break
    batch.push(event)
    if (batch.length === REPLAY_BATCH) {
      await applyBatch(tx, model, companyId, batch)
      applied += batch.length
      batch = []
    }
  }
  if (batch.length > 0) await applyBatch(tx, model, companyId, batch)
  return applied + batch.length
}

async function applyBatch(
  tx: Transaction,
  model: ReadModel,
  companyId: number,
  batch: readonly Envelope[],
): Promise<void> {
  const set = createWorkingSet()
  for (const event of batch) set.want(companyId, refsOf(model, event))
  await Promise.all(set.load(tx))
  const rows = set.of(companyId)
  for (const event of batch) project(model, rows, event)
  await Promise.all(set.flush(tx))
}
