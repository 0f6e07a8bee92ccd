import { customerKind } from './customer-kind.ts'
import { deletePerson } from './delete-person.ts'

/** DELETE /customers/{id} */
export const deleteCustomer = deletePerson(customerKind)
