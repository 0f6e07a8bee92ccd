import { expect } from 'chai'
import fc from 'fast-check'
import type { z } from 'zod'
import {
  fromCents,
  fromThousandths,
  JsonMoney,
  JsonQuantity,
  lineTotal,
  lineTotalFits,
  MAX_CENTS,
  Money,
  netOfSurcharge,
  normalizePercentage,
  Percentage,
  percentHundredths,
  Quantity,
  SignedQuantity,
  StockQuantity,
  takePercent,
  toCents,
  toThousandths,
} from '#domain/money.ts'
import { splitCommission } from '#domain/order-states.ts'

const read = (schema: z.ZodType, text: string): unknown => {
  const result = schema.safeParse(JSON.parse(text))
  return result.success ? result.data : null
}

describe('money as a JSON number', () => {
  const accepted: [string, string][] = [
    ['10', '10.00'],
    ['10.5', '10.50'],
    ['1e2', '100.00'],
    ['0', '0.00'],
    ['-0', '0.00'],
    ['9999999999.99', '9999999999.99'],
    [String(0.1 + 0.2), '0.30'],
    [String(0.3 - 0.1 - 0.2), '0.00'],
    [String(1.1 * 3), '3.30'],
  ]
  for (const [text, value] of accepted) {
    it(`parses ${text} as ${value} [UP-8]`, () => expect(read(JsonMoney, text)).to.equal(value))
  }

  for (const text of ['-0.01', '10.001', '0.005', '10000000000', '1e300', '1e400', '"10.00"', 'null', 'true', '[]']) {
    it(`refuses ${text}`, () => expect(read(JsonMoney, text)).to.equal(null))
  }

  it('is exact for every amount in JSON notation', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 999_999_999_999 }), (cents) => {
        expect(read(JsonMoney, fromCents(cents))).to.equal(fromCents(cents))
        expect(read(JsonMoney, String(cents / 100))).to.equal(fromCents(cents))
      }),
    )
  })

  it('tolerates rounding errors of added doubles [UP-8]', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 999_999 }), { maxLength: 100 }), (amounts) => {
        const sum = amounts.reduce((total, cents) => total + cents / 100, 0)
        const cents = amounts.reduce((total, each) => total + each, 0)
        expect(read(JsonMoney, JSON.stringify(sum))).to.equal(fromCents(cents))
      }),
    )
  })
})

describe('a quantity as a JSON number', () => {
  it('is exact to the thousandth', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 999_999_999_999 }), (thousandths) => {
        expect(read(JsonQuantity, fromThousandths(thousandths))).to.equal(fromThousandths(thousandths))
      }),
    )
  })

  for (const text of ['0', '-1', '0.0004', '1.0005', '1000000000', '1e400', '"1"']) {
    it(`refuses ${text}`, () => expect(read(JsonQuantity, text)).to.equal(null))
  }
})

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
    expect(takePercent(1_000, '5')).to.equal(50)
    expect(takePercent(10, '5')).to.equal(1)
    expect(takePercent(9, '5')).to.equal(0)
    expect(takePercent(MAX_CENTS, '100')).to.equal(MAX_CENTS)
    fc.assert(
      fc.property(cents, hundredths, (amount, percent) => {
        expect(takePercent(amount, fromCents(percent))).to.equal(nearest(BigInt(amount) * BigInt(percent), 10_000n))
      }),
    )
    expect(() => takePercent(100, '100.01')).to.throw(RangeError)
    expect(() => takePercent(-100, '5')).to.throw(RangeError)
  })

  it('agrees with quantities: one unit costs its price', () => {
    fc.assert(fc.property(cents, (unit) => lineTotal(1_000, unit) === unit))
    expect(fromThousandths(1_000)).to.equal('1.000')
  })
})

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

const MALFORMED = [
  '',
  '.5',
  '1.',
  '1.0000',
  '01',
  '00.5',
  '+1',
  '1,5',
  ' 1',
  '1 ',
  '1e3',
  '--1',
  '1000000000',
  'NaN',
  1,
  1.5,
  null,
  undefined,
]
const accepts = (schema: { safeParse(value: unknown): { success: boolean } }, value: unknown) =>
  schema.safeParse(value).success

describe('quantity', () => {
  it('accepts up to nine integer digits and three decimals [VAL-1]', () => {
    for (const text of ['1', '1.5', '0.001', '2.50', '999999999.999']) {
      for (const schema of [Quantity, StockQuantity, SignedQuantity]) expect(accepts(schema, text), text).to.equal(true)
    }
  })

  it('reports well-formed quantities as too large or negative', () => {
    const messagesOf = (text: string) => Quantity.safeParse(text).error?.issues.map(({ message }) => message)
    expect(messagesOf('1000000000')).to.deep.equal(['deve ser no máximo 999999999.999'])
    expect(messagesOf('1000000000.5')).to.deep.equal(['deve ser no máximo 999999999.999'])
    expect(messagesOf('-1')).to.deep.equal(['não pode ser negativa'])
    expect(messagesOf('1.2345')?.[0]).to.include('três casas decimais')
    expect(SignedQuantity.safeParse('-1000000000').error?.issues[0]?.message).to.equal(
      'deve ser no máximo 999999999.999',
    )
  })

  it('refuses malformed texts and JSON numbers', () => {
    for (const value of MALFORMED) {
      for (const schema of [Quantity, StockQuantity, SignedQuantity])
        expect(accepts(schema, value), String(value)).to.equal(false)
    }
  })

  it('allows zero and signs according to its use', () => {
    for (const zero of ['0', '0.0', '0.000']) {
      expect([accepts(Quantity, zero), accepts(StockQuantity, zero), accepts(SignedQuantity, zero)]).to.deep.equal([
        false,
        true,
        false,
      ])
    }
    expect([accepts(Quantity, '-1'), accepts(StockQuantity, '-1'), accepts(SignedQuantity, '-1')]).to.deep.equal([
      false,
      false,
      true,
    ])
    expect(accepts(SignedQuantity, '-0.000')).to.equal(false)
    expect(Quantity.safeParse('0').error?.issues.map((issue) => issue.message)).to.deep.equal([
      'deve ser maior que zero',
    ])
  })

  it('converts to thousandths and back, always with three decimals [VAL-1]', () => {
    expect(toThousandths('1.5')).to.equal(1500)
    expect(toThousandths('-1.5')).to.equal(-1500)
    expect(Object.is(toThousandths('-0.000'), 0)).to.equal(true)
    expect(fromThousandths(-1500)).to.equal('-1.500')
    expect(fromThousandths(-1)).to.equal('-0.001')
    expect(fromThousandths(0)).to.equal('0.000')
    fc.assert(
      fc.property(fc.maxSafeInteger(), (n) => {
        expect(fromThousandths(n)).to.match(/^-?\d+\.\d{3}$/)
        expect(toThousandths(fromThousandths(n))).to.equal(n)
      }),
    )
    for (const text of ['', 'x', '1.2345', '9007199254740.992'])
      expect(() => toThousandths(text), text).to.throw(RangeError)
    for (const n of [0.5, Number.NaN, 2 ** 53]) expect(() => fromThousandths(n)).to.throw(RangeError)
  })
})

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
      expect(splitCommission(amount, percentage)).to.deep.equal({ percentage, amount: share, store_amount: rest })
    })
  }

  it('always sums to the paid amount, within half a cent of the percentage [ORDER-7]', () => {
    fc.assert(
      fc.property(fc.nat({ max: MAX_CENTS }), fc.nat({ max: 10_000 }), (cents, hundredths) => {
        const { amount, store_amount } = splitCommission(fromCents(cents), fromCents(hundredths))
        expect(toCents(amount) + toCents(store_amount)).to.equal(cents)
        const twentyThousandths = 2n * (BigInt(toCents(amount)) * 10_000n - BigInt(cents) * BigInt(hundredths))
        expect(twentyThousandths > -10_000n && twentyThousandths <= 10_000n).to.equal(true)
      }),
    )
  })
})
