import { expect } from 'chai'
import { retriesOf } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'

const [a1, b1, a2] = [1, 2, 1].map((companyId, number) => ({ companyId, number }))
const group = [a1, b1, a2] as { companyId: number; number: number }[]
const ofCompany1 = [a1, a2] as typeof group
const alone = [a1] as typeof group

const database = (code: string): Error => Object.assign(new Error('from the database'), { code })

describe('retry after a failure before the append', () => {
  it('decides each request separately after an error that only one of them may have caused', () => {
    for (const error of [new TypeError('a bug'), database('23514'), database('23505'), 'thrown text', null]) {
      expect(retriesOf(group, error, true)).to.deep.equal([[a1], [b1], [a2]])
    }
  })

  it('decides each company separately after a lock time-out', () => {
    for (const code of ['55P03', '57014']) {
      expect(retriesOf(group, database(code), true)).to.deep.equal([[a1, a2], [b1]])
      // Waiting again for the same lock would block others too.
      expect(retriesOf(ofCompany1, database(code), true)).to.deep.equal([])
    }
  })

  it('decides a group again after a lost connection or deadlock, a limited number of times', () => {
    const lost = [new Error('Connection terminated unexpectedly'), database('ECONNRESET'), database('57P01')]
    for (const error of [...lost, database('40P01')]) {
      expect(retriesOf(group, error, true)).to.deep.equal([group])
      expect(retriesOf(alone, error, true)).to.deep.equal([alone])
      expect(retriesOf(group, error, false)).to.deep.equal([])
    }
  })

  it('decides a single request again if its name was taken meanwhile, a limited number of times', () => {
    expect(retriesOf(alone, database('23505'), true)).to.deep.equal([alone])
    expect(retriesOf(alone, database('23505'), false)).to.deep.equal([])
  })

  it('does not retry without a connection or disk space, or if the request itself is at fault', () => {
    for (const error of [new Unavailable('no connection'), database('53100')]) {
      expect(retriesOf(group, error, true)).to.deep.equal([])
    }
    expect(retriesOf(alone, new TypeError('a bug'), true)).to.deep.equal([])
  })
})
