import { CreateCustomerInput, createCustomer } from '#commands/person-commands.ts'
import { event } from '#events/catalogue.ts'
import { companyRegistered, customerCreated, noDetails } from '../../../support/facts.ts'
import { FIRST_NEW_ID, given } from '../../../support/given.ts'

const input = (body: object) => CreateCustomerInput.parse(body)

describe('create customer', () => {
  it('records a customer with a name only', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(createCustomer, input({ name: '  Ana Lima ' }))
    decided.accepts('created', event('CustomerCreated', { id: FIRST_NEW_ID, ...noDetails, name: 'Ana Lima' }))
  })

  it('records every field, and every part of the address', async () => {
    const scenario = await given(companyRegistered())
    const body = {
      external_id: 'erp-1',
      name: 'Mercado Bom',
      person_type: 'PJ',
      document: '11222333000181',
      phone: '+55 11 91234-5678',
      email: 'Compras@Bom.example',
      address: { zip: '01001000', city: 'São Paulo', state: 'SP' },
      notes: 'entrega\nà tarde',
    }
    const decided = await scenario.when(createCustomer, input(body))
    decided.accepts(
      'created',
      event('CustomerCreated', {
        ...body,
        id: FIRST_NEW_ID,
        person_type: 'PJ',
        phone: '5511912345678',
        email: 'compras@bom.example',
        address: {
          zip: '01001000',
          street: null,
          number: null,
          complement: null,
          district: null,
          city: 'São Paulo',
          state: 'SP',
        },
      }),
    )
  })

  it('treats an empty address as absent', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(createCustomer, input({ name: 'Ana', address: { city: null } }))
    decided.accepts('created', customerCreated({ id: FIRST_NEW_ID, name: 'Ana' }))
  })

  it('refuses the name of a live customer, in any notation', async () => {
    const scenario = await given(companyRegistered(), customerCreated({ id: 3, name: 'José da Silva' }))
    const decided = await scenario.when(createCustomer, input({ name: ' JOSÉ  DA silva' }))
    decided.refuses('duplicate_resource', { field: 'name', conflicting_id: 3, suggested_name: 'JOSÉ DA silva (2)' })
  })

  it('suggests the first free number instead of a taken name [PERSON-100]', async () => {
    const scenario = await given(
      companyRegistered(),
      customerCreated({ id: 3, name: 'José' }),
      customerCreated({ id: 4, name: 'José (2)' }),
    )
    for (const name of ['José', 'José (2)']) {
      const decided = await scenario.when(createCustomer, input({ name }))
      const conflicting_id = name === 'José' ? 3 : 4
      decided.refuses('duplicate_resource', { field: 'name', conflicting_id, suggested_name: 'José (3)' })
    }
  })

  it('suggests the end of the document if all numbers are taken, within the length of a name [PERSON-100]', async () => {
    const [name, begin] = ['x'.repeat(120), 'x'.repeat(115)]
    const numbers = Array.from({ length: 19 }, (_, at) => `(${at + 2})`)
    const scenario = await given(
      companyRegistered(),
      customerCreated({ id: 3, name }),
      ...numbers.map((number, at) =>
        customerCreated({ id: 10 + at, name: `${begin.padEnd(119 - number.length, 'x')} ${number}` }),
      ),
    )
    const decided = await scenario.when(createCustomer, input({ name, document: '52998224725' }))
    decided.refuses('duplicate_resource', {
      field: 'name',
      conflicting_id: 3,
      suggested_name: `${'x'.repeat(113)} (4725)`,
    })
  })

  it('accepts the name of a deleted customer', async () => {
    const scenario = await given(companyRegistered(), customerCreated({ id: 3 }), event('CustomerDeleted', { id: 3 }))
    const decided = await scenario.when(createCustomer, input({ name: 'Ana' }))
    decided.accepts('created', customerCreated({ id: FIRST_NEW_ID }))
  })

  it('refuses the external id of a live customer', async () => {
    const scenario = await given(companyRegistered(), customerCreated({ id: 3, external_id: 'a' }))
    const decided = await scenario.when(createCustomer, input({ name: 'Bia', external_id: 'a' }))
    decided.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 3 })
  })

  it('marks the external id of a deleted customer [REC-4]', async () => {
    const scenario = await given(
      companyRegistered(),
      customerCreated({ id: 3, external_id: 'a' }),
      event('CustomerDeleted', { id: 3 }),
    )
    const decided = await scenario.when(createCustomer, input({ name: 'Bia', external_id: 'a' }))
    decided.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 3, deleted: true })
  })

  it('distinguishes external ids by case', async () => {
    const scenario = await given(companyRegistered(), customerCreated({ id: 3, external_id: 'a' }))
    const decided = await scenario.when(createCustomer, input({ name: 'Bia', external_id: 'A' }))
    decided.accepts('created', customerCreated({ id: FIRST_NEW_ID, name: 'Bia', external_id: 'A' }))
  })
})
