import { deletePerson } from '../persons/delete-person.ts'
import { customerKind } from './customer-kind.ts'

/** DELETE /customers/{id} */
export const deleteCustomer = deletePerson(customerKind)
