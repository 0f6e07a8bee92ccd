import { expect } from 'chai'
import { deleteCustomer } from '#commands/person-commands.ts'
import { event } from '#events/catalogue.ts'
import { companyRegistered, customerCreated } from '../../../support/facts.ts'
import { given } from '../../../support/given.ts'

describe('delete customer', () => {
  it('removes the customer from lists', async () => {
    const scenario = await given(companyRegistered(), customerCreated({ id: 3 }))
    const decided = await scenario.when(deleteCustomer, { id: 3 })
    decided.accepts('deleted', event('CustomerDeleted', { id: 3 }))
    expect(await scenario.show('customer/3')).to.equal(null)
  })

  it('does not find missing or deleted customers', async () => {
    const scenario = await given(companyRegistered(), customerCreated({ id: 3 }), event('CustomerDeleted', { id: 3 }))
    for (const id of [3, 9]) {
      const decided = await scenario.when(deleteCustomer, { id })
      decided.refuses('not_found')
    }
  })
})
