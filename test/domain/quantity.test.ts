import { expect } from 'chai'
import fc from 'fast-check'
import { fromThousandths, Quantity, SignedQuantity, StockQuantity, toThousandths } from '#domain/quantity.ts'

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
  it('accepts up to nine integer digits and three decimals [VAL-2]', () => {
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

  it('converts to thousandths and back, always with three decimals [VAL-2]', () => {
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
