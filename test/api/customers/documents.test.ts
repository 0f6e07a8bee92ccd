import { expect } from 'chai'
import { expectInvalid, idsIn } from '../../support/answers.ts'
import { ALPHANUMERIC_CNPJ, CNPJ, CPF, useCustomers } from './customers.ts'

describe('customers: documents', () => {
  const { company, create } = useCustomers()

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

  it('may be shared by several customers [PERSON-3]', async () => {
    const [a, b] = [await create({ name: 'Ana', document: CPF }), await create({ name: 'Ana 2', document: CPF })]
    expect(idsIn(await company.get(`/customers?document=${CPF}`))).to.deep.equal([a.id, b.id])
  })
})
