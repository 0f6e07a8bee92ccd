import { expect } from 'chai'
import { phoneKey, stateOfZip } from '#domain/person-values.ts'

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
