import { expect } from 'chai'
import { SIDES, settle } from '../support/accounts.ts'
import { expectInvalid, expectProblem } from '../support/answers.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'

const body = { description: 'Aluguel', amount: '100.00', due_date: '2030-03-10' }

describe('finance: payments of accounts', () => {
  const api = useApi()
  let company: TestCompany
  let keys = 0

  before(async () => {
    company = await api.company()
  })

  const pay = (path: string, id: number, payment: object, key = `pagamento-${++keys}`) =>
    company.post(`${path}/${id}/payments`, payment, { 'idempotency-key': key })

  for (const side of SIDES) {
    const { path } = side
    const create = async (fields: object = {}): Promise<Json> =>
      (await company.post(path, { ...body, ...fields })).body.data

    it(`answer 201 with the account of ${path}, as GET shows it [ACCT-100]`, async () => {
      const { id, open_amount, payments } = await create()
      expect([open_amount, payments]).to.deep.equal(['100.00', []])
      const reply = await pay(path, id, { amount: '40.00', interest: '1.00', payment_method: 'Carnê' })
      expect(reply.status, reply.text).to.equal(201)
      expect(reply.headers.get('location')).to.equal(`/api/v1${path}/${id}`)
      const { data } = reply.body
      expect(data).to.include({ id, status: 'pending', paid_amount: '40.00', open_amount: '60.00', paid_at: null })
      expect(data.payments[0]).to.include({
        kind: 'payment',
        received: '41.00',
        payment_method: 'Carnê',
        reversed_at: null,
      })
      expect((await company.get(`${path}/${id}`)).text).to.equal(reply.text)
      const settled = await settle(company, side, id, { payment_method: 'pix', amount: '60.00' })
      expect(settled.body.data).to.include({ status: 'settled', open_amount: '0.00', payment_method: 'pix' })
    })

    it(`of ${path} need a key, and are made once under it [ACCT-100] [IDEM-1]`, async () => {
      const { id } = await create()
      const without = await company.post(`${path}/${id}/payments`, { amount: '1.00' })
      expectInvalid(without, ['Idempotency-Key'])
      const first = await pay(path, id, { amount: '1.00' }, `uma-vez-${path}`)
      const second = await pay(path, id, { amount: '1.00' }, `uma-vez-${path}`)
      expect([second.status, second.text]).to.deep.equal([201, first.text])
      expectProblem(await pay(path, id, { amount: '2.00' }, `uma-vez-${path}`), 409, 'idempotency_key_reuse')
      expect((await company.get(`${path}/${id}`)).body.data.payments).to.have.length(1)
    })

    it(`instalments of ${path} are listed by their group [ACCT-107]`, async () => {
      const installments = { count: 3, first_due_date: '2026-01-31', interval: 'month' }
      const { due_date: _, ...undated } = body
      const reply = await company.post(path, { ...undated, installments })
      expect(reply.status, reply.text).to.equal(201)
      const { id, installment } = reply.body.data
      expect(installment).to.deep.equal({ group: id, number: 1, count: 3 })
      const { data } = (await company.get(`${path}?installment_group=${id}`)).body
      expect(data.map((each: Json) => [each.amount, each.due_date])).to.deep.equal([
        ['33.34', '2026-01-31'],
        ['33.33', '2026-02-28'],
        ['33.33', '2026-03-31'],
      ])
    })
  }
})
