import { expect } from 'chai'
import fc from 'fast-check'
import { AccessKey, modelOf } from '#domain/access-key.ts'

/** Example from the manual of the tax authorities. */
const KEY = '52060433009911002506550120000007800267301615'
const WITH_LETTERS = '35261112ABC34501DE35650010000012341000012349'

const isKey = (key: string) => AccessKey.safeParse(key).success

describe('access key of a fiscal document', () => {
  it('has 44 characters with a valid check digit; the CNPJ may contain letters [FISCAL-2]', () => {
    for (const key of [KEY, WITH_LETTERS, '35261111222333000181650010000012341000012348'])
      expect(AccessKey.parse(key)).to.equal(key)
    expect(AccessKey.parse(` ${WITH_LETTERS.toLowerCase().replace(/(.{4})/g, '$1 ')}`)).to.equal(WITH_LETTERS)
    expect(modelOf(KEY)).to.equal('55')
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
