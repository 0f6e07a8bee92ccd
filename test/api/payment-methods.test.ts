import { expect } from 'chai'
import { SIDES, settle } from '../support/accounts.ts'
import { expectInvalid } from '../support/answers.ts'
import { useApi } from '../support/use-api.ts'

const [, payables] = SIDES

describe('finance: payment methods', () => {
  const api = useApi()

  it('are listed with their codes and Portuguese names, the same for everybody [ACCT-10]', async () => {
    const company = await api.company()
    const reply = await company.get('/finance/payment-methods')
    expect(reply.status).to.equal(200)
    expect(reply.body).to.deep.equal({
      data: [
        { code: 'cash', name: 'Dinheiro' },
        { code: 'pix', name: 'Pix' },
        { code: 'credit_card', name: 'Cartão de crédito' },
        { code: 'debit_card', name: 'Cartão de débito' },
        { code: 'bank_slip', name: 'Boleto bancário' },
        { code: 'bank_transfer', name: 'Transferência bancária' },
        { code: 'check', name: 'Cheque' },
        { code: 'other', name: 'Outro' },
      ],
    })
    expect(reply.headers.get('x-ledger-revision')).to.match(/^\d+$/)
    expectInvalid(await company.get('/finance/payment-methods?limit=1'), [], ['limit'])
  })

  it('settle an account, each of them [ACCT-10]', async () => {
    const company = await api.company()
    const { data } = (await company.get('/finance/payment-methods')).body
    for (const { code } of data) {
      const body = { description: 'x', amount: '1.00', due_date: '2026-03-10' }
      const { id } = (await company.post(payables.path, body)).body.data
      expect((await settle(company, payables, id, { payment_method: code })).body.data.payment_method).to.equal(code)
    }
  })
})
