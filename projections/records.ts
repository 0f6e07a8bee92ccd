import { inZone } from '../src/domain/instant.ts'
import type { Ref, Table } from '../src/ledger/table.ts'
import type { Changes } from '../src/ledger/working-set.ts'
import { companyOf, timezoneOf } from './companies.ts'
import { type Changed, existing, stamp } from './define.ts'

/** What the API's object of every record has; times are on the company's clock. */
interface RecordObject {
  readonly id: number
  readonly external_id: string | null
  readonly created_at: string
  readonly updated_at: string
}

/** A row of records that are created, changed, deleted and revived. */
export interface RecordRow<D> extends Changed {
  company_id: number
  id: number
  /** Kept by a deleted record, so that PUT by-external can revive it. */
  external_id: string | null
  deleted_at: string | null
  doc: D
}

/** How records of one kind are kept; `C` are its own columns, which repeat what is looked for in the object. */
interface RecordKind<T, D extends RecordObject, C> {
  readonly table: Table<RecordRow<D> & C>
  byId(id: number): Ref<RecordRow<D> & C>
  /** The object of a record that is new `at` this time, from the event's data. */
  create(data: T, at: string): D
  columnsOf(doc: D): C
  /** Values of unique columns that a deleted record gives up. */
  readonly freed?: Partial<C>
}

/** An event about one record, as far as these handlers look at it. */
export interface Recorded<T> {
  readonly revision: number
  readonly recorded_at: string
  readonly data: T
}

type Id = { readonly id: number }

/** What the four events in the life of a record do to its row; a projection lists them under the events' names. */
export function recordHandlers<T extends Id, D extends RecordObject, C>(kind: RecordKind<T, D, C>) {
  const { table, byId, columnsOf } = kind
  const refs = ({ data }: Recorded<Id>) => [byId(data.id)]
  /** Changes fields of the object, and with them the columns. */
  const change = (rows: Changes, event: Recorded<Id>, fields: Partial<D>) => {
    const before = existing(rows, byId(event.data.id))
    const doc = { ...before.doc, ...fields, updated_at: inZone(event.recorded_at, timezoneOf(rows)) }
    return { ...before, ...stamp(event), external_id: doc.external_id, ...columnsOf(doc), doc }
  }
  return {
    created: {
      apply(rows: Changes, event: Recorded<T>) {
        const doc = kind.create(event.data, inZone(event.recorded_at, timezoneOf(rows)))
        const { company_id } = companyOf(rows)
        const { id, external_id } = doc
        rows.add(table, { company_id, id, external_id, deleted_at: null, ...stamp(event), ...columnsOf(doc), doc })
      },
    },
    updated: {
      refs,
      apply(rows: Changes, event: Recorded<Id & { readonly changes: Partial<D> }>) {
        rows.put(table, change(rows, event, event.data.changes))
      },
    },
    deleted: {
      refs,
      apply(rows: Changes, event: Recorded<Id>) {
        const before = existing(rows, byId(event.data.id))
        rows.put(table, { ...before, ...kind.freed, deleted_at: event.recorded_at, ...stamp(event) })
      },
    },
    revived: {
      refs,
      apply(rows: Changes, event: Recorded<Id & Partial<D>>) {
        rows.put(table, { ...change(rows, event, event.data), deleted_at: null })
      },
    },
    /** For events that only this kind has. */
    change,
  }
}
