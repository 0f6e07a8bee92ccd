import * as z from 'zod'
import { invalid, refuse } from '#domain/refusal.ts'
import { Id } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command, isRefusal } from '#ledger/command.ts'
import { receivableById } from '#projections/finance.ts'
import { saleById } from '#projections/sales.ts'
import { customerRefs, customerShape, findCustomer } from '../people/named-customer.ts'

/** Body of PUT /sales/{id}/customer. */
export const SaleCustomerBody = z.strictObject(customerShape)

const AssignSaleCustomer = z.strictObject({ id: Id, ...customerShape })

/**
 * Gives a customer to a sale on credit that was made without one, and to its receivables. The sale is not changed
 * otherwise, and a customer that it has stays (SALE-102).
 */
export const assignSaleCustomer = command<z.infer<typeof AssignSaleCustomer>>({
  permission: 'edit_receivables',
  needs: (input) => [saleById(input.id), ...customerRefs(input)],
  needsMore: (rows, { id }) => (rows.get(saleById(id))?.receivable_ids ?? []).map(receivableById),
  decide(rows, { id, ...name }) {
    const sale = rows.get(saleById(id))
    if (!sale) return refuse('not_found')
    const found = findCustomer(rows, name)
    if (found && isRefusal(found)) return found
    if (found === null) return invalid('customer_id', 'informe o cliente')
    if (sale.customer_id === found.id) return accept('unchanged', `sale/${id}`)
    if (sale.customer_id !== null) return invalid('sale', 'a venda já tem cliente')
    if (sale.status === 'cancelled') return invalid('sale', 'a venda está cancelada')
    if (sale.receivable_ids.length === 0) return invalid('sale', 'a venda não é a prazo')
    const customer = { id: found.id, external_id: found.external_id, name: found.doc.name }
    const changes = {
      customer_id: customer.id,
      customer_external_id: customer.external_id,
      customer_name: customer.name,
    }
    const owed = sale.receivable_ids.filter((receivable) => {
      const row = rows.get(receivableById(receivable))
      // A person may have given the account a customer already.
      return row && !row.deleted_at && row.party_id === null
    })
    return accept('updated', `sale/${id}`, [
      event('SaleCustomerAssigned', { id, customer }),
      ...owed.map((receivable) => event('ReceivableUpdated', { id: receivable, changes })),
    ])
  },
})
