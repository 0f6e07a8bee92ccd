import { expect } from 'chai'
import { expectInvalid, idsIn } from '../../support/answers.ts'
import { ALPHANUMERIC_CNPJ, CNPJ, CPF, useCustomers } from './customers.ts'

describe('customers: documents', () => {
  const { company, create, patch } = useCustomers()

  it('determine the person type, and are stored bare [PERSON-3]', async () => {
    await create({ name: 'Ana', document: CPF })
    const written = await create({ name: 'Padaria', document: '11.222.333/0001-81' })
    expect(written).to.include({ person_type: 'PJ', document: CNPJ })
    expect(idsIn(await company.get('/customers?document=11.222.333/0001-81'))).to.deep.equal([written.id])
    expect((await create({ name: 'Nova 2', document: '12.abc.345/01de-35' })).document).to.equal(ALPHANUMERIC_CNPJ)
    await create({ name: 'Nova', person_type: 'PJ', document: ALPHANUMERIC_CNPJ })
    for (const body of [
      { person_type: 'PF', document: ALPHANUMERIC_CNPJ },
      { person_type: 'PJ', document: CPF },
    ]) {
      expectInvalid(await company.post('/customers', { name: 'x', ...body }), ['document'])
    }
  })

  it('are refused with wrong check digits or a repeated digit [PERSON-3]', async () => {
    for (const document of ['529.982.247-26', '52998224726', '11111111111', '5299822472', '529982247250', '']) {
      expectInvalid(await company.post('/customers', { name: 'x', document }), ['document'])
    }
    for (const document of ['11.222.333/0001-80', '00000000000000', '12ABC34501DE36']) {
      expectInvalid(await company.post('/customers', { name: 'x', person_type: 'PJ', document }), ['document'])
    }
    expectInvalid(await company.post('/customers', { name: 'x', document: Number(CPF) }), ['document'])
  })

  it('may be shared by several customers [PERSON-3]', async () => {
    const [a, b] = [await create({ name: 'Ana', document: CPF }), await create({ name: 'Ana 2', document: CPF })]
    expect(idsIn(await company.get(`/customers?document=${CPF}`))).to.deep.equal([a.id, b.id])
  })

  it('and the person type cannot be made contradictory by a PATCH [PERSON-3]', async () => {
    const { id } = await create({ name: 'Ana', document: CPF })
    expectInvalid(await patch(id, { person_type: 'PJ' }), ['person_type'])
    expectInvalid(await patch(id, { person_type: 'PF', document: CNPJ }), ['document'])
    expect((await patch(id, { person_type: 'PJ', document: CNPJ })).body.data).to.include({ document: CNPJ })
    expect((await patch(id, { person_type: 'PF', document: null })).body.data).to.include({ document: null })
  })
})
