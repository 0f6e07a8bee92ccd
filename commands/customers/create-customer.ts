import { z } from 'zod'
import { ExternalId } from '../../src/domain/text.ts'
import { event } from '../../src/events/catalogue.ts'
import { accept, command } from '../../src/ledger/command.ts'
import { personOf } from '../persons/person-fields.ts'
import { checkDocument, personShape } from '../persons/person-input.ts'
import { findDuplicate, uniqueRefs } from '../persons/unique-fields.ts'
import { customerLookups } from './lookups.ts'

/** POST /customers, and the body of PUT by-external, whose external id is in the path. */
export const CreateCustomerInput = z
  .strictObject({ external_id: ExternalId.nullish(), ...personShape })
  .superRefine(checkDocument)
export type CreateCustomerInput = z.infer<typeof CreateCustomerInput>

/** Creates a customer with a name and an external id that no other has. */
export const createCustomer = command<CreateCustomerInput>({
  needs: (input) => uniqueRefs(customerLookups, input),
  ids: () => ({ customer: 1 }),
  decide(rows, input, { nextId }) {
    const duplicate = findDuplicate(rows, customerLookups, input, null)
    if (duplicate) return duplicate
    const created = event('CustomerCreated', {
      id: nextId('customer'),
      external_id: input.external_id ?? null,
      ...personOf(input),
    })
    return accept('created', created.subject, [created])
  },
})
