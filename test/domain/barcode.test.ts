import { expect } from 'chai'
import { barcodeProblem } from '#domain/barcode.ts'

describe('barcode', () => {
  it('of 8, 12, 13 or 14 digits is a GTIN with a check digit [ITEM-7]', () => {
    for (const gtin of ['96385074', '036000291452', '7891234567895', '10012345000017', '00000000']) {
      expect(barcodeProblem(gtin), gtin).to.equal(null)
    }
    for (const wrong of ['96385075', '036000291453', '7891234567890', '10012345000018']) {
      expect(barcodeProblem(wrong), wrong).to.equal('wrong_check_digit')
    }
  })

  it('may be any other code [ITEM-7]', () => {
    for (const code of [
      '789',
      '2000000',
      '123456789',
      '12345678901',
      '123456789012345',
      'LOJA-0001',
      '7891234567 95',
    ]) {
      expect(barcodeProblem(code), code).to.equal('not_gtin')
    }
  })
})
