import { expect } from 'chai'
import { encodeBarcode } from '#domain/fiscal-values.ts'

/** Widths of bars and spaces, as the standards print them. */
const widthsIn = (modules: string | null) => [...(modules ?? '').matchAll(/1+|0+/g)].map(([run]) => run.length).join('')

describe('bar symbols', () => {
  it('encode a GTIN as EAN-13 or EAN-8, a UPC with a zero before it [ITEM-1267]', () => {
    expect(encodeBarcode('4006381333931')).to.equal(
      '10100011010100111010111101111010001001011001101010100001010000101000010111010010000101100110101',
    )
    expect(encodeBarcode('96385074')).to.equal('1010001011010111101111010110111010101001110111001010001001011100101')
    expect(encodeBarcode('036000291452')).to.equal(encodeBarcode('0036000291452'))
  })

  it('encode other codes as Code 128, pairs of digits in one symbol [ITEM-1267]', () => {
    expect(widthsIn(encodeBarcode('PJJ123C'))).to.equal(
      ['211214', '313121', '112133', '112133', '123221', '223211', '221132', '131321', '311321', '2331112'].join(''),
    )
    expect(encodeBarcode('17891000100100')).to.have.length(11 * 9 + 13)
    // A wrong check digit is no EAN: scanners would refuse it.
    expect(encodeBarcode('7891000100104')).to.have.length(11 * 15 + 13)
  })

  it('encode no text that scanners cannot read [ITEM-1267]', () => {
    for (const code of ['', 'café', '1'.repeat(31), 'a\tb']) expect(encodeBarcode(code), code).to.equal(null)
  })
})
