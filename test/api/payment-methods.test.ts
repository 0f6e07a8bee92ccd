import { expect } from 'chai'
import { SIDES, settle } from '../support/accounts.ts'
import { expectInvalid, LOCAL_TIME } from '../support/answers.ts'
import { useApi } from '../support/use-api.ts'

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
