import { inZone } from '../src/domain/instant.ts'
import { nameKey } from '../src/domain/text.ts'
import type { DataOf } from '../src/events/catalogue.ts'
import { byKey, byPk, table } from '../src/ledger/table.ts'
import { companyOf, timezoneOf } from './companies.ts'
import { BY_CHANGE, BY_DELETION, type Changed, changedColumns, docView, existing, projection, stamp } from './define.ts'

/** All fields of a person that a caller sets. */
export type PersonFields = Omit<DataOf<'CustomerCreated'>, 'id'>

/** A customer as the API shows it (spec, Customer; DESIGN section 5, Person). */
export type CustomerObject = { id: number } & PersonFields & { created_at: string; updated_at: string }

export interface CustomerRow extends Changed {
  company_id: number
  id: number
  /** Kept by a deleted record, so that PUT by-external can revive it. */
  external_id: string | null
  /** Comparison key of the name; null when deleted, which frees the name. */
  name_key: string | null
  document: string | null
  deleted_at: string | null
  doc: CustomerObject
}

export const customers = table<CustomerRow>('customers', {
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    external_id: 'text',
    name_key: 'text',
    document: 'text',
    deleted_at: 'timestamptz',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'], external: ['company_id', 'external_id'], name: ['company_id', 'name_key'] },
  indexes: [BY_CHANGE, BY_DELETION],
})

export const customerById = (id: number) => byPk(customers, id)
export const customerByExternalId = (externalId: string) => byKey(customers, 'external', externalId)
export const customerByName = (name: string) => byKey(customers, 'name', nameKey(name))

/** The columns that repeat what is looked for in the object. */
const columnsOf = (doc: CustomerObject) => ({
  external_id: doc.external_id,
  name_key: nameKey(doc.name),
  document: doc.document,
  doc,
})

export const customersProjection = projection('customers', [customers], {
  CustomerCreated: {
    apply(rows, event) {
      const at = inZone(event.recorded_at, timezoneOf(rows))
      const doc: CustomerObject = { ...event.data, created_at: at, updated_at: at }
      const { company_id } = companyOf(rows)
      rows.add(customers, { company_id, id: doc.id, deleted_at: null, ...stamp(event), ...columnsOf(doc) })
    },
  },
  CustomerUpdated: {
    refs: (event) => [customerById(event.data.id)],
    apply(rows, event) {
      const before = existing(rows, customerById(event.data.id))
      const doc = { ...before.doc, ...event.data.changes, updated_at: inZone(event.recorded_at, timezoneOf(rows)) }
      rows.put(customers, { ...before, ...stamp(event), ...columnsOf(doc) })
    },
  },
  CustomerDeleted: {
    refs: (event) => [customerById(event.data.id)],
    apply(rows, event) {
      const before = existing(rows, customerById(event.data.id))
      rows.put(customers, { ...before, name_key: null, deleted_at: event.recorded_at, ...stamp(event) })
    },
  },
  CustomerRevived: {
    refs: (event) => [customerById(event.data.id)],
    apply(rows, event) {
      const before = existing(rows, customerById(event.data.id))
      const updated_at = inZone(event.recorded_at, timezoneOf(rows))
      const doc = { ...event.data, created_at: before.doc.created_at, updated_at }
      rows.put(customers, { ...before, deleted_at: null, ...stamp(event), ...columnsOf(doc) })
    },
  },
})

export const customerView = docView(customerById)
