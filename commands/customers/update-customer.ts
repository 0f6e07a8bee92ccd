import { z } from 'zod'
import { customerById } from '../../projections/customers.ts'
import { refuse } from '../../src/domain/refusal.ts'
import { ExternalId, Id } from '../../src/domain/text.ts'
import { event } from '../../src/events/catalogue.ts'
import { accept, command } from '../../src/ledger/command.ts'
import { misfit, patchOf } from '../persons/person-fields.ts'
import { personChangesShape } from '../persons/person-input.ts'
import { findDuplicate, uniqueRefs } from '../persons/unique-fields.ts'
import { changesBetween, isEmpty } from '../records/changes.ts'
import { customerLookups } from './lookups.ts'

/** The body of PATCH /customers/{id}. */
export const CustomerChanges = z.strictObject({ external_id: ExternalId.nullish(), ...personChangesShape })

export const UpdateCustomerInput = z.strictObject({ id: Id, changes: CustomerChanges })
export type UpdateCustomerInput = z.infer<typeof UpdateCustomerInput>

/** Changes the fields that are named; nothing is recorded where they have these values already. */
export const updateCustomer = command<UpdateCustomerInput>({
  needs: ({ id, changes }) => [customerById(id), ...uniqueRefs(customerLookups, changes)],
  decide(rows, { id, changes: { external_id, ...patch } }) {
    const known = rows.get(customerById(id))
    if (!known || known.deleted_at) return refuse('not_found')
    const after = { ...(external_id === undefined ? {} : { external_id }), ...patchOf(known.doc, patch) }
    const refusal = misfit(known.doc, after) ?? findDuplicate(rows, customerLookups, after, id)
    if (refusal) return refusal
    const changes = changesBetween(known.doc, after)
    const subject = `customer/${id}`
    if (isEmpty(changes)) return accept('unchanged', subject)
    return accept('updated', subject, [event('CustomerUpdated', { id, changes })])
  },
})
