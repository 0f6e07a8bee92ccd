import { expect } from 'chai'
import fc from 'fast-check'
import { AccountPaymentBody, PaymentReversal } from '#commands/account-commands.ts'
import { type AccountsPayment, goodsReturnedEvents, payAccounts, tillReceiptEvents } from '#commands/pay-accounts.ts'
import { receivableSide } from '#commands/receivables-payables.ts'
import { fromCents, toCents } from '#domain/money.ts'
import type { DataOf } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import { ownCompany } from '#projections/companies.ts'
import { type ReceivableObject, receivableById, receivablePayments } from '#projections/finance.ts'
import { companyRegistered, receivableCreated, receivablePaid, settlement } from '../support/facts.ts'
import { from, given, minute, type Scenario } from '../support/given.ts'
import { explore } from '../support/random.ts'
import { SIDES, wrong } from './account-sides.ts'

const at = settlement.paid_at
const pix = { paid_at: at, payment_method: 'pix' }

for (const side of SIDES) {
  const known = side.created({ id: 5 })
  const subject = `${side.subject}/5`
  const settled = side.happened('Settled', { id: 5, ...settlement })

  describe(`payments of a ${side.subject}`, () => {
    it('pay a part; the rest stays open [ACCT-100]', async () => {
      const scenario = await given(companyRegistered(), known)
      const decided = await scenario.when(...side.pay(5, { ...pix, amount: '40.00' }))
      decided.accepts('created', side.paid(5, { amount: '40.00' }))
      expect(await scenario.show(subject)).to.include({
        status: 'pending',
        paid_amount: '40.00',
        open_amount: '60.00',
        paid_at: null,
        settled_on: null,
      })
    })

    it('settle the account with the last cent', async () => {
      const scenario = await given(companyRegistered(), known, side.paid(5, { amount: '99.99' }))
      const decided = await scenario.when(...side.pay(5, { ...pix, amount: '0.01' }))
      decided.accepts('created', side.paid(5, { amount: '0.01' }), settled)
      expect(await scenario.show(subject)).to.include({
        status: 'settled',
        open_amount: '0.00',
        settled_on: '2026-03-10',
        payment_method: 'pix',
      })
    })

    it('cover the amount; interest and fine come on top, a discount is taken off [ACCT-102]', async () => {
      const scenario = await given(companyRegistered(), known)
      const amounts = { amount: '100.00', interest: '2.00', fine: '1.00', discount: '13.00' }
      const decided = await scenario.when(...side.pay(5, { ...pix, ...amounts }))
      decided.accepts('created', side.paid(5, amounts), settled)
      const shown = (await scenario.show(subject)) as { payments: unknown[] }
      expect(shown.payments[0]).to.include({ ...amounts, received: '90.00' })
    })

    it('happen now and without a method by default', async () => {
      const scenario = await given(companyRegistered(), known)
      const decided = await scenario.when(...side.pay(5, { amount: '1.00' }))
      decided.accepts('created', side.paid(5, { amount: '1.00', paid_at: minute(2), payment_method: null }))
    })

    it('refuses payments beyond what is open, and in the future [ACCT-100, ACCT-102]', async () => {
      const scenario = await given(companyRegistered(), known, side.paid(5, { amount: '60.00' }))
      const refuses = async (body: object, field: string, message: string) => {
        const decided = await scenario.when(...side.pay(5, { ...pix, ...body }))
        decided.refuses('validation_failed', wrong(field, message))
      }
      await refuses({ amount: '40.01' }, 'amount', 'é mais que o valor em aberto, 40.00')
      const discount = { amount: '10.00', fine: '1.00', discount: '11.01' }
      await refuses(discount, 'discount', 'é mais que o valor pago, 11.00')
      const late = { amount: '1.00', paid_at: '2026-03-12T00:00:00.000Z' }
      await refuses(late, 'paid_at', 'não pode ser antes de 1990 nem estar mais de um dia no futuro')
      expect(await scenario.show(subject)).to.include({ open_amount: '40.00' })
    })

    it('are refused for settled, missing and deleted accounts, and by the API for accounts of sales [ACCT-3]', async () => {
      const whole = await given(companyRegistered(), known, side.paid(5))
      const again = await whole.when(...side.pay(5, { amount: '1.00' }))
      again.refuses('already_settled')
      const gone = await given(companyRegistered(), known, side.happened('Deleted', { id: 5 }))
      for (const id of [5, 9]) {
        const decided = await gone.when(...side.pay(id, { amount: '1.00' }))
        decided.refuses('not_found')
      }
      const ofSale = await given(companyRegistered(), from('pdv', side.created({ id: 5, origin: 'sale', sale_id: 2 })))
      const api = await ofSale.when(...side.pay(5, { ...pix, amount: '1.00' }))
      api.refuses('managed_by_pdv')
      const panel = await ofSale.when(...side.pay(5, { ...pix, amount: '1.00' }), 'panel')
      panel.accepts('created', side.paid(5, { amount: '1.00' }))
      const reversed = await ofSale.when(...side.reverse(5, 2))
      reversed.refuses('managed_by_pdv')
    })

    it('are reversed with a reason, once; a settled account is pending again [ACCT-104]', async () => {
      const scenario = await given(companyRegistered(), known, side.paid(5), settled)
      const decided = await scenario.when(...side.reverse(5, 2))
      decided.accepts('updated', side.happened('PaymentReversed', { id: 5, payment_id: 2, reason: 'Engano' }))
      expect(await scenario.show(subject)).to.include({
        status: 'pending',
        open_amount: '100.00',
        paid_at: null,
        settled_on: null,
        payment_method: null,
      })
      const again = await scenario.when(...side.reverse(5, 2))
      again.refuses('already_reversed')
      for (const [id, payment] of [
        [5, 3],
        [6, 2],
      ] as const) {
        const missing = await scenario.when(...side.reverse(id, payment))
        missing.refuses('not_found')
      }
    })

    it('of goods that came back are not reversed [ACCT-103]', async () => {
      const scenario = await given(companyRegistered(), known, side.paid(5, { kind: 'return', amount: '10.00' }))
      const decided = await scenario.when(...side.reverse(5, 2))
      const message = 'é uma devolução de mercadoria: não pode ser estornada'
      decided.refuses('validation_failed', wrong('payment_id', message))
    })

    it('that stand prevent the deletion; reversed ones do not [ACCT-105]', async () => {
      const scenario = await given(companyRegistered(), known, side.paid(5, { amount: '1.00' }))
      const blocked = await scenario.when(...side.remove(5))
      blocked.refuses('has_payments')
      await scenario.when(...side.reverse(5, 2))
      const decided = await scenario.when(...side.remove(5))
      decided.accepts('deleted', side.happened('Deleted', { id: 5, ...side.forgave('100.00') }))
    })

    it('bound a smaller amount of the account from below; an equal one settles it [ACCT-105]', async () => {
      const scenario = await given(companyRegistered(), known, side.paid(5, { amount: '40.00' }))
      const below = await scenario.when(...side.update(5, { amount: '39.99' }))
      below.refuses('validation_failed', wrong('amount', 'não pode ser menos que o que já foi pago, 40.00'))
      const more = await scenario.when(...side.update(5, { amount: '50.00' }))
      more.accepts(
        'updated',
        side.happened('Updated', { id: 5, changes: { amount: '50.00' }, ...side.forgave('50.00') }),
      )
      expect(await scenario.show(subject)).to.include({ open_amount: '10.00', status: 'pending' })
      const equal = await scenario.when(...side.update(5, { amount: '40.00' }))
      equal.accepts(
        'updated',
        side.happened('Updated', { id: 5, changes: { amount: '40.00' }, ...side.forgave('10.00') }),
        settled,
      )
      expect(await scenario.show(subject)).to.include({ open_amount: '0.00', status: 'settled', payment_method: 'pix' })
    })

    it('are limited in number, but what is open can always be paid', async () => {
      const many = Array.from({ length: 200 }, () => side.paid(5, { amount: '0.01' }))
      const scenario = await given(companyRegistered(), known, ...many)
      const part = await scenario.when(...side.pay(5, { amount: '1.00' }))
      const message = 'a conta já tem 200 pagamentos: pague tudo o que está em aberto'
      part.refuses('validation_failed', wrong('amount', message))
      const rest = await scenario.when(...side.pay(5, { ...pix, amount: '98.00' }))
      rest.accepts('created', side.paid(5, { amount: '98.00' }), settled)
    })
  })

  describe(`instalments of a ${side.subject}`, () => {
    const body = {
      description: 'Aluguel',
      amount: '100.00',
      installments: { count: 3, first_due_date: '2026-01-31', interval: 'month' },
    }

    it('are accounts that add up, the first with the rest and the external id [ACCT-107]', async () => {
      const scenario = await given(companyRegistered())
      const decided = await scenario.when(...side.create({ ...body, external_id: 'a' }))
      const each = (n: number, fields: object) =>
        side.created({ id: 1001 + n, ...fields, installment: { group: 1001, number: n + 1, count: 3 } })
      decided.accepts(
        'created',
        each(0, { external_id: 'a', amount: '33.34', due_date: '2026-01-31' }),
        each(1, { amount: '33.33', due_date: '2026-02-28' }),
        each(2, { amount: '33.33', due_date: '2026-03-31' }),
      )
      expect(await scenario.show(`${side.subject}/1002`)).to.deep.include({
        installment: { group: 1001, number: 2, count: 3 },
        open_amount: '33.33',
      })
    })

    it('are refused if a cent cannot be divided [ACCT-107]', async () => {
      const scenario = await given(companyRegistered())
      const decided = await scenario.when(...side.create({ ...body, amount: '0.02' }))
      const message = 'cada parcela deve ter ao menos 0.01 de 0.02'
      decided.refuses('validation_failed', wrong('installments.count', message))
    })
  })
}

describe('payment input', () => {
  const accepts = (input: object) => AccountPaymentBody.safeParse(input).success

  it('takes amounts, a time and a method', () => {
    expect(accepts({ amount: '1.00', interest: '0.00', fine: null, discount: '0.10', payment_method: 'pix' })).to.equal(
      true,
    )
  })
  for (const wrong of [
    {},
    { amount: '0.00' },
    { amount: 1 },
    { amount: '1.00', fine: '-1.00' },
    { amount: '1.00', x: 1 },
  ])
    it(`refuses ${JSON.stringify(wrong)} [ACCT-100]`, () => expect(accepts(wrong)).to.equal(false))
})

describe('reversal input', () => {
  for (const [reason, isAccepted] of [
    ['Cheque devolvido', true],
    ['', false],
    [undefined, false],
    ['x'.repeat(501), false],
  ] as const)
    it(`${isAccepted ? 'accepts' : 'refuses'} the reason ${String(reason).slice(0, 20) || 'of no length'} [ACCT-104]`, () => {
      expect(PaymentReversal.safeParse({ reason }).success).to.equal(isAccepted)
    })
})

describe('facts about a receivable', () => {
  const [side] = SIDES
  const known = side!.created({ id: 5 })
  const rowsOf = (scenario: Scenario) => scenario.rows(receivableById(5), receivableById(6), ownCompany)

  it('record what a till received; what is more than is open is excess [ACCT-106]', async () => {
    const scenario = await given(companyRegistered(), known, side!.paid(5, { amount: '60.00' }))
    const receive = async (id: number, cents: number) =>
      tillReceiptEvents(receivableSide, await rowsOf(scenario), id, {
        cents,
        at,
        payment_method: 'cash',
        cash_session_id: 's1',
      })
    const cash = { payment_method: 'cash', cash_session_id: 's1' }
    expect(await receive(6, 100)).to.equal(null)
    expect(await receive(5, 1000)).to.deep.equal({
      events: [side!.paid(5, { ...cash, amount: '10.00' })],
      excess_cents: 0,
    })
    const over = await receive(5, 5000)
    expect(over?.excess_cents).to.equal(1000)
    expect(over?.events).to.deep.equal([
      side!.paid(5, { ...cash, amount: '40.00', excess: '10.00' }),
      side!.happened('Settled', { id: 5, ...settlement, payment_method: 'cash' }),
    ])
    for (const event of over?.events ?? []) await scenario.happens(event)
    expect(await receive(5, 100)).to.deep.equal({
      events: [side!.paid(5, { ...cash, amount: '0.00', excess: '1.00' })],
      excess_cents: 100,
    })
  })

  it('lower what is owed by goods that came back, and settle it [ACCT-103]', async () => {
    const scenario = await given(companyRegistered(), known)
    const events = goodsReturnedEvents(receivableSide, await rowsOf(scenario), 5, { cents: 10_000, at })
    expect(events).to.deep.equal([
      side!.paid(5, { kind: 'return', payment_method: null }),
      side!.happened('Settled', { id: 5, ...settlement, payment_method: null }),
    ])
  })
})

/** A step of the life of an account, with sizes that the account may or may not allow. */
const step = fc.oneof(
  fc.record({
    do: fc.constant('pay' as const),
    cents: fc.integer({ min: 1, max: 12_000 }),
    extra: fc.integer({ min: 0, max: 500 }),
  }),
  fc.record({ do: fc.constant('settle' as const) }),
  fc.record({ do: fc.constant('reverse' as const), place: fc.nat(20) }),
  fc.record({ do: fc.constant('change' as const), cents: fc.integer({ min: 1, max: 20_000 }) }),
  fc.record({ do: fc.constant('till' as const), cents: fc.integer({ min: 1, max: 12_000 }) }),
  fc.record({ do: fc.constant('return' as const), cents: fc.integer({ min: 1, max: 12_000 }) }),
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

async function perform(scenario: Scenario, side: (typeof SIDES)[number], taken: Step): Promise<void> {
  const rows = await scenario.rows(receivableById(5), ownCompany)
  const { doc, open_cents } = rows.get(receivableById(5))!
  switch (taken.do) {
    case 'pay': {
      const extras = { interest: fromCents(taken.extra), fine: '0.10', discount: fromCents(taken.extra % 7) }
      await scenario.when(...side.pay(5, { amount: fromCents(taken.cents), ...extras }), 'panel')
      return
    }
    case 'settle':
      await scenario.when(...side.settle(5, { payment_method: 'pix' }), 'panel')
      return
    case 'reverse': {
      const payment = doc.payments[taken.place % (doc.payments.length || 1)]
      if (payment) await scenario.when(...side.reverse(5, payment.id), 'panel')
      return
    }
    case 'change':
      await scenario.when(...side.update(5, { amount: fromCents(taken.cents) }), 'panel')
      return
    case 'till': {
      const receipt = tillReceiptEvents(receivableSide, rows, 5, {
        cents: taken.cents,
        at,
        payment_method: 'cash',
        cash_session_id: 's1',
      })
      for (const event of receipt?.events ?? []) await scenario.happens(event)
      return
    }
    case 'return': {
      const cents = Math.min(open_cents, taken.cents)
      if (cents === 0) return
      for (const event of goodsReturnedEvents(receivableSide, rows, 5, { cents, at })) await scenario.happens(event)
    }
  }
}

describe('every history of an account', () => {
  const side = SIDES[0]!

  it('has payments less reversals plus what is open equal to its value [ACCT-108]', async function () {
    this.timeout(60_000)
    await explore(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const scenario = await given(companyRegistered(), side.created({ id: 5 }))
        for (const taken of steps) await perform(scenario, side, taken)
        const doc = (await scenario.show('receivable/5')) as ReceivableObject
        const cents = (
          field: 'amount' | 'received',
          only: (payment: ReceivableObject['payments'][number]) => boolean,
        ) => doc.payments.filter(only).reduce((sum, payment) => sum + toCents(payment[field]), 0)
        const isReversed = ({ reversed_at }: ReceivableObject['payments'][number]) => reversed_at !== null
        const covered = cents('amount', () => true) - cents('amount', isReversed)
        expect(covered + toCents(doc.open_amount)).to.equal(toCents(doc.amount))
        expect(toCents(doc.paid_amount)).to.equal(covered)
        expect(toCents(doc.open_amount)).to.be.at.least(0)
        expect(doc.status).to.equal(doc.open_amount === '0.00' ? 'settled' : 'pending')
        expect(doc.settled_on === null).to.equal(doc.status === 'pending')
        const row = (await scenario.rows(receivableById(5))).get(receivableById(5))
        expect(row).to.include({
          open_cents: toCents(doc.open_amount),
          amount_cents: toCents(doc.amount),
          status: doc.status,
        })
        const booked = scenario.changed(receivablePayments).reduce((sum, { received_cents }) => sum + received_cents, 0)
        expect(booked).to.equal(cents('received', (payment) => !isReversed(payment)))
      }),
      60,
    )
  })
})

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
