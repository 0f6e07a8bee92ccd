import { z } from 'zod'
import { customerById } from '../../projections/customers.ts'
import { refuse } from '../../src/domain/refusal.ts'
import { Id } from '../../src/domain/text.ts'
import { event } from '../../src/events/catalogue.ts'
import { accept, command } from '../../src/ledger/command.ts'

/** DELETE /customers/{id} */
export const DeleteCustomerInput = z.strictObject({ id: Id })
export type DeleteCustomerInput = z.infer<typeof DeleteCustomerInput>

/** Takes a customer out of lists and frees its name; its external id stays, so that PUT by-external can revive it. */
export const deleteCustomer = command<DeleteCustomerInput>({
  needs: ({ id }) => [customerById(id)],
  decide(rows, { id }) {
    const known = rows.get(customerById(id))
    if (!known || known.deleted_at) return refuse('not_found')
    return accept('deleted', `customer/${id}`, [event('CustomerDeleted', { id })])
  },
})
