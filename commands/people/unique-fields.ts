import type { Refusal } from '#domain/refusal.ts'
import type { Ref } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { duplicateOf } from '../records/duplicate.ts'

/** How persons of one kind are found by the values that must be unique among them. */
export interface Lookups<R> {
  byName(name: string): Ref<R>
  byExternalId(externalId: string): Ref<R>
}

/** The values to be checked; what is absent or null cannot be a duplicate. */
interface UniqueFields {
  readonly name?: string
  readonly external_id?: string | null
}

/** The rows that `findDuplicate` looks at. */
export function uniqueRefs<R>({ byName, byExternalId }: Lookups<R>, { name, external_id }: UniqueFields): Ref<R>[] {
  return [...(name === undefined ? [] : [byName(name)]), ...(external_id ? [byExternalId(external_id)] : [])]
}

/** The refusal of a name or external id that another person of the kind has, the name first. */
export function findDuplicate<R extends { id: number; deleted_at: string | null }>(
  rows: Rows,
  { byName, byExternalId }: Lookups<R>,
  { name, external_id }: UniqueFields,
  ownId: number | null,
): Refusal | null {
  const sameName = name === undefined ? null : duplicateOf('name', rows.get(byName(name)), ownId)
  if (sameName || !external_id) return sameName
  return duplicateOf('external_id', rows.get(byExternalId(external_id)), ownId)
}
