import { invalid, type Refusal } from '#domain/refusal.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import type { PartyKind } from './account-side.ts'

/** The row that `findParty` looks at. */
export function partyRefs<P, N>({ byId, byExternalId, named }: PartyKind<P, N>, input: N): AnyRef[] {
  const { id, external_id } = named(input)
  if (id) return [byId(id)]
  return external_id ? [byExternalId(external_id)] : []
}

/** What an account records of the party that an input names; undefined where it says nothing of one. */
export function findParty<P, N>(rows: Rows, kind: PartyKind<P, N>, input: N): P | undefined | Refusal {
  const { id, external_id } = kind.named(input)
  if (!id && !external_id) return id === null || external_id === null ? kind.recorded(null) : undefined
  const found = rows.get(id ? kind.byId(id) : kind.byExternalId(external_id ?? ''))
  if (!found || found.deleted_at) return invalid(`${kind.field}_${id ? 'id' : 'external_id'}`, kind.unknown)
  return kind.recorded({ id: found.id, external_id: found.external_id, name: found.doc.name })
}
