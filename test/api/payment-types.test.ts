import { expect } from 'chai'
import { updatePaymentType } from '#commands/payment-types.ts'
import { type Json, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'

describe('sale payment types', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany

  before(async () => {
    api = await startApi(database.url)
    company = await api.company()
  })
  after(() => api.close())

  const list = async (): Promise<Json[]> => {
    const { status, body } = await company.get('/sales/payment-types')
    expect(status).to.equal(200)
    expect(Object.keys(body)).to.deep.equal(['data'])
    return body.data
  }

  it('are an empty list for a company without any', async () => {
    expect(await list()).to.deep.equal([])
  })

  it('are listed with all kinds, those refused by the API with a reason [TYPE-1]', async () => {
    const kinds = [
      'cash',
      'card',
      'pix',
      'transfer',
      'credit_account',
      'exchange_credit',
      'promotion',
      'cashback',
      'other',
    ] as const
    const ids: number[] = []
    for (const kind of kinds) ids.push(await company.paymentType(kind, '2.50'))
    const types = await list()
    expect(types.map((type) => type.id)).to.deep.equal(ids)
    const refused = ['credit_account', 'exchange_credit', 'promotion', 'cashback']
    for (const [position, type] of types.entries()) {
      const kind = kinds[position] as string
      expect(type).to.include({ kind, name: kind, is_cash: kind === 'cash', fee_percentage: '2.50' })
      expect(type.accepts_api).to.equal(!refused.includes(kind))
      if (type.accepts_api) expect(type).to.not.have.property('reason')
      else expect(type.reason).to.be.a('string').that.is.not.empty
    }
  })

  it("show a new name and fee at once, of the company's own types only [TYPE-1]", async () => {
    const id = await company.paymentType('card')
    await company.run(updatePaymentType, { id, name: 'Cartão', fee_percentage: '3.00' })
    expect((await list()).at(-1)).to.include({ id, name: 'Cartão', fee_percentage: '3.00' })
    const other = await api.company()
    await other.paymentType('pix')
    expect((await list()).at(-1)).to.include({ id })
  })

  it('can be changed without affecting past sales [SALE-14]', async () => {
    const id = await company.paymentType('card', '5.00')
    const sale = await company.post('/sales', {
      items: [{ description: 'Bolo', quantity: '1', unit_price: '105.00' }],
      payments: [{ payment_type_id: id, amount: '105.00' }],
    })
    await company.run(updatePaymentType, { id, name: 'Outro', fee_percentage: '0.00' })
    expect((await company.get(`/sales/${sale.body.data.id}`)).text).to.equal(sale.text)
    expect(sale.body.data.payments[0]).to.include({ net: '100.00', surcharge: '5.00' })
  })
})
