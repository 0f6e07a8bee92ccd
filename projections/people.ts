import { inZone } from '#domain/instant.ts'
import type { PersonKind } from '#domain/personal-data.ts'
import { phoneKey } from '#domain/phone-key.ts'
import { nameKey, searchText, sortKey } from '#domain/text.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import { byKey, byPk, type Table, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { timezoneOf } from './companies.ts'
import {
  changedColumns,
  existing,
  INDEX_BY_CHANGE,
  INDEX_BY_DELETION,
  INDEX_BY_NAME,
  INDEX_BY_PAST,
  projection,
  stamp,
} from './define.ts'
import { withoutParts } from './personal-members.ts'
import { type NameHolder, type RecordRow, recordHandlers, type ShownDeletion } from './records.ts'

/** Writable fields common to customers and suppliers. */
export type PersonFields = Required<Omit<DataOf<'SupplierCreated'>, 'id' | 'trade_name'>>

/** Customer or supplier as the API returns it. */
type PersonObject<F extends PersonFields> = { id: number } & F &
  PersonErasure & { created_at: string; updated_at: string } & ShownDeletion

/** State of erasure. */
export interface PersonErasure {
  /** Complete erasure: all personal fields are null from then on. */
  forgotten_at: string | null
  /** Day from which the identity will be erased; data that is not needed until then is already null. */
  forgetting_due_on: string | null
}

interface PersonColumns extends NameHolder {
  sort_key: string
  /** Names and external id. */
  search: string
  document: string | null
  phone_key: string | null
}

export type PersonRow<F extends PersonFields = PersonFields> = RecordRow<PersonObject<F>> & PersonColumns

function personTable<F extends PersonFields>(name: string): Table<PersonRow<F>> {
  return table<PersonRow<F>>(name, {
    columns: {
      company_id: 'bigint',
      id: 'bigint',
      external_id: 'text',
      name_key: 'text',
      sort_key: 'text',
      search: 'text',
      document: 'text',
      phone_key: 'text',
      deleted_at: 'timestamptz',
      ...changedColumns,
      doc: 'json',
    },
    keys: { pk: ['company_id', 'id'], external: ['company_id', 'external_id'], name: ['company_id', 'name_key'] },
    indexes: [
      INDEX_BY_CHANGE,
      INDEX_BY_DELETION,
      INDEX_BY_NAME,
      INDEX_BY_PAST,
      '(company_id, document, id) where document is not null',
      '(company_id, phone_key, id) where phone_key is not null',
    ],
    past: { id: 'id', without: ['name_key'] },
  })
}

/** Sort key of erased persons: behind all names. */
const LAST = '\u{10FFFF}'

/** Suppliers only. */
const tradeNameOf = (person: object): string | null =>
  'trade_name' in person ? (person.trade_name as string | null) : null

/** Fields as events record them: those of a kind alone are absent if they are empty. */
type Recorded<F extends PersonFields> = Omit<PersonFields, 'metadata'> & Partial<F>

/** Lookups and event handlers of the persons of a table. `empty`: fields that events leave out if they are empty. */
function personKind<F extends PersonFields>(kind: PersonKind, persons: Table<PersonRow<F>>, empty: Partial<F> = {}) {
  const byId = (id: number) => byPk(persons, id)
  const byName = (name: string) => byKey(persons, 'name', nameKey(name))
  const columnsOf = (person: PersonObject<F>) => ({
    sort_key: person.forgotten_at === null ? sortKey(person.name ?? '') : LAST,
    search: searchText(person.name, tradeNameOf(person), person.external_id),
    document: person.document,
    phone_key: person.phone && phoneKey(person.phone),
  })
  /** Handler of events about several kinds of persons. */
  const changing = <E extends AboutPerson>(change: (doc: PersonObject<F>, event: E, at: string) => object) => ({
    refs: ({ data }: E) => (data.kind === kind ? [byId(data.id)] : []),
    apply(rows: Changes, event: E) {
      if (event.data.kind !== kind) return
      const before = existing(rows, byId(event.data.id))
      const at = inZone(event.recorded_at, timezoneOf(rows))
      const doc = { ...before.doc, ...change(before.doc, event, at), updated_at: at }
      const name_key = doc.name === null ? null : before.name_key
      rows.put(persons, { ...before, ...stamp(event), ...columnsOf(doc), name_key, doc })
    },
  })
  return {
    byId,
    byExternalId: (externalId: string) => byKey(persons, 'external', externalId),
    byName,
    on: {
      ...recordHandlers<{ id: number } & Recorded<F>, PersonObject<F>, PersonColumns>({
        table: persons,
        byId,
        empty: empty as Partial<PersonObject<F>>,
        create: (data, at) =>
          Object.assign({}, data as { id: number } & F, empty, data, {
            forgotten_at: null,
            forgetting_due_on: null,
            created_at: at,
            updated_at: at,
            deleted_at: null,
          }),
        columnsOf,
        freed: { name_key: null } as Partial<PersonColumns>,
        // The ledger keeps the personal data of a deleted person (PERSON-10).
        onDeleted: (doc) => withoutParts(kind, doc),
        hasUniqueNames: true,
        showsDeletion: true,
      }),
      forgotten: changing((doc, { data: { parts } }: EventOf<'PersonForgotten'>, at) => ({
        ...withoutParts(kind, doc, parts),
        ...(parts.includes('identity') && { forgotten_at: at, forgetting_due_on: null }),
      })),
      queued: changing((_doc, { data }: EventOf<'PersonForgettingQueued'>) => ({ forgetting_due_on: data.due_on })),
    },
  }
}

type AboutPerson = EventOf<'PersonForgotten'> | EventOf<'PersonForgettingQueued'>

export type CustomerFields = Required<Omit<DataOf<'CustomerCreated'>, 'id'>>

export type CustomerObject = PersonObject<CustomerFields>

export const customers = personTable<CustomerFields>('customers')

const customer = personKind('customer', customers, { metadata: null, state_registration: null, ie_indicator: null })

export const customerById = customer.byId
export const customerByExternalId = customer.byExternalId
export const customerByName = customer.byName

export const customersProjection = projection('customers', [customers], {
  CustomerCreated: customer.on.created,
  CustomerUpdated: customer.on.updated,
  CustomerDeleted: customer.on.deleted,
  CustomerRevived: customer.on.revived,
  PersonForgotten: customer.on.forgotten,
  PersonForgettingQueued: customer.on.queued,
})

export type SupplierFields = Required<Omit<DataOf<'SupplierCreated'>, 'id'>>

export type SupplierObject = PersonObject<SupplierFields>

export const suppliers = personTable<SupplierFields>('suppliers')

const supplier = personKind('supplier', suppliers, { metadata: null })

export const supplierById = supplier.byId
export const supplierByExternalId = supplier.byExternalId
export const supplierByName = supplier.byName

export const suppliersProjection = projection('suppliers', [suppliers], {
  SupplierCreated: supplier.on.created,
  SupplierUpdated: supplier.on.updated,
  SupplierDeleted: supplier.on.deleted,
  SupplierRevived: supplier.on.revived,
  PersonForgotten: supplier.on.forgotten,
  PersonForgettingQueued: supplier.on.queued,
})
