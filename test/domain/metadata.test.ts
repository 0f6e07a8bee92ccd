import { expect } from 'chai'
import { MetadataInput, mergedMetadata } from '#domain/record-values.ts'

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
    expect(mergedMetadata(before, undefined)).to.equal(before)
    expect(mergedMetadata(before, { b: '3', c: '4' })).to.deep.equal({ a: '1', b: '3', c: '4' })
    expect(mergedMetadata(before, { a: null, b: '' })).to.equal(null)
    expect(mergedMetadata(before, {})).to.deep.equal(before)
    expect(mergedMetadata(before, null)).to.equal(null)
    expect(mergedMetadata(null, { a: '' })).to.equal(null)
  })

  it('never has more than 20 keys', () => {
    const full = keys(20) as Record<string, string>
    expect(mergedMetadata(full, { more: 'x' })).to.have.property('refused', 'validation_failed')
    expect(mergedMetadata(full, { more: 'x', k0: null })).to.not.have.property('refused')
  })
})
