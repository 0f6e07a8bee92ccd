import { expect } from 'chai'
import { updateCompany } from '#commands/company-commands.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { type Counter, openCounter, upload } from '../support/offline-sales.ts'
import { expectFailure, openTill, type TestTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

describe('vouchers of tills', () => {
  const api = useApi()
  let company: TestCompany
  let till: TestTill
  let counter: Counter
  let credit: number

  beforeEach(async () => {
    company = await api.company()
    till = await openTill(api.url, company)
    counter = await openCounter(company)
    credit = await company.paymentType('exchange_credit')
  })

  const now = new Date().toISOString()
  const balance = async (voucher = 'V1'): Promise<number> =>
    (await till.get(`/sync/vouchers?voucher=${encodeURIComponent(voucher)}`)).body.balance
  const returned = (id: string, sale: string, refunds: readonly object[], quantity = 1) => ({
    ...{ offline_id: id, sale_offline_id: sale, reason: 'Troca', returned_at: now, refunds },
    items: [{ line: 0, quantity }],
  })
  const giveBack = async (sent: object, from = till): Promise<Json> => {
    const reply = await from.post('/sync/returns', { returns: [sent] })
    expect(reply.status, reply.text).to.equal(200)
    return reply.body.results[0]
  }
  const byVoucher = (amount = 10, voucher = 'V1') => [{ payment_type_id: credit, amount, voucher }]
  const paidBy = (id: string, voucher: string, fields: object = {}) =>
    counter.sale(id, {
      created_at: now,
      payments: [{ payment_type_id: credit, amount: 10, status: 'completed', voucher }],
      ...fields,
    })
  const codes = ({ warnings = [] }: Json): string[] => warnings.map(({ code }: Json) => code)

  it('has what was given back, and loses what it pays: an exchange [CREDIT-1166]', async () => {
    await upload(till, [counter.sale('a', { created_at: now })])
    expect(await balance()).to.equal(0)
    const given = await giveBack(returned('r1', 'a', byVoucher()))
    expect([given.status, codes(given)]).to.deep.equal(['created', []])
    expect(await balance()).to.equal(10)
    expect(await giveBack(returned('r1', 'a', byVoucher()))).to.deep.include({ status: 'duplicate' })
    const [sold] = (await upload(till, [paidBy('b', 'V1')])).results
    expect([sold.status, codes(sold)]).to.deep.equal(['created', []])
    expect(await balance()).to.equal(0)
    const { data } = (await company.get(`/sales/${sold.sale_id}`)).body
    expect(data.payments[0]).to.deep.include({ amount: '10.00', voucher: 'V1' })
    expect((await company.get(`/returns/${given.return_id}`)).body.data.refunds[0]).to.deep.include({ voucher: 'V1' })
    expect(await api.core.verifyTables(company.id)).to.deep.include({ kind: 'verified', differences: [] })
  })

  it('gets back what a cancelled sale was paid with, and loses a reversed return [CREDIT-1166]', async () => {
    await upload(till, [counter.sale('a', { created_at: now })])
    const given = await giveBack(returned('r1', 'a', byVoucher()))
    const [sold] = (await upload(till, [paidBy('b', 'V1')])).results
    const reverse = () =>
      company.post(
        `/returns/${given.return_id}/reverse`,
        { reason: 'Engano' },
        { 'idempotency-key': `${Math.random()}` },
      )
    expect((await reverse()).body.error.code).to.equal('credit_spent')
    await upload(till, [paidBy('b', 'V1', { status: 'cancelled' })])
    expect(await balance()).to.equal(10)
    expect((await reverse()).status).to.equal(200)
    expect(await balance()).to.equal(0)
    expect(sold.status).to.equal('created')
  })

  it('lets two tills redeem it, one with a warning [CREDIT-1166]', async () => {
    await upload(till, [counter.sale('a', { created_at: now })])
    await giveBack(returned('r1', 'a', byVoucher()))
    const other = await openTill(api.url, company)
    const answers = await Promise.all([upload(till, [paidBy('b', 'V1')]), upload(other, [paidBy('c', 'V1')])])
    const results = answers.flatMap(({ results: each }) => each)
    expect(results.map(({ status }) => status)).to.deep.equal(['created', 'created'])
    expect(results.flatMap(codes)).to.deep.equal(['credit_exceeded'])
    expect(await balance()).to.equal(-10)
    // What was not there is no money that could go back.
    const exceeded = results[0].warnings ? 'b' : 'c'
    const back = await giveBack(
      returned('r2', exceeded, [{ payment_type_id: counter.cash, amount: 10 }]),
      exceeded === 'b' ? till : other,
    )
    expect(back).to.deep.include({ status: 'refused', code: 'payment_mismatch' })
  })

  it('waits with its return for the sale [CREDIT-1166]', async () => {
    expect(await giveBack(returned('r1', 'a', byVoucher()))).to.deep.include({ awaits_sale: true })
    expect(await balance()).to.equal(0)
    await upload(till, [counter.sale('a', { created_at: now })])
    expect(await balance()).to.equal(10)
  })

  it('stands beside the credit of a customer [CREDIT-1166]', async () => {
    const customer_id = (await company.post('/customers', { name: 'Ana' })).body.data.id
    await upload(till, [
      counter.sale('a', {
        created_at: now,
        items: [{ product_id: counter.product, quantity: 2, price: 10, total: 20 }],
        total: 20,
        amount_received: 20,
        payments: [{ payment_type_id: counter.cash, amount: 20, status: 'completed' }],
      }),
    ])
    const refunds = [...byVoucher(4), { payment_type_id: credit, amount: 6 }]
    await giveBack({ ...returned('r1', 'a', refunds), customer_id })
    expect(await balance()).to.equal(4)
    expect((await company.get(`/customers/${customer_id}/credit`)).body.data.balance).to.equal('6.00')
  })

  it('warns of a sale after its last day, the printed one, else by setting [CREDIT-1340]', async () => {
    const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
    const until = ago(5).slice(0, 10)
    await company.run(updateCompany, { voucher_days: 10 })
    expect((await till.get('/sync/config')).body.data.company.voucher_days).to.equal(10)
    const two = { items: [{ product_id: counter.product, quantity: 3, price: 10, total: 30 }], total: 30 }
    const payments = [{ payment_type_id: counter.cash, amount: 30, status: 'completed' }]
    await upload(till, [counter.sale('a', { created_at: ago(40), ...two, amount_received: 30, payments })])
    const [printed = {}] = byVoucher(10, 'PRINTED')
    await giveBack(returned('r1', 'a', [{ ...printed, voucher_until: until }]))
    await giveBack({ ...returned('r2', 'a', byVoucher(10, 'OLD')), returned_at: ago(30) })
    await giveBack(returned('r3', 'a', byVoucher(10, 'NEW')))
    const asked = await till.get('/sync/vouchers?voucher=PRINTED')
    expect(asked.body).to.deep.include({ balance: 10, valid_until: until })
    const sold = async (id: string, voucher: string, at = now) =>
      (await upload(till, [paidBy(id, voucher, { created_at: at })])).results[0]
    const late = await sold('b', 'PRINTED')
    expect([late.status, late.warnings.map(({ code }: Json) => code)]).to.deep.equal(['created', ['voucher_expired']])
    expect(late.warnings[0].message).to.include(`PRINTED valeu até ${until}`)
    expect(codes(await sold('c', 'OLD'))).to.deep.equal(['voucher_expired'])
    expect(codes(await sold('d', 'NEW'))).to.deep.equal([])
    expect((await till.get('/sync/vouchers?voucher=nenhum')).body).to.deep.include({ balance: 0, valid_until: null })
  })

  it('is a short text, and only of store credit [CREDIT-1166]', async () => {
    const [long] = (await upload(till, [paidBy('a', 'V'.repeat(41))])).results
    expect(Object.keys(long.errors)).to.deep.equal(['payments[0].voucher'])
    await upload(till, [
      counter.sale('b', {
        created_at: now,
        payments: [{ payment_type_id: counter.cash, amount: 10, status: 'completed', voucher: 'V9' }],
      }),
    ])
    expect(await balance('V9')).to.equal(0)
    expectFailure(await till.get('/sync/vouchers'), 422)
  })
})
