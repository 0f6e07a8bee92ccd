import { expect } from 'chai'
import fc from 'fast-check'
import { fromCents, MAX_CENTS, toCents } from '#domain/money.ts'
import { splitOf } from '#domain/order-states.ts'

describe('commission', () => {
  for (const [amount, percentage, share, rest] of [
    ['100.00', '5.00', '5.00', '95.00'],
    ['71.52', '3.33', '2.38', '69.14'],
    ['0.10', '5.00', '0.01', '0.09'],
    ['0.09', '5.00', '0.00', '0.09'],
    ['0.01', '50.00', '0.01', '0.00'],
    ['10.00', '0.00', '0.00', '10.00'],
    ['10.00', '100.00', '10.00', '0.00'],
    ['9999999999.99', '99.99', '9998999999.99', '1000000.00'],
  ] as const) {
    it(`of ${percentage} % on ${amount} is ${share}, rounded half up, and the store gets the rest [ORDER-7]`, () => {
      expect(splitOf(amount, percentage)).to.deep.equal({ percentage, amount: share, store_amount: rest })
    })
  }

  it('always sums to the paid amount, within half a cent of the percentage [ORDER-7]', () => {
    fc.assert(
      fc.property(fc.nat({ max: MAX_CENTS }), fc.nat({ max: 10_000 }), (cents, hundredths) => {
        const { amount, store_amount } = splitOf(fromCents(cents), fromCents(hundredths))
        expect(toCents(amount) + toCents(store_amount)).to.equal(cents)
        const twentyThousandths = 2n * (BigInt(toCents(amount)) * 10_000n - BigInt(cents) * BigInt(hundredths))
        expect(twentyThousandths > -10_000n && twentyThousandths <= 10_000n).to.equal(true)
      }),
    )
  })
})
