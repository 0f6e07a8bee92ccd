import { expect } from 'chai'
import * as z from 'zod'
import { optionalMembers } from '#events/catalogue.ts'
import { fieldColumns, fieldFacts, fieldInputs, fileColumns } from '#panel/record-fields.ts'
import {
  Amount,
  answerShape,
  changesShape,
  optionalField,
  requiredField,
  serviceField,
  Timestamp,
  textsByName,
  toRecordedValues,
  wholeShape,
} from '#records/field.ts'

const FIELDS = {
  name: requiredField('person_name', 'Nome', z.string(), z.string().nullable()),
  price: optionalField('money', 'Preço', z.string().nullish(), { answer: Amount.nullable(), description: 'Preço.' }),
  address: {
    ...optionalField('group', 'Endereço', z.strictObject({ zip: z.string().nullish() }).nullish(), {
      answer: z.strictObject({ zip: z.string().nullable() }).nullable(),
    }),
    members: { zip: optionalField('zip', 'CEP', z.string().nullish()) },
  },
}
const SHOWN = { ...FIELDS, created_at: serviceField('moment', 'Cadastro', Timestamp) }

const record = {
  name: null,
  price: '1234.50',
  address: { zip: '01310100' },
  created_at: '2026-11-21T08:17:15.123-03:00',
}

describe('definitions of fields', () => {
  it('give the shapes of requests, changes and answers', () => {
    expect(z.strictObject(wholeShape(FIELDS)).safeParse({ price: null }).success).to.equal(false)
    expect(z.strictObject(changesShape(FIELDS)).parse({ price: null })).to.deep.equal({ price: null })
    expect(z.strictObject(answerShape(SHOWN)).parse(record)).to.deep.equal(record)
  })

  it('record null for what a whole record does not say', () => {
    expect(toRecordedValues(FIELDS, { name: 'Ana' })).to.deep.equal({ name: 'Ana', price: null, address: null })
  })

  it('give the facts, columns, file and controls of a page, each in its own order', () => {
    const zone = 'America/Sao_Paulo'
    const facts = fieldFacts(SHOWN, record, zone, ['price', 'name', ['address', 'Rua A'], 'created_at', ['Mais', '1']])
    expect(facts).to.deep.equal([
      ['Preço', 'R$\u00A01.234,50'],
      ['Nome', 'Titular anonimizado'],
      ['Endereço', 'Rua A'],
      ['Cadastro', '21/11/2026\u00A008:17'],
      ['Mais', '1'],
    ])
    const [price] = fieldColumns<typeof record, typeof SHOWN>(SHOWN, zone, [{ field: 'price', isExtra: true }])
    expect(price).to.include({ head: 'Preço', isNumber: true, isExtra: true })
    const file = fileColumns<typeof record, typeof SHOWN, readonly ['price', 'address.zip', 'name', 'created_at']>(
      SHOWN,
      zone,
      ['price', 'address.zip', 'name', 'created_at'],
    )
    expect(file.map(([head, value]) => [head, value(record)])).to.deep.equal([
      ['Preço', { decimal: '1234.50' }],
      ['CEP', '01310-100'],
      ['Nome', 'Titular anonimizado'],
      ['Cadastro', '21/11/2026 08:17:15'],
    ])
    const inputs = fieldInputs(SHOWN, { 'address.zip': 3, price: { hint: 'Em reais.' }, name: 8 })
    expect(Object.keys(inputs)).to.deep.equal(['address.zip', 'price', 'name'])
    expect(inputs.name).to.include({ label: 'Nome', columns: 8, isRequired: true })
    expect(inputs.price).to.include({ label: 'Preço (R$)', hint: 'Em reais.' })
    expect(inputs['address.zip']).to.include({ label: 'CEP', isCode: true })
  })

  it('do not compile if a page leaves out a field that people write', () => {
    // @ts-expect-error the address is missing
    fieldFacts(SHOWN, record, 'UTC', ['name', 'price'])
    // @ts-expect-error the price is missing
    fieldInputs(SHOWN, { 'address.zip': 3, name: 8 })
    expect(textsByName(FIELDS, 'label')).to.deep.equal({
      name: 'Nome',
      price: 'Preço',
      address: 'Endereço',
      zip: 'CEP',
    })
  })

  it('leave out of events what may be absent', () => {
    expect(optionalMembers('SupplierCreated')).to.deep.equal(['metadata'])
    expect(optionalMembers('CustomerCreated')).to.deep.equal(['metadata', 'state_registration', 'ie_indicator'])
  })
})
