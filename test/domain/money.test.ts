import { expect } from 'chai'
import fc from 'fast-check'
import {
  fromCents,
  lineTotal,
  lineTotalFits,
  MAX_CENTS,
  Money,
  netOfSurcharge,
  percentOf,
  toCents,
} from '#domain/money.ts'
import { fromThousandths } from '#domain/quantity.ts'

const cents = fc.integer({ min: 0, max: MAX_CENTS })
const hundredths = fc.integer({ min: 0, max: 10_000 })

/** Oracle: nearest integer to a fraction, rounded half up by the remainder instead of by adding a half. */
function nearest(numerator: bigint, denominator: bigint): number {
  const rest = numerator % denominator
  return Number(numerator / denominator + (rest * 2n >= denominator ? 1n : 0n))
}

describe('money', () => {
  it('accepts exactly two decimals up to ten integer digits [VAL-1]', () => {
    for (const text of ['0.00', '0.50', '10.00', '1234567890.12', '9999999999.99']) {
      expect(Money.safeParse(text), text).to.deep.equal({ success: true, data: text })
    }
  })

  it('reports well-formed amounts as too large or negative', () => {
    const messageOf = (text: string) => Money.safeParse(text).error?.issues[0]?.message
    for (const text of ['10000000000.00', '99999999999999999999.99'])
      expect(messageOf(text)).to.equal('deve ser no máximo 9999999999.99')
    expect(messageOf('-0.01')).to.equal('não pode ser negativo')
    for (const text of ['10000000000', '10000000000.0', '00000000001.00', '1.000'])
      expect(messageOf(text)).to.include('duas casas decimais')
  })

  it('refuses every other form, JSON numbers first [VAL-1]', () => {
    const refused = [
      '',
      '10',
      '10.0',
      '10.000',
      '00.50',
      '010.00',
      '-1.00',
      '+1.00',
      '1,00',
      '1.000,00',
      '.50',
      '1.',
      ' 1.00',
      '1.00 ',
      '1.00\n',
      '1e2',
      '١.٠٠',
      '10000000000.00',
      'NaN',
      10,
      10.5,
      null,
      undefined,
      true,
      ['1.00'],
    ]
    for (const value of refused) expect(Money.safeParse(value).success, String(value)).to.equal(false)
  })

  it('converts texts to cents and back without loss', () => {
    fc.assert(
      fc.property(cents, (amount) => {
        const text = fromCents(amount)
        expect(Money.safeParse(text).success).to.equal(true)
        expect(toCents(text)).to.equal(amount)
        expect(toCents(fromCents(-amount))).to.equal(0 - amount)
      }),
    )
    expect(fromCents(-150)).to.equal('-1.50')
    expect(fromCents(-5)).to.equal('-0.05')
    expect(fromCents(-0)).to.equal('0.00')
    expect(Object.is(toCents('-0.00'), 0)).to.equal(true)
    expect(fromCents(Number.MAX_SAFE_INTEGER)).to.equal('90071992547409.91')
  })

  it('throws on invalid texts', () => {
    for (const text of ['', '1', '1.5', 'x', '1.234', '99999999999999999.99'])
      expect(() => toCents(text), text).to.throw(RangeError)
    for (const amount of [0.5, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY])
      expect(() => fromCents(amount)).to.throw(RangeError)
  })

  it('rounds a line total half up [SALE-5]', () => {
    expect(lineTotal(1_500, 1_000)).to.equal(1_500)
    expect(lineTotal(1, 499)).to.equal(0)
    expect(lineTotal(1, 500)).to.equal(1)
    expect(lineTotal(1_005, 100)).to.equal(101) // 1.005 × 1.00, which floats round to 1.00
    expect(lineTotal(333, 1_000)).to.equal(333)
    expect(lineTotal(0, 1_000)).to.equal(0)
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 9_000_000 }), cents, (thousandths, unit) => {
        expect(lineTotal(thousandths, unit)).to.equal(nearest(BigInt(thousandths) * BigInt(unit), 1000n))
      }),
    )
  })

  it('is exact up to 2^53 − 1 and throws beyond, which lineTotalFits predicts', () => {
    expect(lineTotal(1_000, Number.MAX_SAFE_INTEGER)).to.equal(Number.MAX_SAFE_INTEGER)
    expect(() => lineTotal(1_001, Number.MAX_SAFE_INTEGER)).to.throw(RangeError)
    expect(lineTotal(2_000, MAX_CENTS)).to.equal(2 * MAX_CENTS)
    expect(lineTotalFits(1_000, MAX_CENTS)).to.equal(true)
    expect(lineTotalFits(1_001, MAX_CENTS)).to.equal(false)
    expect(lineTotalFits(999_999_999_999, MAX_CENTS)).to.equal(false)
    for (const [quantity, unit] of [
      [-1, 1],
      [1, -1],
      [0.5, 1],
      [1, Number.NaN],
    ] as const) {
      expect(() => lineTotal(quantity, unit)).to.throw(RangeError)
    }
  })

  it('extracts a surcharge from the amount [SALE-8]', () => {
    expect(netOfSurcharge(10_250, '2.50')).to.equal(10_000)
    expect(netOfSurcharge(10_000, '2.50')).to.equal(9_756)
    expect(netOfSurcharge(10_000, '0')).to.equal(10_000)
    expect(netOfSurcharge(3, '100')).to.equal(2) // 1.5 goes up
    expect(netOfSurcharge(0, '5')).to.equal(0)
    fc.assert(
      fc.property(cents, hundredths, (amount, fee) => {
        const net = netOfSurcharge(amount, fromCents(fee))
        expect(net).to.equal(nearest(BigInt(amount) * 10_000n, BigInt(10_000 + fee)))
        expect(net).to.be.within(0, amount)
      }),
    )
  })

  it('rounds a percentage half up', () => {
    expect(percentOf(1_000, '5')).to.equal(50)
    expect(percentOf(10, '5')).to.equal(1)
    expect(percentOf(9, '5')).to.equal(0)
    expect(percentOf(MAX_CENTS, '100')).to.equal(MAX_CENTS)
    fc.assert(
      fc.property(cents, hundredths, (amount, percent) => {
        expect(percentOf(amount, fromCents(percent))).to.equal(nearest(BigInt(amount) * BigInt(percent), 10_000n))
      }),
    )
    expect(() => percentOf(100, '100.01')).to.throw(RangeError)
    expect(() => percentOf(-100, '5')).to.throw(RangeError)
  })

  it('agrees with quantities: one unit costs its price', () => {
    fc.assert(fc.property(cents, (unit) => lineTotal(1_000, unit) === unit))
    expect(fromThousandths(1_000)).to.equal('1.000')
  })
})
