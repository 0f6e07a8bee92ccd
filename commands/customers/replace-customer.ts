import { z } from 'zod'
import { customerByExternalId } from '../../projections/customers.ts'
import { ExternalId } from '../../src/domain/text.ts'
import { event } from '../../src/events/catalogue.ts'
import { accept, command } from '../../src/ledger/command.ts'
import { personOf } from '../persons/person-fields.ts'
import { checkDocument, personShape } from '../persons/person-input.ts'
import { findDuplicate, uniqueRefs } from '../persons/unique-fields.ts'
import { changesBetween, isEmpty } from '../records/changes.ts'
import { customerLookups } from './lookups.ts'

/** PUT /customers/by-external/{external_id}, and each item of a batch. */
export const ReplaceCustomerInput = z
  .strictObject({ external_id: ExternalId, ...personShape })
  .superRefine(checkDocument)
export type ReplaceCustomerInput = z.infer<typeof ReplaceCustomerInput>

/** Makes the customer with this external id what the input says: creates, replaces or revives it. */
export const replaceCustomer = command<ReplaceCustomerInput>({
  needs: (input) => uniqueRefs(customerLookups, input),
  ids: () => ({ customer: 1 }),
  decide(rows, input, { nextId }) {
    const known = rows.get(customerByExternalId(input.external_id))
    const duplicate = findDuplicate(rows, customerLookups, { name: input.name }, known?.id ?? null)
    if (duplicate) return duplicate
    const fields = { external_id: input.external_id, ...personOf(input) }
    if (!known) {
      const created = event('CustomerCreated', { id: nextId('customer'), ...fields })
      return accept('created', created.subject, [created])
    }
    const { id } = known
    const subject = `customer/${id}`
    if (known.deleted_at) return accept('updated', subject, [event('CustomerRevived', { id, ...fields })])
    const changes = changesBetween(known.doc, fields)
    if (isEmpty(changes)) return accept('unchanged', subject)
    return accept('updated', subject, [event('CustomerUpdated', { id, changes })])
  },
})
