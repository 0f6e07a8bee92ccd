import { expect } from 'chai'
import { type ApiAuthenticator, type AuthenticatedCall, createApiAuthenticator } from '#access/api-authenticator.ts'
import { LIMITS, useGatekeeping } from './gatekeeping.ts'
import { type KeyedCompany, keyedCompany } from './keyed-company.ts'

describe('quota: bytes', () => {
  const keeping = useGatekeeping()
  const { shift } = keeping
  let company: KeyedCompany
  beforeEach(async () => {
    company = await keyedCompany(keeping.core)
  })

  const bytesOf = async () => {
    const { rows } = await keeping.core.pool.query('select day_bytes from ops.quotas where company_id = $1', [
      company.id,
    ])
    return rows[0]?.day_bytes
  }
  const gateOf = (bytesPerDay: number, pool = keeping.pools[0]): ApiAuthenticator =>
    createApiAuthenticator(pool, { ...LIMITS, bytesPerDay })
  const admit = async (gate: ApiAuthenticator, bytes: number) =>
    (await gate.admit(company.hash, bytes)) as AuthenticatedCall

  it('are counted exactly across two processes, announced and read, for keys and tills [RATE-6]', async () => {
    const gates = keeping.pools.map((pool) => gateOf(10_000, pool))
    const calls = Array.from({ length: 60 }, async (_, n) => {
      const gate = gates[n % 2] as ApiAuthenticator
      if (n % 3 > 0) return (await admit(gate, 300)).kind === 'admitted'
      return (await gate.charge(company.id, 300)).isCounted
    })
    const counted = (await Promise.all(calls)).filter((isCounted) => isCounted)
    expect(counted).to.have.length(33)
    expect(await bytesOf()).to.equal(9_900)
  })

  it('admit each body that fits, in order of arrival, and requests without a body at any rest [RATE-7]', async () => {
    const gate = gateOf(1_000)
    const sizes = [600, 500, 0, 300, 101, 100, 0]
    const answers = await Promise.all(sizes.map((bytes) => admit(gate, bytes)))
    expect(answers.map(({ kind }) => kind === 'admitted')).to.deep.equal([true, false, true, true, false, true, true])
    expect(new Set(answers.map(({ kind }) => kind))).to.deep.equal(new Set(['admitted', 'too_many_bytes']))
    expect(answers.map(({ bytes }) => bytes.remaining)).to.deep.equal([400, 400, 400, 100, 100, 0, 0])
    expect(answers.map(({ rate }) => rate.remaining)).to.deep.equal([119, 119, 118, 117, 117, 116, 115])
    expect(answers[0]?.bytes.limit).to.equal(1_000)
    expect(await bytesOf()).to.equal(1_000)
  })

  it('beyond the quota count neither as bytes nor as a request; excess requests count no bytes [RATE-7]', async () => {
    const gate = createApiAuthenticator(keeping.pools[0], { perMinute: 2, perDay: 10, bytesPerDay: 100 })
    expect(await admit(gate, 101)).to.include({ kind: 'too_many_bytes' })
    expect((await admit(gate, 50)).rate.remaining).to.equal(1)
    expect((await admit(gate, 51)).kind).to.equal('too_many_bytes')
    expect((await admit(gate, 0)).kind).to.equal('admitted')
    expect((await admit(gate, 10)).kind).to.equal('limited')
    expect(await bytesOf()).to.equal(50)
  })

  it('restart with the day of the company, for every client [RATE-6]', async () => {
    const gate = gateOf(100)
    for (const count of [
      async () => (await admit(gate, 100)).bytes,
      async () => (await gate.charge(company.id, 100)).bytes,
    ]) {
      const { remaining, retryAfter } = await count()
      expect(remaining).to.equal(0)
      expect(retryAfter).to.be.within(1, 90_000)
      expect(await admit(gate, 1)).to.include({ kind: 'too_many_bytes' })
      expect(await gate.charge(company.id, 1)).to.include({ isCounted: false })
      await shift(company, 'day_ends_at', '2 days')
    }
    expect((await gate.charge(company.id, 40)).bytes.remaining).to.equal(60)
    // No count of the previous day remains.
    const { rows } = await keeping.core.pool.query('select day_count from ops.quotas where company_id = $1', [
      company.id,
    ])
    expect(rows).to.deep.equal([{ day_count: 0 }])
  })

  it('of a company without earlier requests are counted from its first till on', async () => {
    const gate = gateOf(100)
    expect(await gate.charge(company.id, 101)).to.deep.include({ isCounted: false })
    expect((await gate.charge(company.id, 99)).bytes.remaining).to.equal(1)
    expect((await admit(gate, 0)).rate.remaining).to.equal(119)
  })
})
