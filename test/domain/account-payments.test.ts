import { expect } from 'chai'
import fc from 'fast-check'
import { fromCents, MAX_CENTS, toCents } from '#domain/money.ts'
import { instalmentAmounts, instalmentDates, receivedCents, shareInOrder } from '#domain/payment-rules.ts'

const sum = (cents: readonly number[]) => cents.reduce((total, each) => total + each, 0)

describe('instalments', () => {
  it('add up to the cent, and differ from the first at most by the rest [ACCT-107]', () => {
    fc.assert(
      fc.property(fc.integer({ min: 120, max: MAX_CENTS }), fc.integer({ min: 1, max: 120 }), (cents, count) => {
        const amounts = instalmentAmounts(fromCents(cents), count).map(toCents)
        expect(sum(amounts)).to.equal(cents)
        expect(amounts).to.have.length(count)
        const [first = 0, ...others] = amounts
        expect(new Set(others).size).to.be.at.most(1)
        for (const other of others) expect(first - other).to.be.within(0, count - 1)
      }),
    )
  })

  it('are due on the same day of each month, or the last one of a shorter month [ACCT-107]', () => {
    expect(instalmentDates('2027-12-31', 4, 'month')).to.deep.equal([
      '2027-12-31',
      '2028-01-31',
      '2028-02-29',
      '2028-03-31',
    ])
    expect(instalmentDates('2026-01-31', 2, 'month')).to.deep.equal(['2026-01-31', '2026-02-28'])
    expect(instalmentDates('9999-11-30', 3, 'month')).to.deep.equal(['9999-11-30', '9999-12-30', '9999-12-31'])
  })

  it('are due every so many days [ACCT-107]', () => {
    expect(instalmentDates('2026-02-20', 3, 10)).to.deep.equal(['2026-02-20', '2026-03-02', '2026-03-12'])
  })
})

describe('a received sum', () => {
  it('covers the first accounts first; the rest stays [PANEL-430]', () => {
    expect(shareInOrder([100, 200, 300], 250)).to.deep.equal([100, 150, 0])
    expect(shareInOrder([100, 200], 500)).to.deep.equal([100, 200])
    expect(shareInOrder([100], 0)).to.deep.equal([0])
  })

  it('is the amount with interest, fine and excess, less the discount [ACCT-102]', () => {
    const amounts = { amount: '100.00', interest: '2.00', fine: '1.00', discount: '13.00', excess: '0.50' }
    expect(receivedCents(amounts)).to.equal(9050)
  })
})
