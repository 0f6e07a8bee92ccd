import { inZone } from '#domain/instant.ts'
import { nameKey } from '#domain/text.ts'
import { type EventName, optionalMembers } from '#events/catalogue.ts'
import type { Ref, Table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef, getTimezone } from './companies.ts'
import { type ChangedFields, existing, stamp } from './define-projection.ts'

/** Times are in the company's zone. */
interface RecordObject {
  readonly id: number
  readonly external_id: string | null
  /** Null after erasure. */
  readonly name?: string | null
  readonly created_at: string
  readonly updated_at: string
}

/** Row of a record that can be created, changed, deleted and revived. */
export interface RecordRow<D> extends ChangedFields {
  company_id: number
  id: number
  /** A deleted record keeps it, so that PUT by-external can revive the record. */
  external_id: string | null
  deleted_at: string | null
  doc: D
}

/** Storage of one kind of records; `C`: its additional columns, for searching. */
interface RecordKind<T, D extends RecordObject, C> {
  readonly table: Table<RecordRow<D> & C>
  byId(id: number): Ref<RecordRow<D> & C>
  /** Object of a record created `at` this time, from the event's data. */
  create(data: T, at: string): D
  /** Fields that events leave out if they are empty. */
  readonly empty?: Partial<D>
  /** `before`: the previous row; null for a new record. */
  columnsOf(doc: D, before: Readonly<C> | null): Omit<C, 'name_key'>
  /** Sets members of the object that follow from others. */
  derive?(doc: D): D
  /** Unique values that a deleted record releases. */
  readonly freed?: Partial<C>
  /** The object without values that a deleted record must not keep. */
  onDeleted?(doc: D): D
  /** Names are unique, by the column `name_key`. */
  readonly hasUniqueNames?: true
  /** The object says in `deleted_at` when it was deleted, because reads by id find it. */
  readonly showsDeletion?: true
}

/** Object of a record that reads by id find after its deletion. */
export interface ShownDeletion {
  readonly deleted_at: string | null
}

/** Fields that events of a type leave out if they are empty. */
export const emptyFields = (created: EventName): Readonly<Record<string, null>> =>
  Object.fromEntries(optionalMembers(created).map((member) => [member, null]))

type Id = { readonly id: number }

/** Fields of record events that these handlers read. */
interface Recorded<T extends Id> {
  readonly revision: number
  readonly recorded_at: string
  readonly data: T
}

/** Unique key of a record's name. */
export interface NameHolder {
  /** Null if the record is deleted or erased. */
  name_key: string | null
}

/** Object after the event. Times in events are UTC; `zone` is the company's. */
type ChangeObject<D, E extends Id> = (doc: D, data: E, zone: string, event: Recorded<E>) => D

/** Event handlers of a record's row; a projection assigns them to event names. */
export function recordHandlers<T extends Id, D extends RecordObject, C>(kind: RecordKind<T, D, C>) {
  const { table, byId, columnsOf, derive, empty, freed, onDeleted, hasUniqueNames, showsDeletion } = kind
  const live = showsDeletion ? { deleted_at: null } : null
  const keyOf = (name: string | null | undefined): Partial<NameHolder> =>
    hasUniqueNames && name !== undefined ? { name_key: name === null ? null : nameKey(name) } : {}
  const refs = ({ data }: Recorded<Id>) => [byId(data.id)]
  const change = <E extends Id>(rows: Changes, event: Recorded<E>, alter: ChangeObject<D, E>) => {
    const before = existing(rows, byId(event.data.id))
    const zone = getTimezone(rows)
    const altered = alter(before.doc, event.data, zone, event)
    const doc = { ...(derive ? derive(altered) : altered), updated_at: inZone(event.recorded_at, zone) }
    return { ...before, ...stamp(event), external_id: doc.external_id, ...columnsOf(doc, before), doc }
  }
  /** Handler of an event that changes the record's object. */
  const changing = <E extends Id>(alter: ChangeObject<D, E>) => ({
    refs,
    apply: (rows: Changes, event: Recorded<E>) => rows.put(table, change(rows, event, alter)),
  })
  return {
    created: {
      apply(rows: Changes, event: Recorded<T>) {
        const doc = kind.create(event.data, inZone(event.recorded_at, getTimezone(rows)))
        const { company_id } = companyRef(rows)
        const { id, external_id } = doc
        const columns = { ...columnsOf(doc, null), ...keyOf(doc.name) } as C
        rows.add(table, { company_id, id, external_id, deleted_at: null, ...stamp(event), ...columns, doc })
      },
    },
    updated: {
      refs,
      apply(rows: Changes, event: Recorded<Id & { readonly changes: Partial<D> }>) {
        const { changes } = event.data
        const row = change(rows, event, (doc) => ({ ...doc, ...changes }))
        rows.put(table, { ...row, ...keyOf(changes.name) })
      },
    },
    revived: {
      refs,
      apply(rows: Changes, event: Recorded<Id & Partial<D>>) {
        const row = change(rows, event, (doc, fields) => ({ ...doc, ...empty, ...fields, ...live }))
        rows.put(table, { ...row, ...keyOf(row.doc.name), deleted_at: null })
      },
    },
    deleted: {
      refs,
      apply(rows: Changes, event: Recorded<Id>) {
        const before = existing(rows, byId(event.data.id))
        const left = onDeleted ? onDeleted(before.doc) : before.doc
        const doc = showsDeletion ? { ...left, deleted_at: inZone(event.recorded_at, getTimezone(rows)) } : left
        const columns = onDeleted ? columnsOf(doc, before) : {}
        rows.put(table, { ...before, ...columns, ...freed, doc, deleted_at: event.recorded_at, ...stamp(event) })
      },
    },
    changing,
  }
}
