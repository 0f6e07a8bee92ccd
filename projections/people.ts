import { nameKey, searchText, sortKey } from '#domain/text.ts'
import type { DataOf } from '#events/catalogue.ts'
import { byKey, byPk, type Table, table } from '#ledger/table.ts'
import { BY_CHANGE, BY_DELETION, BY_NAME, BY_PAST, changedColumns, docView, projection, withMore } from './define.ts'
import { type NameHolder, type RecordRow, recordHandlers } from './records.ts'

/** Fields of customers and suppliers alike that a caller sets. */
export type PersonFields = Omit<DataOf<'CustomerCreated'>, 'id'>

/** A customer or supplier as the API shows it. */
type PersonObject<F extends PersonFields> = { id: number } & F & { created_at: string; updated_at: string }

interface PersonColumns extends NameHolder {
  sort_key: string
  /** Of names and external id. */
  search: string
  document: string | null
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
      deleted_at: 'timestamptz',
      ...changedColumns,
      doc: 'json',
    },
    keys: { pk: ['company_id', 'id'], external: ['company_id', 'external_id'], name: ['company_id', 'name_key'] },
    indexes: [BY_CHANGE, BY_DELETION, BY_NAME, BY_PAST],
    past: { id: 'id', without: ['name_key'] },
  })
}

/** Of a supplier. */
const tradeNameOf = (person: object): string | null =>
  'trade_name' in person ? (person.trade_name as string | null) : null

/** What takes the place of a deleted person's own data; the ledger alone still knows them (PERSON-10). */
const FORGOTTEN = {
  name: '',
  document: null,
  phone: null,
  email: null,
  address: null,
  notes: null,
} satisfies Partial<PersonFields>

/** How persons of a table are found, and what events do to its rows. */
function personKind<F extends PersonFields>(persons: Table<PersonRow<F>>, forgotten: Partial<F>) {
  const byId = (id: number) => byPk(persons, id)
  const byName = (name: string) => byKey(persons, 'name', nameKey(name))
  return {
    byId,
    byExternalId: (externalId: string) => byKey(persons, 'external', externalId),
    byName,
    on: recordHandlers<{ id: number } & F, PersonObject<F>, PersonColumns>({
      table: persons,
      byId,
      create: (data, at) => withMore(data, { created_at: at, updated_at: at }),
      columnsOf: (person) => ({
        sort_key: sortKey(person.name ?? ''),
        search: searchText(person.name, tradeNameOf(person), person.external_id),
        document: person.document,
      }),
      freed: { name_key: null } as Partial<PersonColumns>,
      forgotten: forgotten as Partial<PersonObject<F>>,
      byName,
    }),
  }
}

export type CustomerObject = PersonObject<PersonFields>

export const customers = personTable<PersonFields>('customers')

const customer = personKind(customers, FORGOTTEN)

export const customerById = customer.byId
export const customerByExternalId = customer.byExternalId
export const customerByName = customer.byName

export const customersProjection = projection('customers', [customers], {
  CustomerCreated: customer.on.created,
  CustomerUpdated: customer.on.updated,
  CustomerDeleted: customer.on.deleted,
  CustomerRevived: customer.on.revived,
})

export const customerView = docView(customerById)

export type SupplierFields = Omit<DataOf<'SupplierCreated'>, 'id'>

/** With a trade name. */
export type SupplierObject = PersonObject<SupplierFields>

export const suppliers = personTable<SupplierFields>('suppliers')

const supplier = personKind(suppliers, { ...FORGOTTEN, trade_name: null })

export const supplierById = supplier.byId
export const supplierByExternalId = supplier.byExternalId
export const supplierByName = supplier.byName

export const suppliersProjection = projection('suppliers', [suppliers], {
  SupplierCreated: supplier.on.created,
  SupplierUpdated: supplier.on.updated,
  SupplierDeleted: supplier.on.deleted,
  SupplierRevived: supplier.on.revived,
})

export const supplierView = docView(supplierById)
