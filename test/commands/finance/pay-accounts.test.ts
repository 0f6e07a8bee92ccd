import { expect } from 'chai'
import fc from 'fast-check'
import { type AccountsPayment, payAccounts } from '#commands/pay-accounts.ts'
import { receivableSide } from '#commands/receivables-payables.ts'
import { fromCents, toCents } from '#domain/money.ts'
import type { DataOf } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import { companyRegistered, receivableCreated, receivablePaid } from '../../support/facts.ts'
import { given } from '../../support/given.ts'
import { explore } from '../../support/random.ts'
import { wrong } from './sides.ts'

const command = payAccounts(receivableSide)
/** The newest is due first. */
const accounts = [1, 2, 3].map((id) => receivableCreated({ id, amount: '10.00', due_date: `2026-03-0${4 - id}` }))
const shown = [1, 2, 3].map((id) => ({ id, open_amount: '10.00' }))
const input = (fields: Partial<AccountsPayment>): AccountsPayment => ({
  accounts: shown,
  payment_method: 'pix',
  ...fields,
})

type Paid = DataOf<'ReceivablePaymentReceived'>

async function paidBy(fields: Partial<AccountsPayment>, ...more: ReturnType<typeof receivablePaid>[]) {
  const scenario = await given(companyRegistered(), ...accounts, ...more)
  const { decision } = await scenario.when(command, input(fields), 'panel')
  if (isRefusal(decision)) return decision
  return decision.events.filter(({ type }) => type === 'ReceivablePaymentReceived').map(({ data }) => data as Paid)
}

describe('a sum for several accounts', () => {
  it('covers the oldest due date first; all payments have one receipt [PANEL-430]', async () => {
    const paid = (await paidBy({ received: '12.00' })) as Paid[]
    expect(paid.map(({ id, amount, receipt }) => [id, amount, receipt])).to.deep.equal([
      [3, '10.00', undefined],
      [2, '2.00', 4],
    ])
    const scenario = await given(companyRegistered(), ...accounts)
    await scenario.when(command, input({ received: '12.00' }), 'panel')
    const receipts = await Promise.all(
      [2, 3].map(
        async (id) =>
          ((await scenario.show(`receivable/${id}`)) as { payments: { receipt: number }[] }).payments[0]?.receipt,
      ),
    )
    expect(receipts).to.deep.equal([4, 4])
  })

  it('is all that is open if it is not said [PANEL-163]', async () => {
    const paid = (await paidBy({ discount: '12.00', interest: '1.00' })) as Paid[]
    expect(paid.map(({ amount, interest, discount }) => [amount, interest, discount])).to.deep.equal([
      ['10.00', '1.00', '11.00'],
      ['10.00', '0.00', '1.00'],
      ['10.00', '0.00', '0.00'],
    ])
  })

  it('is refused as a whole if an account changed, is settled, or is missing [PANEL-163]', async () => {
    const stale = 'o valor em aberto mudou desde que a página foi aberta: confira e repita'
    expect(await paidBy({}, receivablePaid(2, { amount: '1.00' }))).to.deep.include({
      details: wrong('accounts', stale),
    })
    expect(await paidBy({}, receivablePaid(2, { amount: '10.00' }))).to.deep.equal({ refused: 'already_settled' })
    expect(await paidBy({ accounts: [...shown, { id: 9, open_amount: '1.00' }] })).to.deep.equal({
      refused: 'not_found',
    })
  })

  for (const [fields, field, message] of [
    [{ received: '30.01' }, 'received', 'é mais que o valor em aberto, 30.00'],
    [{ received: '31.01', fine: '1.00' }, 'received', 'é mais que o valor em aberto, 31.00'],
    [{ received: '1.00', fine: '1.00' }, 'received', 'não chega para os juros e a multa'],
    [{ discount: '30.01' }, 'discount', 'é mais que o valor em aberto, 30.00'],
  ] as const)
    it(`is refused with ${JSON.stringify(fields)}: ${field} ${message}`, async () => {
      expect(await paidBy(fields)).to.deep.include({ details: wrong(field, message) })
    })

  it('adds up: what is received of all payments is what was typed [ACCT-108]', async () => {
    const cents = (max: number) => fc.integer({ min: 0, max })
    const sums = fc.record({ received: cents(3_500), interest: cents(300), fine: cents(300), discount: cents(3_200) })
    const property = fc.asyncProperty(sums, async ({ received, interest, fine, discount }) => {
      const typed = {
        received: fromCents(received),
        interest: fromCents(interest),
        fine: fromCents(fine),
        discount: fromCents(discount),
      }
      const paid = await paidBy(typed)
      if ('refused' in paid) return
      const sum = (field: 'amount' | 'interest' | 'fine' | 'discount') =>
        paid.reduce((total, data) => total + toCents(data[field]), 0)
      expect(sum('amount') + sum('interest') + sum('fine') - sum('discount')).to.equal(received)
      expect([sum('interest'), sum('fine'), sum('discount')]).to.deep.equal([interest, fine, discount])
      for (const data of paid)
        expect(toCents(data.amount) + toCents(data.interest) + toCents(data.fine)).to.be.at.least(
          toCents(data.discount),
        )
    })
    await explore(property, 100)
  })
})
