import { expect } from 'chai'
import fc from 'fast-check'
import type { z } from 'zod'
import { fromCents } from '#domain/money.ts'
import { fromThousandths, JsonMoney, JsonQuantity } from '#domain/quantity.ts'

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
