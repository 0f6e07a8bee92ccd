import { type ReadModel, viewOf } from './projection.ts'
import type { AnyRef } from './table.ts'
import type { WorkingSet } from './working-set.ts'

/** Rows in memory, and how more of them are brought in. */
export interface Loading {
  readonly model: ReadModel
  readonly set: WorkingSet
  /** Loads what is missing; a round trip, so it is called only when something is. */
  load(companyId: number, refs: readonly AnyRef[]): Promise<void>
}

/** Loads those of the rows that are not in memory yet. */
export async function ensure({ set, load }: Loading, companyId: number, refs: readonly AnyRef[]): Promise<void> {
  const missing = set.missing(companyId, refs)
  if (missing.length > 0) await load(companyId, missing)
}

/** The record's JSON text as it stands in the working set, at a moment (UTC); '' when it is gone. */
export async function render(
  subject: string,
  { companyId, now }: { companyId: number; now: string },
  loading: Loading,
): Promise<string> {
  const { view, id } = viewOf(loading.model, subject)
  const rows = loading.set.of(companyId)
  await ensure(loading, companyId, view.refs(id))
  if (view.refsMore) await ensure(loading, companyId, view.refsMore(rows, id))
  return view.render(rows, id, now) ?? ''
}
