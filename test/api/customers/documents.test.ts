import { expect } from 'chai'
import { expectInvalid, idsIn } from '../../support/answers.ts'
import { ALPHANUMERIC_CNPJ, CNPJ, CPF, useCustomers } from './customers.ts'

describe('customers: documents', () => {
  const { company, create, patch } = useCustomers()

  it('are the bare number that fits the type of person [PERSON-3]', async () => {
    await create({ name: 'Ana', document: CPF })
    await create({ name: 'Padaria', person_type: 'PJ', document: CNPJ })
    await create({ name: 'Nova', person_type: 'PJ', document: ALPHANUMERIC_CNPJ })
    for (const body of [
      { document: CNPJ },
      { person_type: 'PF', document: ALPHANUMERIC_CNPJ },
      { person_type: 'PJ', document: CPF },
    ]) {
      expectInvalid(await company.post('/customers', { name: 'x', ...body }), ['document'])
    }
  })

  it('are refused with punctuation, wrong check digits or one digit only [PERSON-3]', async () => {
    for (const document of [
      '529.982.247-25',
      '52998224726',
      '11111111111',
      '5299822472',
      '529982247250',
      ' 52998224725',
      '',
    ]) {
      expectInvalid(await company.post('/customers', { name: 'x', document }), ['document'])
    }
    for (const document of [
      '11.222.333/0001-81',
      '11222333000180',
      '00000000000000',
      '12abc34501de35',
      '12ABC34501DE36',
    ]) {
      expectInvalid(await company.post('/customers', { name: 'x', person_type: 'PJ', document }), ['document'])
    }
    expectInvalid(await company.post('/customers', { name: 'x', document: Number(CPF) }), ['document'])
  })

  it('may be shared by several customers [PERSON-3]', async () => {
    const [a, b] = [await create({ name: 'Ana', document: CPF }), await create({ name: 'Ana 2', document: CPF })]
    expect(idsIn(await company.get(`/customers?document=${CPF}`))).to.deep.equal([a.id, b.id])
  })

  it('and the type of person cannot be parted by a PATCH [PERSON-3]', async () => {
    const { id } = await create({ name: 'Ana', document: CPF })
    expectInvalid(await patch(id, { person_type: 'PJ' }), ['person_type'])
    expectInvalid(await patch(id, { document: CNPJ }), ['document'])
    expect((await patch(id, { person_type: 'PJ', document: CNPJ })).body.data).to.include({ document: CNPJ })
    expect((await patch(id, { person_type: 'PF', document: null })).body.data).to.include({ document: null })
  })
})
