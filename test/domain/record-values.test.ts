import { expect } from 'chai'
import { cnpj, cpf } from 'cpf-cnpj-validator'
import fc from 'fast-check'
import * as z from 'zod'
import {
  AccessKey,
  Cest,
  Gtin,
  isGtin,
  itemTaxProblem,
  itemTaxShape,
  Ncm,
  pickFiscalCodes,
  readAccessKey,
  StateRegistration,
  withoutZeros,
} from '#domain/fiscal-values.ts'
import { brandPalette, contrastColors, isAlarming } from '#domain/images.ts'
import { Cnpj, isCnpj, isCpf, phoneKey, stateOfZip } from '#domain/person-values.ts'
import { barcodeProblem, MetadataInput, mergeMetadata } from '#domain/record-values.ts'
import { accessKeyOf, withCheckDigit } from '../support/access-key.ts'

/** Example from the manual of the tax authorities. */
const KEY = '52060433009911002506550120000007800267301615'
const WITH_LETTERS = '35261112ABC34501DE35650010000012341000012349'

const isKey = (key: string) => AccessKey.safeParse(key).success

describe('access key of a fiscal document', () => {
  it('has 44 characters with a valid check digit; the CNPJ may contain letters [FISCAL-2]', () => {
    for (const key of [KEY, WITH_LETTERS, '35260111222333000181650010000012341000012345'])
      expect(AccessKey.parse(key)).to.equal(key)
    expect(AccessKey.parse(` ${WITH_LETTERS.toLowerCase().replace(/(.{4})/g, '$1 ')}`)).to.equal(WITH_LETTERS)
    expect(readAccessKey(KEY)).to.deep.equal({
      month: '2006-04',
      cnpj: '33009911002506',
      model: '55',
      series: '12',
      number: '780',
    })
  })

  const messagesOf = (key: string) => AccessKey.safeParse(key).error?.issues.map(({ message }) => message)

  it('has a month from 01 to 12 [FISCAL-2]', () => {
    for (const month of ['01', '09', '12']) expect(isKey(accessKeyOf({ month })), month).to.equal(true)
    for (const month of ['00', '13', '20'])
      expect(messagesOf(accessKeyOf({ month })), month).to.deep.equal(['tem um mês que não existe'])
  })

  it('begins with the code of a state [FISCAL-2]', () => {
    for (const state of ['11', '35', '53']) expect(isKey(accessKeyOf({ state })), state).to.equal(true)
    for (const state of ['00', '18', '34', '99'])
      expect(messagesOf(accessKeyOf({ state })), state).to.deep.equal(['começa com um código de UF que não existe'])
  })

  it('has a CNPJ with valid check digits [FISCAL-2]', () => {
    for (const cnpj of ['11222333000180', '11111111111111', '00000000000000'])
      expect(messagesOf(accessKeyOf({ cnpj })), cnpj).to.deep.equal([
        'tem um CNPJ com dígitos verificadores incorretos',
      ])
  })

  it('of a SAT device has its serial number in place of the series [FISCAL-2]', () => {
    const key = '3526111122233300018159000123456000789000001'
    expect(readAccessKey(withCheckDigit(key))).to.include({ model: '59', series: '123456', number: '789' })
  })

  it('compares numbers without leading zeros, and other texts as they are', () => {
    expect(['001', '0', '000', ' 7 ', 'nfc-e 01', '0A'].map(withoutZeros)).to.deep.equal([
      '1',
      '0',
      '0',
      '7',
      'NFC-E 01',
      '0A',
    ])
  })

  it('is refused with any digit changed, too long, too short, or with letters elsewhere [FISCAL-2]', () => {
    const place = fc.nat({ max: KEY.length - 1 })
    fc.assert(
      fc.property(place, fc.integer({ min: 1, max: 9 }), (at, more) => {
        const digit = (Number(KEY[at]) + more) % 10
        const changed = KEY.slice(0, at) + digit + KEY.slice(at + 1)
        return !isKey(changed)
      }),
    )
    for (const key of ['', KEY.slice(1), `${KEY}0`, `A${KEY.slice(1)}`, `${KEY.slice(0, 43)}A`])
      expect(isKey(key), key).to.equal(false)
  })
})

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

/** Surfaces of base.css on which accented text lies. */
const LIGHT = ['#ffffff', '#f5f7f9', '#eef2f6']
const DARK = ['#10151b', '#181f27', '#202934', '#222c37']
const STEPS = ['00', '33', '66', '99', 'cc', 'ff']

describe('colours of a shop', () => {
  it('leave text legible on every surface, whatever the colour [PANEL-610]', () => {
    expect(contrastColors('#000000', '#ffffff')).to.equal(21)
    for (const red of STEPS)
      for (const green of STEPS)
        for (const blue of STEPS) {
          const color = `#${red}${green}${blue}`
          const { brand, onBrand, accent, accentPaper } = brandPalette(color)
          const pairs = [
            [brand, onBrand],
            ...[...LIGHT, accentPaper.light].map((paper) => [accent.light, paper]),
            ...[...DARK, accentPaper.dark].map((paper) => [accent.dark, paper]),
            // Text of main buttons.
            [accent.light, '#ffffff'],
            [accent.dark, '#0c1218'],
          ] as [string, string][]
          for (const [one, other] of pairs)
            expect(contrastColors(one, other), `${color}: ${one} on ${other}`).to.be.at.least(4.5)
        }
  })

  it('are on no page mistaken for the colour of errors [PANEL-1353]', () => {
    for (const red of ['#ff0000', '#a31621', '#ff9d9d', '#c8102e', '#e4002b', '#7a0019', '#d81b60'])
      expect([isAlarming(red), brandPalette(red).brand], red).to.deep.equal([true, red])
    for (const other of ['#0b5fa5', '#1b7f3b', '#ffe000', '#e65100', '#7b1fa2', '#808080', '#000000', '#ffffff'])
      expect(isAlarming(other), other).to.equal(false)
    for (const red of STEPS)
      for (const green of STEPS)
        for (const blue of STEPS) {
          const { accent } = brandPalette(`#${red}${green}${blue}`)
          expect([accent.light, accent.dark].some(isAlarming), `#${red}${green}${blue}`).to.equal(false)
        }
  })

  it('keep a colour that is legible as it is', () => {
    expect(brandPalette('#0b5fa5')).to.deep.include({ brand: '#0b5fa5', onBrand: '#ffffff' })
    expect(brandPalette('#0b5fa5').accent.light).to.equal('#0b5fa5')
    expect(brandPalette('#ffe000').onBrand).to.equal('#000000')
  })
})

describe('state of a CEP', () => {
  it('is told by its first five digits', () => {
    const states = ['01000000', '19999999', '20000000', '69299999', '69300000', '72800000', '73000000', '99999999']
    expect(states.map(stateOfZip)).to.deep.equal(['SP', 'SP', 'RJ', 'AM', 'RR', 'GO', 'DF', 'RS'])
  })

  it('is null for a CEP that no state has', () => {
    expect(stateOfZip('00999999')).to.equal(null)
  })
})

describe('key of a phone', () => {
  it('leaves out country code and long-distance zero, but no area code 55', () => {
    const phones = ['11987654321', '5511987654321', '011987654321', '5533334444', '55999998888', '987654321']
    expect(phones.map(phoneKey)).to.deep.equal([
      '11987654321',
      '11987654321',
      '11987654321',
      '5533334444',
      '55999998888',
      '987654321',
    ])
  })
})

const digits = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: length, maxLength: length })

describe('fiscal codes', () => {
  it('accept a GTIN of each length with a valid check digit [ITEM-12]', () => {
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

  it('take SEM GTIN and what else stands for none as none, and no other text [ITEM-12]', () => {
    for (const none of ['SEM GTIN', 'sem gtin', ' SEM GTIN ', '-', '--', 'n/a', 'NULL', '0', '00000000'])
      expect(Gtin.parse(none), none).to.equal(null)
    for (const other of ['SEM  GTIN', 'SEM', 'nulo']) expect(Gtin.safeParse(other).success).to.equal(false)
  })

  it('refuse a GTIN with a wrong length, a wrong check digit or other characters [ITEM-12]', () => {
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

  it('are stored as digits, also if sent with punctuation [ITEM-12]', () => {
    expect(Ncm.parse('09012100')).to.equal('09012100')
    expect(Ncm.parse('0901.21.00')).to.equal('09012100')
    expect(Cest.parse('1709600')).to.equal('1709600')
    expect(Cest.parse('17.096.00')).to.equal('1709600')
  })

  it('refuse an NCM or CEST with a wrong number of digits [ITEM-12]', () => {
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

const schema = z.strictObject(itemTaxShape)

const wrongFields = (item: object): string[] =>
  (schema.safeParse(item).error?.issues ?? []).map(({ path }) => path.join('.'))

describe('tax fields of an item', () => {
  it('are optional texts, cleared by null', () => {
    expect(schema.parse({})).to.deep.equal({})
    const none = Object.fromEntries(Object.keys(itemTaxShape).map((field) => [field, null]))
    expect(schema.parse(none)).to.deep.equal(none)
    for (const field of Object.keys(itemTaxShape)) expect(wrongFields({ [field]: 1 })).to.deep.equal([field])
  })

  for (const [field, right, wrong] of [
    ['origin', ['0', '8'], ['9', '00', '']],
    ['cfop', ['5102', '6102', '7101', '1102'], ['510', '51021', '4102', '8102', '0102', 'abcd']],
    ['icms_cst', ['00', '60'], ['0', '060', 'x0']],
    ['csosn', ['102', '500', '900'], ['10', '0102', 'abc']],
    ['pis_cst', ['01', '49'], ['1', '001']],
    ['cofins_cst', ['01', '99'], ['1', '001']],
    ['cbenef', ['PR800000', 'SC85012345', 'SEM CBENEF'], ['PR80000', 'PR8000000', 'SEM', 'PR-00000']],
    ['ibs_cbs_cst', ['000', '410'], ['00', '0000']],
    ['ibs_cbs_class', ['000001', '410004'], ['00001', '0000010', 'abcdef']],
  ] as const)
    it(`are checked by their shape: ${field}`, () => {
      for (const code of right) expect(schema.parse({ [field]: code })).to.deep.equal({ [field]: code })
      for (const code of wrong) expect(wrongFields({ [field]: code }), code).to.deep.equal([field])
    })

  it('are stored as in fiscal documents, without the point of a CFOP and in capitals', () => {
    expect(schema.parse({ cfop: '5.102', cbenef: ' pr800000 ' })).to.deep.equal({ cfop: '5102', cbenef: 'PR800000' })
  })

  it('do not contradict each other [ITEM-21]', () => {
    expect(itemTaxProblem({ icms_cst: '00', csosn: '102' })?.field).to.equal('csosn')
    expect(itemTaxProblem({ ibs_cbs_cst: '000', ibs_cbs_class: '410004' })?.field).to.equal('ibs_cbs_class')
    for (const taxes of [
      {},
      { icms_cst: '00', csosn: null },
      { ibs_cbs_cst: '410', ibs_cbs_class: '410004' },
      { ibs_cbs_class: '410004' },
    ])
      expect(itemTaxProblem(taxes)).to.equal(null)
  })

  it('are kept by sales with GTIN, NCM and CEST, without keys for empty ones [SALE-23]', () => {
    expect(pickFiscalCodes({ ncm: '09012100', cest: null, origin: '0', cfop: '' })).to.deep.equal({
      ncm: '09012100',
      origin: '0',
    })
  })
})

const problemsOf = (given: unknown) =>
  MetadataInput.safeParse(given).error?.issues.map(({ path, message }) => [path.join('.'), message])

const keys = (count: number, value: string | null = 'x') =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, value]))

describe('metadata', () => {
  it('has keys of 1 to 40 characters and texts of up to 500, kept as they came', () => {
    for (const given of [{ 'a.B-9_': ' x ' }, { ['k'.repeat(40)]: '🥖'.repeat(500) }, { a: '', b: null }, keys(20)])
      expect(MetadataInput.parse(given)).to.deep.equal(given)
    expect(problemsOf({ ã: 'x' })).to.have.length(1)
    expect(problemsOf({ '': 'x' })).to.have.length(1)
    expect(problemsOf({ ['k'.repeat(41)]: 'x' })).to.have.length(1)
    expect(problemsOf({ a: 'x'.repeat(501) })?.[0]?.[0]).to.equal('a')
    expect(problemsOf({ a: 'x\u0000' })?.[0]?.[0]).to.equal('a')
    expect(problemsOf({ a: 1 })?.[0]?.[0]).to.equal('a')
    expect(problemsOf({ a: { b: 'x' } })?.[0]?.[0]).to.equal('a')
    expect(problemsOf(['x'])).to.deep.equal([['', 'deve ser um objeto de textos']])
    expect(problemsOf(keys(21))).to.deep.equal([['', 'deve ter no máximo 20 chaves']])
  })

  it('merges keys: null and an empty text remove one, null the whole', () => {
    const before = { a: '1', b: '2' }
    expect(mergeMetadata(before, undefined)).to.equal(before)
    expect(mergeMetadata(before, { b: '3', c: '4' })).to.deep.equal({ a: '1', b: '3', c: '4' })
    expect(mergeMetadata(before, { a: null, b: '' })).to.equal(null)
    expect(mergeMetadata(before, {})).to.deep.equal(before)
    expect(mergeMetadata(before, null)).to.equal(null)
    expect(mergeMetadata(null, { a: '' })).to.equal(null)
  })

  it('never has more than 20 keys', () => {
    const full = keys(20) as Record<string, string>
    expect(mergeMetadata(full, { more: 'x' })).to.have.property('refused', 'validation_failed')
    expect(mergeMetadata(full, { more: 'x', k0: null })).to.not.have.property('refused')
  })
})

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
