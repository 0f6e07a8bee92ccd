import { type Refusal, refuse } from '#domain/refusal.ts'

/** A record found by a value that must be unique; a deleted one still holds its external id. */
interface Holder {
  readonly id: number
  readonly deleted_at?: string | null
}

/** The refusal of a value that another record than `ownId` has; a deleted holder is marked, because no list shows it. */
export function duplicateOf(field: string, holder: Holder | null, ownId: number | null): Refusal | null {
  if (!holder || holder.id === ownId) return null
  const details = { field, conflicting_id: holder.id }
  return refuse('duplicate_resource', holder.deleted_at ? { ...details, deleted: true } : details)
}
