import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import type { Permission } from '#domain/rights.ts'
import { apostropheSpellings, Id, NewExternalId } from '#domain/text.ts'
import { type DataOf, EVENT_TYPES, type EventName, event, optionalMembers } from '#events/catalogue.ts'
import { type Grant, isRefusal, type NewEvent, type Permit } from '#ledger/command.ts'
import type { Ref } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import type { CommandWarnings } from './item-input.ts'

/** Grant of several permissions, or the first refusal. */
export function permitAll(permit: Permit, permissions: readonly Permission[]): Grant | Refusal {
  let grant: Grant = {}
  for (const permission of permissions) {
    const granted = permit(permission)
    if (isRefusal(granted)) return granted
    grant = { ...grant, ...granted }
  }
  return grant
}

/** Input of commands that need only the record's id. */
export const RecordId = z.strictObject({ id: Id })
export type RecordId = z.infer<typeof RecordId>

/**
 * Fields of `after` that differ from `before`. Events record only these, so a repeated request records nothing.
 * Undefined fields stay unchanged.
 */
export function pickChanges<A extends object>(before: { readonly [F in keyof A]: unknown }, after: A): Partial<A> {
  const fields = Object.keys(after) as (keyof A)[]
  const changed = fields.filter(
    (field) => after[field] !== undefined && !isDeepStrictEqual(after[field], before[field]),
  )
  return Object.fromEntries(changed.map((field) => [field, after[field]])) as Partial<A>
}

/** Data of an event with null for what it leaves out if it is empty. */
type WholeData<D> = { readonly [M in keyof D as null extends D[M] ? M : never]-?: Exclude<D[M], undefined> } & {
  readonly [M in keyof D as null extends D[M] ? never : M]: D[M]
}

/** Event with all fields of a record: it leaves out those that may be absent and are null. */
export function recordEvent<N extends EventName>(name: N, fields: WholeData<DataOf<N>>): NewEvent {
  const data: Record<string, unknown> = { ...fields }
  for (const member of OPTIONAL.get(name) ?? []) if (data[member] === null) delete data[member]
  return event(name, data as DataOf<N>)
}

const OPTIONAL = new Map((Object.keys(EVENT_TYPES) as EventName[]).map((name) => [name, optionalMembers(name)]))

export const isEmpty = (changes: object): boolean => Object.keys(changes).length === 0

/** Record with a unique value; a deleted one still occupies its external id. */
interface Holder {
  readonly id: number
  readonly deleted_at?: string | null
}

/** Refusal if a record other than `ownId` has this value. Deleted ones are marked, because no list shows them. */
export function refuseDuplicate(field: string, holder: Holder | null, ownId: number | null): Refusal | null {
  if (!holder || holder.id === ownId) return null
  const details = { field, conflicting_id: holder.id }
  return refuse('duplicate_resource', holder.deleted_at ? { ...details, deleted: true } : details)
}

/** References of a unique name, and of its spellings with another apostrophe. */
export const namedRefs = <R>(byName: (name: string) => Ref<R>, name: string | null | undefined): Ref<R>[] =>
  typeof name === 'string' ? [name, ...apostropheSpellings(name)].map(byName) : []

/** Warning if another record has this name with another apostrophe (PERSON-820). */
export function warnSpelledAlike<R extends { id: number }>(
  rows: Rows,
  { byName }: { byName(name: string): Ref<R> },
  name: string | null | undefined,
  ownId: number | null,
): CommandWarnings | undefined {
  const found = name ? apostropheSpellings(name).map((one) => rows.get(byName(one))) : []
  const other = found.find((one) => one && one.id !== ownId)
  if (!other) return undefined
  const message = `o cadastro ${other.id} tem o mesmo nome, com outro apóstrofo`
  return { warnings: [{ code: 'name_in_use', field: 'name', message, conflicting_id: other.id }] }
}

/**
 * Input of PUT by-external: the body with the external id of the path. The body may repeat it; a different one is
 * refused, because it would rename the record.
 */
export function atExternalId<B extends { external_id?: string | null }>(
  externalId: string,
  body: B,
): (Omit<B, 'external_id'> & { external_id: string }) | Refusal {
  const parsed = NewExternalId.safeParse(externalId)
  if (!parsed.success) return refuseField('external_id', parsed.error.issues[0]?.message ?? 'tem um valor inválido')
  if (typeof body.external_id === 'string' && body.external_id !== parsed.data) {
    return refuseField('external_id', 'deve ser igual ao do endereço')
  }
  return { ...body, external_id: parsed.data }
}
