import { expect } from 'chai'
import { ReservationFailed, StaleDecision } from '#ledger/write/name-reservation.ts'
import { retriesOf } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'

const [a1, b1, a2] = [1, 2, 1].map((companyId, number) => ({ companyId, number }))
const group = [a1, b1, a2] as { companyId: number; number: number }[]
const ofCompany1 = [a1, a2] as typeof group
const alone = [a1] as typeof group

const database = (code: string): Error => Object.assign(new Error('from the database'), { code })

describe('what is decided again after a failure before the append', () => {
  it('is each request by itself after an error that only one of them may have caused', () => {
    for (const error of [new TypeError('a bug'), database('23514'), database('23505'), 'thrown text', null]) {
      expect(retriesOf(group, error, true)).to.deep.equal([[a1], [b1], [a2]])
    }
  })

  it('is each company by itself after a lock that was waited for too long', () => {
    for (const code of ['55P03', '57014']) {
      expect(retriesOf(group, database(code), true)).to.deep.equal([[a1, a2], [b1]])
      // Waiting again for the same lock would only keep others waiting too.
      expect(retriesOf(ofCompany1, database(code), true)).to.deep.equal([])
    }
  })

  it('is the whole group after a lost connection, a restart or a deadlock, a few times', () => {
    const lost = [new Error('Connection terminated unexpectedly'), database('ECONNRESET'), database('57P01')]
    for (const error of [...lost, database('40P01')]) {
      expect(retriesOf(group, error, true)).to.deep.equal([group])
      expect(retriesOf(alone, error, true)).to.deep.equal([alone])
      expect(retriesOf(group, error, false)).to.deep.equal([])
    }
  })

  it('is a single request whose name was taken meanwhile, a few times', () => {
    expect(retriesOf(alone, database('23505'), true)).to.deep.equal([alone])
    expect(retriesOf(alone, database('23505'), false)).to.deep.equal([])
  })

  it('is the whole group when what it was decided on has changed, and each by itself when names are not to be had [HOME-24]', () => {
    expect(retriesOf(group, new StaleDecision('another password is in force'), true)).to.deep.equal([group])
    expect(retriesOf(group, new StaleDecision('another password is in force'), false)).to.deep.equal([])
    expect(retriesOf(group, new ReservationFailed('no directory'), true)).to.deep.equal([[a1], [b1], [a2]])
    expect(retriesOf(alone, new ReservationFailed('no directory'), true)).to.deep.equal([])
  })

  it('is nothing when there is no connection, no space, or the request itself is at fault', () => {
    for (const error of [new Unavailable('no connection'), database('53100')]) {
      expect(retriesOf(group, error, true)).to.deep.equal([])
    }
    expect(retriesOf(alone, new TypeError('a bug'), true)).to.deep.equal([])
  })
})
