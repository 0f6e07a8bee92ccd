import { expect } from 'chai'
import { type ApiAuthenticator, type AuthenticatedCall, createApiAuthenticator } from '#access/api-authenticator.ts'
import { addDays, dateInZone, startOfDay } from '#domain/instant.ts'
import { LIMITS, useGatekeeping } from './gatekeeping.ts'
import { type KeyedCompany, keyedCompany } from './keyed-company.ts'

/** Time zone in which midnight is less than an hour away. */
function zoneOfElevenAtNight(now: Date): string {
  const east = 23 - now.getUTCHours()
  // The sign of Etc zones is inverted: Etc/GMT-3 is east of UTC.
  return east > 14 ? `Etc/GMT+${24 - east}` : `Etc/GMT-${east}`
}

describe('quota: windows', () => {
  const keeping = useGatekeeping()
  const { windowsOf, now, shift } = keeping

  it('start a minute with its first request, and later requests do not extend it [RATE-4]', async () => {
    const company = await keyedCompany(keeping.core)
    const gate = createApiAuthenticator(keeping.pools[0], LIMITS)
    const before = await now()
    const first = (await gate.admit(company.hash)) as AuthenticatedCall
    const { minute_ends_at } = await windowsOf(company)
    const length_ms = Date.parse(minute_ends_at) - Date.parse(before)
    expect(length_ms).to.be.within(60_000, 65_000)
    expect(first.rate).to.include({ limit: 120, remaining: 119, retryAfter: 60 })
    expect(first.rate.reset).to.equal(Math.ceil(Date.parse(minute_ends_at) / 1000))
    await shift(company, 'minute_ends_at', '10 seconds')
    const second = (await gate.admit(company.hash)) as AuthenticatedCall
    expect(second.rate).to.include({ remaining: 118 })
    expect(second.rate.retryAfter).to.be.within(48, 50)
  })

  it('restart after the minute is over', async () => {
    const company = await keyedCompany(keeping.core)
    const gate = createApiAuthenticator(keeping.pools[0], { ...LIMITS, perMinute: 1 })
    const kinds = async () => (await Promise.all([1, 2].map(() => gate.admit(company.hash)))).map(({ kind }) => kind)
    expect(await kinds()).to.deep.equal(['admitted', 'limited'])
    await shift(company, 'minute_ends_at', '61 seconds')
    expect(await kinds()).to.deep.equal(['admitted', 'limited'])
    expect(await windowsOf(company)).to.include({ minute_count: 1, day_count: 2 })
  })

  it('admit requests of one tick in order of arrival, up to the rest of both windows', async () => {
    const company = await keyedCompany(keeping.core)
    const other = (await company.newKey()).hash
    const gate = createApiAuthenticator(keeping.pools[0], { ...LIMITS, perMinute: 3 })
    const hashes = [other, company.hash, other, other, company.hash]
    const answers = (await Promise.all(hashes.map((hash) => gate.admit(hash)))) as AuthenticatedCall[]
    const kinds = answers.map((answer) => answer.kind)
    expect(kinds).to.deep.equal(['admitted', 'admitted', 'admitted', 'limited', 'limited'])
    expect(answers.map((answer) => answer.rate.remaining)).to.deep.equal([2, 1, 0, 0, 0])
  })

  it('do not count refused requests [RATE-3]', async () => {
    const company = await keyedCompany(keeping.core)
    const gate = createApiAuthenticator(keeping.pools[0], { ...LIMITS, perMinute: 2 })
    for (let n = 0; n < 5; n++) await gate.admit(company.hash)
    expect(await windowsOf(company)).to.include({ minute_count: 2, day_count: 2 })
  })

  it('leave the minute unchanged if the day is exhausted', async () => {
    const company = await keyedCompany(keeping.core)
    const gate = createApiAuthenticator(keeping.pools[0], { perMinute: 10, perDay: 3, bytesPerDay: 1_000_000 })
    await Promise.all([1, 2, 3, 4, 5].map(() => gate.admit(company.hash)))
    const before = await windowsOf(company)
    expect(before).to.include({ minute_count: 3, day_count: 3 })
    await shift(company, 'minute_ends_at', '61 seconds')
    const answer = (await gate.admit(company.hash)) as AuthenticatedCall
    expect(answer.kind).to.equal('limited')
    expect(answer.rate).to.include({ limit: 3, remaining: 0, reset: Date.parse(before.day_ends_at) / 1000 })
    // No new minute window has started.
    expect((await windowsOf(company)).minute_ends_at < (await now())).to.equal(true)
    await shift(company, 'day_ends_at', '1 day')
    expect((await gate.admit(company.hash)) as AuthenticatedCall).to.include({ kind: 'admitted' })
    expect(await windowsOf(company)).to.include({ minute_count: 1, day_count: 1 })
  })

  it('report the window closest to exhaustion [RATE-2]', async () => {
    const company = await keyedCompany(keeping.core)
    const rate = async (perMinute: number, perDay: number) =>
      (
        (await createApiAuthenticator(keeping.pools[0], { ...LIMITS, perMinute, perDay }).admit(
          company.hash,
        )) as AuthenticatedCall
      ).rate
    expect(await rate(10, 1000)).to.include({ limit: 10, remaining: 9 })
    expect(await rate(10, 11)).to.include({ limit: 10, remaining: 8 })
    expect(await rate(10, 9)).to.include({ limit: 9, remaining: 6 })
  })

  it('set Retry-After to the later end if both windows are exhausted', async () => {
    const company = await keyedCompany(keeping.core)
    const gate = createApiAuthenticator(keeping.pools[0], { perMinute: 1, perDay: 1, bytesPerDay: 1_000_000 })
    await gate.admit(company.hash)
    await keeping.core.pool.query(
      `update ops.quotas set day_ends_at = now() + interval '20 s', minute_ends_at = now() + interval '50 s' where company_id = $1`,
      [company.id],
    )
    const { rate } = (await gate.admit(company.hash)) as AuthenticatedCall
    expect(rate.retryAfter).to.be.within(48, 50)
  })

  for (const timezone of ['America/Sao_Paulo', 'Pacific/Kiritimati', 'Asia/Kolkata', 'America/Noronha']) {
    it(`count the day by the calendar of ${timezone} [RATE-4]`, async () => {
      const company = await keyedCompany(keeping.core, { timezone })
      await createApiAuthenticator(keeping.pools[0], LIMITS).admit(company.hash)
      const tomorrow = addDays(dateInZone(await now(), timezone), 1)
      expect((await windowsOf(company)).day_ends_at).to.equal(startOfDay(tomorrow, timezone))
    })
  }

  for (const [what, count] of [
    ['calls', (gate: ApiAuthenticator, { hash }: KeyedCompany) => gate.admit(hash, 4)],
    ['bytes of bodies', (gate: ApiAuthenticator, { id }: KeyedCompany) => gate.charge(id, 4)],
  ] as const) {
    it(`start no new day of ${what} if a company changes its time zone [RATE-4]`, async () => {
      const company = await keyedCompany(keeping.core)
      const gate = createApiAuthenticator(keeping.pools[0], LIMITS)
      await count(gate, company)
      const ended = new Date(Date.parse(await now()) - 60_000)
      await keeping.core.pool.query(
        `with ended as (update ops.quotas set day_ends_at = $2 where company_id = $1)
         update companies set timezone = $3 where company_id = $1`,
        [company.id, ended, zoneOfElevenAtNight(new Date(await now()))],
      )
      await count(gate, company)
      const { day_ends_at } = await windowsOf(company)
      expect((Date.parse(day_ends_at) - ended.getTime()) / 3_600_000).to.be.within(20, 45)
    })
  }

  it('count the UTC day for a zone unknown to Postgres, without failing others', async () => {
    const [company, other] = [
      await keyedCompany(keeping.core, { timezone: 'Mars/Olympus' }),
      await keyedCompany(keeping.core),
    ]
    const gate = createApiAuthenticator(keeping.pools[0], LIMITS)
    const answers = await Promise.all([gate.admit(company.hash), gate.admit(other.hash)])
    expect(answers.map(({ kind }) => kind)).to.deep.equal(['admitted', 'admitted'])
    expect((await windowsOf(company)).day_ends_at).to.equal(`${addDays((await now()).slice(0, 10), 1)}T00:00:00.000Z`)
  })
})
