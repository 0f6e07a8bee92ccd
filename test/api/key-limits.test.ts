import { expect } from 'chai'
import { SCOPES } from '#domain/rights.ts'
import { type Json, send, type TestCompany } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'

const account = (amount: string, more: object = {}) => ({
  description: 'Conta',
  amount,
  due_date: '2030-01-01',
  ...more,
})

describe('amounts of a key [AGENT-1203]', () => {
  const api = useApi()
  let company: TestCompany
  let cash = 0

  beforeEach(async () => {
    company = await api.company()
    cash = await company.paymentType('cash')
  })

  type Limits = Parameters<TestCompany['newKey']>[2]
  /** Calls with a key of these limits; the answer is the status, or the code of the refusal. */
  async function limited(limits: Limits) {
    const { key } = await company.newKey(SCOPES, undefined, limits)
    const call = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
      send(`${api.url}/api/v1${path}`, method, body, { authorization: `Bearer ${key}`, ...headers })
    const result = async (path: string, body: object, headers?: Record<string, string>): Promise<number | Json> => {
      const reply = await call('POST', path, body, headers)
      return reply.body?.error?.code ?? reply.status
    }
    return { call, result }
  }

  const sale = (amount: string) => ({
    items: [{ description: 'Bolo', quantity: '1', unit_price: amount }],
    payments: [{ payment_type_id: cash, amount }],
  })

  it('refuse what a call records beyond its limit, and let through what reaches it', async () => {
    const { call, result } = await limited({ max_amount_per_call: '50.00' })
    expect(await result('/sales', sale('50.00'))).to.equal(201)
    expect(await result('/sales', sale('50.01'))).to.equal('amount_limit')
    expect(await result('/finance/payables', account('50.01'))).to.equal('amount_limit')
    const refused = await call('POST', '/finance/receivables', account('51.00'))
    expect([refused.status, refused.body.error.details]).to.deep.equal([
      403,
      { max_amount_per_call: '50.00', amount: '51.00' },
    ])
  })

  it('sum the elements of a batch, and refuse only those beyond', async () => {
    const { call } = await limited({ max_amount_per_call: '50.00' })
    const items = ['30.00', '30.00', '20.00'].map((amount, n) => account(amount, { external_id: `c${n}` }))
    const { status, body } = await call('POST', '/finance/receivables/batch', { items })
    expect([status, body.meta.succeeded]).to.deep.equal([207, 2])
    expect(body.meta.errors.map(({ index, code }: Json) => [index, code])).to.deep.equal([[1, 'amount_limit']])
  })

  it('count a raised amount, and no other change', async () => {
    const { call } = await limited({ max_amount_per_call: '50.00' })
    const { id } = (await call('POST', '/finance/receivables', account('1.00'))).body.data
    expect((await call('PATCH', `/finance/receivables/${id}`, { description: 'Outra' })).status).to.equal(200)
    expect((await call('PATCH', `/finance/receivables/${id}`, { amount: '900.00' })).status).to.equal(403)
  })

  it('sum a day of the company, without replays and dry runs', async () => {
    const { result } = await limited({ max_amount_per_day: '100.00' })
    const keyed = { 'idempotency-key': 'venda-1' }
    expect(await result('/sales', sale('60.00'), { 'dry-run': 'true' })).to.equal(200)
    for (let times = 0; times < 3; times++) expect(await result('/sales', sale('60.00'), keyed)).to.equal(201)
    expect(await result('/finance/payables', account('40.01'))).to.equal('amount_limit')
    expect(await result('/finance/payables', account('40.01'), { 'dry-run': 'true' })).to.equal('amount_limit')
    expect(await result('/finance/payables', account('40.00'))).to.equal(201)
    expect(await result('/finance/payables', account('0.01'))).to.equal('amount_limit')
  })

  it('begin anew with the day of the company', async () => {
    company = await api.company({ test: true })
    const { result } = await limited({ max_amount_per_day: '100.00' })
    expect(await result('/finance/payables', account('100.00'))).to.equal(201)
    expect(await result('/finance/payables', account('1.00'))).to.equal('amount_limit')
    expect(await result('/test/clock', { advance_days: 1 })).to.equal(200)
    expect(await result('/finance/payables', account('100.00'))).to.equal(201)
  })

  it('count what a return gives back', async () => {
    const { body } = await company.post('/sales', sale('80.00'))
    const { result } = await limited({ max_amount_per_call: '50.00' })
    const goods = {
      items: [{ line: 0, quantity: '1' }],
      refunds: [{ payment_type_id: cash, amount: '80.00' }],
      reason: 'x',
    }
    expect(await result(`/sales/${body.data.id}/returns`, goods, { 'idempotency-key': 'd' })).to.equal('amount_limit')
  })

  it('are shown by /me, and are of this key alone', async () => {
    const { call } = await limited({ max_amount_per_call: '50.00', max_amount_per_day: '100.00' })
    const { key } = (await call('GET', '/me')).body.data
    expect(key).to.include({ max_amount_per_call: '50.00', max_amount_per_day: '100.00' })
    const own = (await company.get('/me')).body.data.key
    expect(own).to.include({ max_amount_per_call: null, max_amount_per_day: null })
    expect((await company.post('/sales', sale('5000.00'))).status).to.equal(201)
  })
})
