import { z } from 'zod'
import { ExternalId } from '../../src/domain/text.ts'
import { personOf } from '../persons/person-fields.ts'
import { checkDocument, personShape } from '../persons/person-input.ts'
import { replacePerson } from '../persons/replace-person.ts'
import { customerKind } from './customer-kind.ts'

/** PUT /customers/by-external/{external_id}, and each item of a batch. */
export const ReplaceCustomerInput = z
  .strictObject({ external_id: ExternalId, ...personShape })
  .superRefine(checkDocument)
export type ReplaceCustomerInput = z.infer<typeof ReplaceCustomerInput>

export const replaceCustomer = replacePerson(customerKind, (input: ReplaceCustomerInput) => personOf(input))
