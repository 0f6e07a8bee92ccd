import { z } from 'zod'
import { ExternalId } from '#domain/text.ts'
import { createPerson } from './create-person.ts'
import { customerKind } from './customer-kind.ts'
import { personOf } from './person-fields.ts'
import { checkDocument, personShape } from './person-input.ts'

/** POST /customers, and the body of PUT by-external, whose external id is in the path. */
export const CreateCustomerInput = z
  .strictObject({ external_id: ExternalId.nullish(), ...personShape })
  .superRefine(checkDocument)
export type CreateCustomerInput = z.infer<typeof CreateCustomerInput>

export const createCustomer = createPerson(customerKind, (input: CreateCustomerInput) => personOf(input))
