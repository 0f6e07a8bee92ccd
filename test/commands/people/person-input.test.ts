import { expect } from 'chai'
import { CreateCustomerInput, ReplaceCustomerInput, UpdateCustomerInput } from '#commands/person-commands.ts'
import { describeIssues, type Problems } from '#domain/refusals.ts'

const CPF = '52998224725'
const CNPJ = '11222333000181'
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
