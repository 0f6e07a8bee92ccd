import { expect } from 'chai'
import { ReplaceCustomerInput, replaceCustomer } from '#commands/person-commands.ts'
import { event } from '#events/catalogue.ts'
import { companyRegistered, customerCreated, noDetails } from '../../../support/facts.ts'
import { FIRST_NEW_ID, given } from '../../../support/given.ts'

const input = (body: object) => ReplaceCustomerInput.parse({ external_id: 'a', ...body })
const deleted = event('CustomerDeleted', { id: 3 })

describe('replace customer', () => {
  it('creates a missing customer', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(replaceCustomer, input({ name: 'Ana', phone: '11 5555-1234' }))
    decided.accepts(
      'created',
      customerCreated({ id: FIRST_NEW_ID, external_id: 'a', name: 'Ana', phone: '1155551234' }),
    )
  })

  it('replaces the record; absent fields are cleared', async () => {
    const before = customerCreated({ id: 3, external_id: 'a', phone: '11 5555-1234', email: 'a@b.example', notes: 'n' })
    const scenario = await given(companyRegistered(), before)
    const decided = await scenario.when(replaceCustomer, input({ name: 'Ana Lima', notes: 'n' }))
    decided.accepts(
      'updated',
      event('CustomerUpdated', { id: 3, changes: { name: 'Ana Lima', phone: null, email: null } }),
    )
    const shown = await scenario.show('customer/3')
    expect(shown).to.include({ id: 3, external_id: 'a', name: 'Ana Lima', phone: null, notes: 'n' })
  })

  it('records nothing when repeated', async () => {
    const scenario = await given(companyRegistered())
    const body = input({ name: 'Ana', address: { city: 'Belém', state: 'PA' } })
    await scenario.when(replaceCustomer, body)
    const again = await scenario.when(replaceCustomer, body)
    again.accepts('unchanged')
    expect(again.decision).to.include({ subject: `customer/${FIRST_NEW_ID}` })
  })

  it('accepts a different notation of the customer’s own name', async () => {
    const scenario = await given(companyRegistered(), customerCreated({ id: 3, external_id: 'a', name: 'ana' }))
    const decided = await scenario.when(replaceCustomer, input({ name: 'Ana' }))
    decided.accepts('updated', event('CustomerUpdated', { id: 3, changes: { name: 'Ana' } }))
  })

  it('refuses the name of another customer, for new and existing records', async () => {
    const taken = customerCreated({ id: 2, external_id: 'b', name: 'Bia' })
    const refusal = { field: 'name', conflicting_id: 2, suggested_name: 'BIA (2)' }
    const fresh = await given(companyRegistered(), taken)
    const created = await fresh.when(replaceCustomer, input({ name: 'BIA' }))
    created.refuses('duplicate_resource', refusal)
    const known = await given(companyRegistered(), taken, customerCreated({ id: 3, external_id: 'a' }))
    const replaced = await known.when(replaceCustomer, input({ name: 'BIA' }))
    replaced.refuses('duplicate_resource', refusal)
  })

  it('revives a deleted customer with the fields of the input', async () => {
    const before = customerCreated({ id: 3, external_id: 'a', phone: '11 5555-1234' })
    const scenario = await given(companyRegistered(), before, deleted)
    const decided = await scenario.when(replaceCustomer, input({ name: 'Ana' }))
    decided.accepts('updated', event('CustomerRevived', { id: 3, ...noDetails, external_id: 'a', name: 'Ana' }))
    expect(await scenario.show('customer/3')).to.include({ id: 3, name: 'Ana', phone: null })
  })

  it('does not revive a customer if the name was taken meanwhile', async () => {
    const namesake = customerCreated({ id: 4 })
    const scenario = await given(companyRegistered(), customerCreated({ id: 3, external_id: 'a' }), deleted, namesake)
    const decided = await scenario.when(replaceCustomer, input({ name: 'Ana' }))
    decided.refuses('duplicate_resource', { field: 'name', conflicting_id: 4, suggested_name: 'Ana (2)' })
  })
})
