import { expect } from 'chai'
import fc from 'fast-check'
import { Cest, Gtin, isGtin, Ncm, StateRegistration } from '#domain/fiscal-values.ts'

const digits = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: length, maxLength: length })

describe('fiscal codes', () => {
  it('accept a GTIN of each length with a valid check digit [ITEM-10]', () => {
    for (const gtin of ['96385074', '036000291452', '7891234567895', '17891234567892', '00012345600012']) {
      expect(Gtin.parse(gtin), gtin).to.equal(gtin)
    }
  })

  it('accept exactly one check digit, and detect swapped neighbours unless they differ by 5', () => {
    fc.assert(
      fc.property(fc.constantFrom(7, 11, 12, 13).chain(digits), fc.nat({ max: 5 }), (others, place) => {
        const right = Array.from('0123456789', (digit) => others + digit).filter(isGtin)
        expect(right).to.have.length(1)
        const gtin = right[0] as string
        const [a, b] = [gtin.charAt(place), gtin.charAt(place + 1)]
        const swapped = gtin.slice(0, place) + b + a + gtin.slice(place + 2)
        expect(isGtin(swapped)).to.equal(Math.abs(Number(a) - Number(b)) % 5 === 0)
      }),
    )
  })

  it('take SEM GTIN and what else stands for none as none, and no other text [ITEM-10]', () => {
    for (const none of ['SEM GTIN', 'sem gtin', ' SEM GTIN ', '-', '--', 'n/a', 'NULL', '0', '00000000'])
      expect(Gtin.parse(none), none).to.equal(null)
    for (const other of ['SEM  GTIN', 'SEM', 'nulo']) expect(Gtin.safeParse(other).success).to.equal(false)
  })

  it('refuse a GTIN with a wrong length, a wrong check digit or other characters [ITEM-10]', () => {
    for (const wrong of [
      '',
      '7891234567894',
      '789123456789',
      '789',
      '789123456789X',
      '7891 234567895',
      7891234567895,
    ]) {
      expect(Gtin.safeParse(wrong).success, String(wrong)).to.equal(false)
    }
  })

  it('are stored as digits, also if sent with punctuation [ITEM-10]', () => {
    expect(Ncm.parse('09012100')).to.equal('09012100')
    expect(Ncm.parse('0901.21.00')).to.equal('09012100')
    expect(Cest.parse('1709600')).to.equal('1709600')
    expect(Cest.parse('17.096.00')).to.equal('1709600')
  })

  it('refuse an NCM or CEST with a wrong number of digits [ITEM-10]', () => {
    for (const wrong of ['', '0901210', '090121000', '0901-2100', '09.012100', 'ABCDEFGH', '٠٩٠١٢١٠٠', 9012100]) {
      expect(Ncm.safeParse(wrong).success, String(wrong)).to.equal(false)
    }
    for (const wrong of ['', '170960', '17096000', '17.09600', 'ABCDEFG', 1709600]) {
      expect(Cest.safeParse(wrong).success, String(wrong)).to.equal(false)
    }
  })

  it('accept a state registration with or without punctuation, and ISENTO', () => {
    expect(StateRegistration.parse(' 110.042.490.114 ')).to.equal('110042490114')
    expect(StateRegistration.parse('78.123.45-6')).to.equal('78123456')
    expect(StateRegistration.parse('isento')).to.equal('ISENTO')
    for (const wrong of ['', '1', '123456789012345', 'ISENTA', 'P011004243', 110042490114]) {
      expect(StateRegistration.safeParse(wrong).success, String(wrong)).to.equal(false)
    }
  })
})
