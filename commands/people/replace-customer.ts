import { z } from 'zod'
import { ExternalId } from '#domain/text.ts'
import { customerKind } from './customer-kind.ts'
import { personOf } from './person-fields.ts'
import { checkDocument, personShape } from './person-input.ts'
import { replacePerson } from './replace-person.ts'

/** PUT /customers/by-external/{external_id}, and each item of a batch. */
export const ReplaceCustomerInput = z
  .strictObject({ external_id: ExternalId, ...personShape })
  .superRefine(checkDocument)
export type ReplaceCustomerInput = z.infer<typeof ReplaceCustomerInput>

export const replaceCustomer = replacePerson(customerKind, (input: ReplaceCustomerInput) => personOf(input))
