import { expect } from 'chai'
import { updatePaymentType } from '#commands/store-commands.ts'
import { SIDES, settle } from '../support/accounts.ts'
import { expectInvalid, LOCAL_TIME } from '../support/answers.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'

describe('sale payment types', () => {
  const api = useApi()
  let company: TestCompany

  before(async () => {
    company = await api.company()
  })

  const list = async (): Promise<Json[]> => {
    const { status, body } = await company.get('/sales/payment-types')
    expect(status).to.equal(200)
    expect(Object.keys(body)).to.deep.equal(['data'])
    return body.data
  }

  it('are an empty list for a company without any', async () => {
    expect(await list()).to.deep.equal([])
  })

  it('are listed with all kinds, those refused by the API with a reason', async () => {
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

  it("show a new name and fee at once, of the company's own types only", async () => {
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

  describe('through the API', () => {
    const post = (body: object, headers?: Record<string, string>) => company.post('/sales/payment-types', body, headers)
    const card = { name: 'Visa crédito', kind: 'card', acquirer_rate: '3.5', settles_in_days: 30 }

    beforeEach(async () => {
      company = await api.company()
    })

    it('are created with defaults, once under an Idempotency-Key', async () => {
      const created = await post(card, { 'idempotency-key': 'k' })
      expect(created.status, created.text).to.equal(201)
      const { id } = created.body.data
      expect(created.body.data).to.deep.equal({
        id,
        name: 'Visa crédito',
        kind: 'card',
        is_cash: false,
        fee_percentage: '0.00',
        accepts_api: true,
        due_days: 30,
        acquirer_rate: '3.50',
        acquirer_rate_2_6: null,
        acquirer_rate_7_12: null,
        acquirer_fee_refunded: false,
        settles_in_days: 30,
      })
      expect(created.headers.get('location')).to.equal(`/api/v1/sales/payment-types/${id}`)
      expect((await post(card, { 'idempotency-key': 'k' })).text).to.equal(created.text)
      expect((await company.get(`/sales/payment-types/${id}`)).text).to.equal(created.text)
      expect(await list()).to.deep.equal([created.body.data])
      const plain = await post({ name: 'Dinheiro', kind: 'cash', fee_percentage: null, acquirer_rate: null })
      expect(plain.body.data).to.include({ is_cash: true, acquirer_rate: null, settles_in_days: null })
    })
  })
})

const [, payables] = SIDES

const METHODS = [
  { code: 'cash', name: 'Dinheiro' },
  { code: 'pix', name: 'Pix' },
  { code: 'credit_card', name: 'Cartão de crédito' },
  { code: 'debit_card', name: 'Cartão de débito' },
  { code: 'bank_slip', name: 'Boleto bancário' },
  { code: 'bank_transfer', name: 'Transferência bancária' },
  { code: 'check', name: 'Cheque' },
  { code: 'other', name: 'Outro' },
]

describe('finance: payment methods', () => {
  const api = useApi()

  it('are listed with their codes and Portuguese names, equal for all companies', async () => {
    const company = await api.company()
    const reply = await company.get('/finance/payment-methods')
    expect(reply.status).to.equal(200)
    expect(reply.body.data).to.deep.equal(METHODS)
    expect(reply.body.meta).to.include({ has_more: false, next_cursor: null, limit: 50 })
    expect(reply.body.meta.synced_at).to.match(LOCAL_TIME)
    expect(reply.headers.get('x-ledger-revision')).to.match(/^\d+$/)
  })

  it('are a regular list, with limit and cursor', async () => {
    const company = await api.company()
    const seen: unknown[] = []
    let cursor = ''
    do {
      const { data, meta } = (await company.get(`/finance/payment-methods?limit=3${cursor}`)).body
      seen.push(...data)
      cursor = meta.has_more ? `&cursor=${meta.next_cursor}` : ''
    } while (cursor)
    expect(seen).to.deep.equal(METHODS)
    expectInvalid(await company.get('/finance/payment-methods?limit=0'), ['limit'])
    expectInvalid(await company.get('/finance/payment-methods?cursor=x'), ['cursor'])
    expectInvalid(await company.get('/finance/payment-methods?updated_since=x'), [], ['updated_since'])
  })

  it('each settle an account, and so does any other text', async () => {
    const company = await api.company()
    const { data } = (await company.get('/finance/payment-methods')).body
    for (const code of [...data.map(({ code }: { code: string }) => code), 'Cartão da loja', 'PIX']) {
      const body = { description: 'x', amount: '1.00', due_date: '2026-03-10' }
      const { id } = (await company.post(payables.path, body)).body.data
      expect((await settle(company, payables, id, { payment_method: code })).body.data.payment_method).to.equal(code)
    }
  })
})
