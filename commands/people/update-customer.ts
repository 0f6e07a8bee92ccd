import { z } from 'zod'
import { ExternalId, Id } from '#domain/text.ts'
import { customerKind } from './customer-kind.ts'
import { personChangesShape } from './person-input.ts'
import { updatePerson } from './update-person.ts'

/** The body of PATCH /customers/{id}. */
export const CustomerChanges = z.strictObject({ external_id: ExternalId.nullish(), ...personChangesShape })

export const UpdateCustomerInput = z.strictObject({ id: Id, changes: CustomerChanges })
export type UpdateCustomerInput = z.infer<typeof UpdateCustomerInput>

export const updateCustomer = updatePerson(customerKind)
