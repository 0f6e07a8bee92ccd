import { expect } from 'chai'
import fc from 'fast-check'
import { normalizePercentage, Percentage, percentHundredths } from '#domain/money.ts'

describe('percentage', () => {
  it('accepts 0 to 100 with up to two decimals', () => {
    for (const text of ['0', '0.5', '2.50', '99.99', '100', '100.0', '100.00']) {
      expect(Percentage.safeParse(text).success, text).to.equal(true)
    }
  })

  it('refuses anything else', () => {
    for (const value of [
      '',
      '-1',
      '100.01',
      '101',
      '1000',
      '2.505',
      '2,5',
      '02',
      '.5',
      '2.',
      '2%',
      ' 2',
      2.5,
      null,
      undefined,
    ]) {
      expect(Percentage.safeParse(value).success, String(value)).to.equal(false)
    }
  })

  it('normalizes to exactly two decimals, idempotently', () => {
    expect(['0', '2.5', '12', '99.99', '100', '0.05'].map(normalizePercentage)).to.deep.equal([
      '0.00',
      '2.50',
      '12.00',
      '99.99',
      '100.00',
      '0.05',
    ])
    expect(() => normalizePercentage('101')).to.throw(RangeError)
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10_000 }), (n) => {
        const text = (n / 100).toFixed(2)
        expect(percentHundredths(text)).to.equal(n)
        expect(normalizePercentage(text)).to.equal(text)
      }),
    )
  })
})
