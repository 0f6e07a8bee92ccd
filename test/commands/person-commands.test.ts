import { expect } from 'chai'
import {
  CreateCustomerInput,
  CreateSupplierInput,
  createCustomer,
  createSupplier,
  deleteCustomer,
  ReplaceCustomerInput,
  ReplaceSupplierInput,
  replaceCustomer,
  replaceSupplier,
  UpdateCustomerInput,
  updateCustomer,
} from '#commands/person-commands.ts'
import { describeIssues, type Problems } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import { companyRegistered, customerCreated, noDetails, supplierCreated } from '../support/facts.ts'
import { FIRST_NEW_ID, given } from '../support/given.ts'

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

const deleted = event('CustomerDeleted', { id: 3 })

describe('replace customer', () => {
  const input = (body: object) => ReplaceCustomerInput.parse({ external_id: 'a', ...body })

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

const moinho = supplierCreated({ id: 3, external_id: 'a', trade_name: 'Moinho Azul' })

describe('create supplier', () => {
  const input = (body: object) => CreateSupplierInput.parse(body)

  it('records a trade name, which need not be unique', async () => {
    const scenario = await given(companyRegistered(), moinho)
    const decided = await scenario.when(createSupplier, input({ name: 'Outro', trade_name: ' Moinho Azul ' }))
    decided.accepts('created', supplierCreated({ id: FIRST_NEW_ID, name: 'Outro', trade_name: 'Moinho Azul' }))
  })

  for (const trade_name of [7, '', 'x'.repeat(121)])
    it(`refuses the trade name ${JSON.stringify(trade_name).slice(0, 9)}`, () => {
      const { error } = CreateSupplierInput.safeParse({ name: 'Moinho', trade_name })
      expect(Object.keys(describeIssues(error!).fields)).to.deep.equal(['trade_name'])
    })

  it('keeps suppliers separate from customers [REC-1]', async () => {
    const scenario = await given(companyRegistered(), customerCreated({ id: 3, name: 'Moinho', external_id: 'a' }))
    const decided = await scenario.when(createSupplier, input({ name: 'Moinho', external_id: 'a' }))
    decided.accepts('created', supplierCreated({ id: FIRST_NEW_ID, external_id: 'a' }))
  })
})

describe('replace supplier', () => {
  const input = (body: object) => ReplaceSupplierInput.parse({ external_id: 'a', ...body })

  it('replaces the record, clears absent fields, and records nothing when repeated [REC-2, REC-3]', async () => {
    const scenario = await given(companyRegistered(), moinho)
    const decided = await scenario.when(replaceSupplier, input({ name: 'Moinho', phone: '11 5555-1234' }))
    const changes = { phone: '1155551234', trade_name: null }
    decided.accepts('updated', event('SupplierUpdated', { id: 3, changes }))
    const again = await scenario.when(replaceSupplier, input({ name: 'Moinho', phone: '11 5555-1234' }))
    again.accepts('unchanged')
    expect(again.decision).to.include({ subject: 'supplier/3' })
  })
})

const ALPHANUMERIC_CNPJ = '12ABC34501DE35'

function problemsOf(body: object): Problems {
  const { error } = CreateCustomerInput.safeParse(body)
  return error ? describeIssues(error) : { fields: {}, unknown_fields: [] }
}

const wrongFields = (body: object) => Object.keys(problemsOf({ name: 'Ana', ...body }).fields)

describe('person input', () => {
  it('requires a name only, of 1 to 120 characters', () => {
    expect(CreateCustomerInput.parse({ name: 'Ana' })).to.deep.equal({ name: 'Ana' })
    expect(problemsOf({}).fields).to.deep.equal({ name: ['preencha este campo'] })
    for (const name of ['', '   ', null, 7, 'x'.repeat(121)]) expect(wrongFields({ name })).to.deep.equal(['name'])
  })

  it('accepts null for optional fields', () => {
    const empty = {
      external_id: null,
      person_type: null,
      document: null,
      phone: null,
      email: null,
      address: null,
      notes: null,
    }
    expect(problemsOf({ name: 'Ana', ...empty }).fields).to.deep.equal({})
  })

  it('reports unknown fields, in the address too, and fields of the service', () => {
    const body = { name: 'Ana', id: 1, created_at: 'x', trade_name: 'y', address: { country: 'BR' } }
    expect(problemsOf(body).unknown_fields).to.have.members(['id', 'created_at', 'trade_name', 'address.country'])
  })

  it('accepts a document that fits the type of person', () => {
    expect(wrongFields({ document: CPF })).to.deep.equal([])
    expect(wrongFields({ document: CPF, person_type: 'PF' })).to.deep.equal([])
    expect(wrongFields({ document: CNPJ, person_type: 'PJ' })).to.deep.equal([])
    expect(wrongFields({ document: ALPHANUMERIC_CNPJ, person_type: 'PJ' })).to.deep.equal([])
  })

  for (const [document, bare] of [
    ['529.982.247-25', CPF],
    [' 52998224725 ', CPF],
    ['11.222.333/0001-81', CNPJ],
    ['12.abc.345/01de-35', ALPHANUMERIC_CNPJ],
  ])
    it(`stores the document "${document}" bare [PERSON-3]`, () => {
      expect(CreateCustomerInput.parse({ name: 'Ana', document }).document).to.equal(bare)
    })

  it('refuses a document that contradicts the type [PERSON-3]', () => {
    expect(wrongFields({ document: CNPJ, person_type: 'PF' })).to.deep.equal(['document'])
    expect(wrongFields({ document: CPF, person_type: 'PJ' })).to.deep.equal(['document'])
  })
  for (const document of ['52998224724', '529.982.247-24', '11111111111', 'abc', 52998224725])
    it(`refuses the document ${JSON.stringify(document)} [PERSON-3]`, () => {
      expect(wrongFields({ document })).to.deep.equal(['document'])
    })

  it('refuses an address that is not Brazilian', () => {
    for (const zip of ['01001000', '01001-000', '01.001-000']) {
      expect(CreateCustomerInput.parse({ name: 'Ana', address: { zip } }).address?.zip).to.equal('01001000')
    }
    expect(wrongFields({ address: { zip: '0100-100', state: 'XX' } })).to.deep.equal(['address.zip', 'address.state'])
    expect(wrongFields({ address: 'Rua A' })).to.deep.equal(['address'])
    expect(wrongFields({ address: { state: 'sp' } })).to.deep.equal(['address.state'])
  })

  it('requires an external id in inputs that identify the record by it', () => {
    expect(ReplaceCustomerInput.safeParse({ name: 'Ana' }).success).to.equal(false)
    expect(ReplaceCustomerInput.safeParse({ name: 'Ana', external_id: null }).success).to.equal(false)
    expect(ReplaceCustomerInput.safeParse({ name: 'Ana', external_id: 'a' }).success).to.equal(true)
  })

  it('has no defaults in a PATCH: absent fields stay unchanged', () => {
    expect(UpdateCustomerInput.parse({ id: 1, changes: {} })).to.deep.equal({ id: 1, changes: {} })
    for (const changes of [{ name: null }, { id: 2 }]) {
      expect(UpdateCustomerInput.safeParse({ id: 1, changes }).success, JSON.stringify(changes)).to.equal(false)
    }
  })
})
