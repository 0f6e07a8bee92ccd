import { expect } from 'chai'
import { cnpj, cpf } from 'cpf-cnpj-validator'
import fc from 'fast-check'
import { Cnpj, isCnpj, isCpf } from '#domain/person-values.ts'

const base = (characters: string, length: number) =>
  fc.string({ unit: fc.constantFrom(...characters), minLength: length, maxLength: length })
const UPPER = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'

describe('tax numbers', () => {
  it('accepts bare numbers with valid check digits [PERSON-3]', () => {
    for (const text of ['52998224725', '11144477735', '12345678909']) expect(isCpf(text), text).to.equal(true)
    for (const text of ['11222333000181', '00000000000191', '12ABC34501DE35']) expect(isCnpj(text), text).to.equal(true)
  })

  it('refuses formatted, short, repeated and lower-case ones', () => {
    for (const text of [
      '',
      '529.982.247-25',
      '52998224724',
      '5299822472',
      '529982247255',
      '5299822472X',
      ' 52998224725',
      '52998224725\n',
    ]) {
      expect(isCpf(text), text).to.equal(false)
    }
    for (const text of [
      '',
      '11.222.333/0001-81',
      '11222333000182',
      '1122233300018',
      '12abc34501de35',
      '12ABC34501DE3A',
      '12ABC34501DE36',
    ]) {
      expect(isCnpj(text), text).to.equal(false)
    }
    for (let digit = 0; digit <= 9; digit++) {
      expect(isCpf(String(digit).repeat(11))).to.equal(false)
      expect(isCnpj(String(digit).repeat(14))).to.equal(false)
    }
  })

  it('accepts exactly one pair of check digits for each number', () => {
    fc.assert(
      fc.property(base('0123456789', 9), (digits) => {
        fc.pre(new Set(digits).size > 1)
        const valid = Array.from({ length: 100 }, (_, n) => digits + String(n).padStart(2, '0')).filter(isCpf)
        expect(valid).to.have.length(1)
        if (digits !== '123456789') expect(cpf.isValid(valid[0]!, true)).to.equal(true)
      }),
    )
    fc.assert(
      fc.property(base(UPPER, 12), (text) => {
        fc.pre(new Set(text).size > 1)
        const valid = Array.from({ length: 100 }, (_, n) => text + String(n).padStart(2, '0')).filter(isCnpj)
        expect(valid).to.have.length(1)
        expect(Cnpj.parse(valid[0]).replace(/[./-]/g, '')).to.equal(valid[0])
        expect(cnpj.isValid(Cnpj.parse(valid[0]), true)).to.equal(true)
      }),
    )
  })

  it('formats input of a command line, bare or with any punctuation', () => {
    for (const text of ['12345678000195', '12.345.678/0001-95', ' 12345678000195 ', '12.345.678/000195'])
      expect(Cnpj.parse(text)).to.equal('12.345.678/0001-95')
    for (const text of ['12ABC34501DE35', '12.abc.345/01de-35']) expect(Cnpj.parse(text)).to.equal('12.ABC.345/01DE-35')
    for (const value of ['12345678000196', '11.111.111/1111-11', '', 12345678000195, null]) {
      expect(Cnpj.safeParse(value).success, String(value)).to.equal(false)
    }
  })
})
