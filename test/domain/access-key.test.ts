import { expect } from 'chai'
import fc from 'fast-check'
import { AccessKey, readAccessKey, withoutZeros } from '#domain/fiscal-values.ts'
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
