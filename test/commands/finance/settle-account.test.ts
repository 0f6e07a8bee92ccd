import { expect } from 'chai'
import { Settlement } from '#commands/account-commands.ts'
import { PAYMENT_METHODS } from '#domain/payment-rules.ts'
import { companyRegistered, settlement } from '../../support/facts.ts'
import { from, given, minute } from '../../support/given.ts'
import { SIDES, wrong } from './sides.ts'

const pix = { payment_method: 'pix' }

for (const side of SIDES) {
  const known = side.created({ id: 5 })
  /** The payment of all that is open, and the settlement. */
  const settled = ({ amount = '100.00', ...fields }: { amount?: string; paid_at?: string; settled_on?: string }) => {
    const settling = { ...settlement, ...fields }
    const { paid_at, settled_on: paid_on } = settling
    return [side.paid(5, { amount, paid_at, paid_on }), side.happened('Settled', { id: 5, ...settling })] as const
  }

  describe(`settle ${side.subject}`, () => {
    it('settles in full, by default at the time of the request [ACCT-7]', async () => {
      const scenario = await given(companyRegistered(), known)
      const decided = await scenario.when(...side.settle(5, pix))
      decided.accepts('updated', ...settled({ paid_at: minute(2) }))
      const shown = await scenario.show(`${side.subject}/5`)
      expect(shown).to.include({
        status: 'settled',
        paid_at: '2026-03-10T12:02:00.000-03:00',
        settled_on: '2026-03-10',
        payment_method: 'pix',
        is_overdue: false,
        updated_at: '2026-03-10T12:02:00.000-03:00',
      })
    })

    for (const [timezone, paid_at, settled_on] of [
      ['America/Sao_Paulo', '2026-03-10T02:59:59.999Z', '2026-03-09'],
      ['America/Sao_Paulo', '2026-03-10T03:00:00.000Z', '2026-03-10'],
      ['Asia/Tokyo', '2026-03-10T15:00:00.000Z', '2026-03-11'],
      ['Pacific/Kiritimati', '2025-12-31T10:00:00.000Z', '2026-01-01'],
    ] as const)
      it(`books ${paid_at} in ${timezone} on ${settled_on} [ACCT-7]`, async () => {
        const scenario = await given(companyRegistered({ timezone }), known)
        const decided = await scenario.when(...side.settle(5, { ...pix, paid_at }))
        decided.accepts('updated', ...settled({ paid_at, settled_on }))
      })

    it('refuses a paid_at that is more than a day in the future [VAL-9]', async () => {
      const scenario = await given(companyRegistered(), known)
      const late = await scenario.when(...side.settle(5, { ...pix, paid_at: '2026-03-11T15:02:00.001Z' }))
      late.refuses(
        'validation_failed',
        wrong('paid_at', 'não pode ser antes de 1990 nem estar mais de um dia no futuro'),
      )
      const decided = await scenario.when(...side.settle(5, { ...pix, paid_at: '2026-03-11T15:02:00.000Z' }))
      decided.accepts('updated', ...settled({ paid_at: '2026-03-11T15:02:00.000Z', settled_on: '2026-03-11' }))
    })

    it('checks the amount: a different one is refused and changes nothing [ACCT-5]', async () => {
      const scenario = await given(companyRegistered(), known)
      const message = 'deve ser o valor em aberto, 100.00: uma parte se paga com um pagamento'
      for (const amount of ['99.99', '100.01', '0.00']) {
        const decided = await scenario.when(...side.settle(5, { ...pix, amount }))
        decided.refuses('validation_failed', wrong('amount', message))
      }
      const decided = await scenario.when(...side.settle(5, { ...pix, amount: '100.00', paid_at: null }))
      decided.accepts('updated', ...settled({ paid_at: minute(2) }))
    })

    it('pays what is open of a partly paid account, and checks the amount against that [ACCT-5]', async () => {
      const scenario = await given(companyRegistered(), known, side.paid(5, { amount: '60.00' }))
      const whole = await scenario.when(...side.settle(5, { ...pix, amount: '100.00' }))
      const message = 'deve ser o valor em aberto, 40.00: uma parte se paga com um pagamento'
      whole.refuses('validation_failed', wrong('amount', message))
      const decided = await scenario.when(...side.settle(5, { ...pix, amount: '40.00' }))
      decided.accepts('updated', ...settled({ amount: '40.00', paid_at: minute(3) }))
    })

    it('refuses a second settlement before checking the amount [ACCT-8]', async () => {
      const scenario = await given(companyRegistered(), known, ...settled({}))
      for (const input of [pix, { ...pix, amount: '1.00' }, { ...pix, paid_at: settlement.paid_at }]) {
        const decided = await scenario.when(...side.settle(5, input))
        decided.refuses('already_settled')
      }
    })

    it('refuses the API for an account made by a sale; the panel settles it [ACCT-3]', async () => {
      const scenario = await given(
        companyRegistered(),
        from('pdv', side.created({ id: 5, origin: 'sale', sale_id: 2 })),
      )
      const decided = await scenario.when(...side.settle(5, { ...pix, amount: '1.00' }))
      decided.refuses('managed_by_pdv')
      const panel = await scenario.when(...side.settle(5, pix), 'pdv')
      panel.accepts('updated', ...settled({ paid_at: minute(2) }))
      const again = await scenario.when(...side.settle(5, pix))
      again.refuses('managed_by_pdv')
    })

    it('does not find missing or deleted accounts', async () => {
      const scenario = await given(companyRegistered(), known, side.happened('Deleted', { id: 5 }))
      for (const id of [5, 9]) {
        const decided = await scenario.when(...side.settle(id, pix))
        decided.refuses('not_found')
      }
    })
  })
}

describe('settlement input', () => {
  const accepts = (input: object) => Settlement.safeParse(input).success

  for (const payment_method of [...PAYMENT_METHODS, 'PIX', 'card', 'Cartão da loja', 'ç'.repeat(60)])
    it(`accepts the payment method ${payment_method}`, () => {
      expect(accepts({ payment_method })).to.equal(true)
    })
  for (const payment_method of [undefined, null, '', '  ', 1, 'x'.repeat(61), 'pix\u0000'])
    it(`refuses the payment method ${JSON.stringify(payment_method)}`, () => {
      expect(accepts({ payment_method })).to.equal(false)
    })

  it('accepts a paid_at with an offset, and an amount with two decimals', () => {
    expect(accepts({ ...pix, paid_at: '2026-03-10T12:00:00-03:00', amount: '1.00' })).to.equal(true)
  })
  for (const more of [{ paid_at: '2026-03-10T12:00:00' }, { paid_at: '2026-03-10' }, { amount: '1' }, { id: 1 }])
    it(`refuses ${JSON.stringify(more)}`, () => expect(accepts({ ...pix, ...more })).to.equal(false))
})
