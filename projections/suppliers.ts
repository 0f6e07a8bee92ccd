import type { DataOf } from '#events/catalogue.ts'
import { docView, projection } from './define.ts'
import { type PersonObject, personKind, personTable } from './persons.ts'

/** All fields of a supplier that a caller sets: those of a person, and the trade name. */
export type SupplierFields = Omit<DataOf<'SupplierCreated'>, 'id'>

/** A supplier as the API shows it: as a customer, and the trade name (DESIGN section 5, Person). */
export type SupplierObject = PersonObject<SupplierFields>

export const suppliers = personTable<SupplierFields>('suppliers')

const { byId, byExternalId, byName, on } = personKind(suppliers)

export const supplierById = byId
export const supplierByExternalId = byExternalId
export const supplierByName = byName

export const suppliersProjection = projection('suppliers', [suppliers], {
  SupplierCreated: on.created,
  SupplierUpdated: on.updated,
  SupplierDeleted: on.deleted,
  SupplierRevived: on.revived,
})

export const supplierView = docView(supplierById)
