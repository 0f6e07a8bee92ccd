import { deletePerson } from './delete-person.ts'
import { supplierKind } from './supplier-kind.ts'

/** DELETE /suppliers/{id} */
export const deleteSupplier = deletePerson(supplierKind)
