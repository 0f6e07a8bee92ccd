import { expect } from 'chai'
import { UpdateCustomerInput, updateCustomer } from '#commands/person-commands.ts'
import { event } from '#events/catalogue.ts'
import { companyRegistered, customerCreated } from '../../../support/facts.ts'
import { given } from '../../../support/given.ts'

const CPF = '52998224725'
const CNPJ = '11222333000181'
const patch = (changes: object, id = 3) => UpdateCustomerInput.parse({ id, changes })
const updated = (changes: object) => event('CustomerUpdated', { id: 3, changes })
const address = {
  zip: '01001000',
  street: 'Rua A',
  number: '1',
  complement: null,
  district: null,
  city: 'São Paulo',
  state: 'SP',
}
const ana = customerCreated({ id: 3, external_id: 'a', document: CPF, phone: '11 5555-1234', address })
const bia = customerCreated({ id: 4, external_id: 'b', name: 'Bia' })

describe('update customer', () => {
  it('changes the given fields only', async () => {
    const scenario = await given(companyRegistered(), ana)
    const decided = await scenario.when(updateCustomer, patch({ notes: 'prefere pix', phone: null }))
    decided.accepts('updated', updated({ notes: 'prefere pix', phone: null }))
    expect(await scenario.show('customer/3')).to.include({ document: CPF, notes: 'prefere pix', phone: null })
  })

  it('records nothing for {} and for equal values', async () => {
    const scenario = await given(companyRegistered(), ana)
    for (const changes of [{}, { name: 'Ana', email: null, external_id: 'a' }, { address }, { address: {} }]) {
      const decided = await scenario.when(updateCustomer, patch(changes))
      decided.accepts('unchanged')
    }
  })

  it('changes the given parts of the address; null removes the whole address', async () => {
    const scenario = await given(companyRegistered(), ana)
    const moved = await scenario.when(updateCustomer, patch({ address: { number: '2', street: null } }))
    moved.accepts('updated', updated({ address: { ...address, number: '2', street: null } }))
    const removed = await scenario.when(updateCustomer, patch({ address: null }))
    removed.accepts('updated', updated({ address: null }))
  })

  it('treats an address without remaining parts as absent', async () => {
    const city = { ...address, zip: null, street: null, number: null, state: null }
    const scenario = await given(companyRegistered(), customerCreated({ id: 3, address: city }))
    const decided = await scenario.when(updateCustomer, patch({ address: { city: null } }))
    decided.accepts('updated', updated({ address: null }))
  })

  it('derives the person type from the document [PERSON-3]', async () => {
    const scenario = await given(companyRegistered(), ana)
    const document = await scenario.when(updateCustomer, patch({ document: CNPJ }))
    document.accepts('updated', updated({ document: CNPJ, person_type: 'PJ' }))
    const none = await scenario.when(updateCustomer, patch({ document: null }))
    none.accepts('updated', updated({ document: null }))
    const cleared = await scenario.when(updateCustomer, patch({ person_type: null }))
    cleared.accepts('updated', updated({ person_type: 'PF' }))
  })

  it('refuses a document that contradicts the type, and the reverse [PERSON-3]', async () => {
    const scenario = await given(companyRegistered(), ana)
    const document = await scenario.when(updateCustomer, patch({ document: CNPJ, person_type: 'PF' }))
    document.refuses('validation_failed', {
      fields: { document: ['deve ser um CPF válido: o tipo de pessoa é PF'] },
      unknown_fields: [],
    })
    const type = await scenario.when(updateCustomer, patch({ person_type: 'PJ' }))
    type.refuses('validation_failed', {
      fields: { person_type: ['não combina com o documento cadastrado: envie também o novo documento ou null'] },
      unknown_fields: [],
    })
  })

  it('changes type and document together, or the type while removing the document', async () => {
    const scenario = await given(companyRegistered(), ana)
    const both = { person_type: 'PJ', document: CNPJ }
    const changed = await scenario.when(updateCustomer, patch(both))
    changed.accepts('updated', updated(both))
    const back = await scenario.when(updateCustomer, patch({ person_type: 'PF', document: null }))
    back.accepts('updated', updated({ person_type: 'PF', document: null }))
  })

  it('refuses name and external id of another customer', async () => {
    const scenario = await given(companyRegistered(), ana, bia)
    const name = await scenario.when(updateCustomer, patch({ name: 'bia' }))
    name.refuses('duplicate_resource', { field: 'name', conflicting_id: 4, suggested_name: 'bia (2)' })
    const externalId = await scenario.when(updateCustomer, patch({ external_id: 'b' }))
    externalId.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 4 })
  })

  it('marks the external id of a deleted customer', async () => {
    const scenario = await given(companyRegistered(), ana, bia, event('CustomerDeleted', { id: 4 }))
    const decided = await scenario.when(updateCustomer, patch({ external_id: 'b' }))
    decided.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 4, deleted: true })
  })

  it('releases the previous name and external id', async () => {
    const scenario = await given(companyRegistered(), ana, bia)
    await scenario.when(updateCustomer, patch({ name: 'Ana Lima', external_id: null }))
    const decided = await scenario.when(updateCustomer, patch({ name: 'Ana', external_id: 'a' }, 4))
    decided.accepts('updated', event('CustomerUpdated', { id: 4, changes: { name: 'Ana', external_id: 'a' } }))
  })

  it('does not find missing or deleted customers', async () => {
    const scenario = await given(companyRegistered(), ana, event('CustomerDeleted', { id: 3 }))
    for (const id of [3, 9]) {
      const decided = await scenario.when(updateCustomer, patch({}, id))
      decided.refuses('not_found')
    }
  })
})
