import { expect } from 'chai'
import type { Pool, QueryConfig } from 'pg'
import { type ApiAuthenticator, type AuthenticatedCall, createApiAuthenticator } from '#access/api-authenticator.ts'
import { createPanelGate, type PanelLimits } from '#access/open-sessions.ts'
import { createSessions, type Sessions } from '#access/sessions.ts'
import { addDays, dateInZone, startOfDay } from '#domain/instant.ts'
import { Unavailable } from '#lib/errors.ts'
import { createPool } from '#postgres/pool.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { purgeTables } from '../support/purge.ts'
import { createTestUser, type TestUser } from '../support/till.ts'
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

  it('report the window closest to exhaustion [RATE-3]', async () => {
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

describe('quota of the panel', () => {
  const LIMITS: PanelLimits = { ofSession: 5, ofUser: 8, ofCompany: 12 }

  const database = useDatabase()
  let api: TestApi
  let pool: Pool
  let other: Pool
  let company: TestCompany

  before(async () => {
    api = await startApi(database.url)
    pool = api.core.pool
    other = createPool(database.url, { max: 1 })
  })
  beforeEach(async () => {
    company = await api.company()
  })
  after(() => Promise.all([api.close(), other.end()]))

  const sessionsOn = (on: Pool, limits: Partial<PanelLimits> = {}): Sessions =>
    createSessions(on, (error) => Promise.reject(error), { ...LIMITS, ...limits })
  const sessionOf = async ({ id, companyId }: TestUser): Promise<string> =>
    (await sessionsOn(pool).issue({ userId: id, companyId, generation: 0, personGeneration: 0 })).token
  const user = () => createTestUser(company)
  /** Retry-After in seconds for each refused call, null for each admitted one. */
  const ask = (sessions: Sessions, token: string, times: number) =>
    Promise.all(
      Array.from({ length: times }, async () => {
        const admitted = await sessions.admit(token)
        if (!admitted) throw new Error('there is no such session')
        return admitted.retryAfter
      }),
    )
  const letThrough = (waits: readonly (number | null)[]) => waits.filter((wait) => wait === null).length
  const counts = async () =>
    (
      await pool.query<{ requests: number }>(
        'select requests from ops.panel_request_counts where company_id = $1 order by user_id, session',
        [company.id],
      )
    ).rows.map(({ requests }) => requests)
  const shift = (interval: string) =>
    pool.query(
      'update ops.panel_request_counts set minute_ends_at = minute_ends_at - $2::interval where company_id = $1',
      [company.id, interval],
    )

  it('limits the requests of a session per minute, from its first request on [PANEL-302]', async () => {
    const token = await sessionOf(await user())
    const sessions = sessionsOn(pool)
    expect(await ask(sessions, token, 2)).to.deep.equal([null, null])
    const waits = await ask(sessions, token, 5)
    expect(waits.slice(0, 3)).to.deep.equal([null, null, null])
    for (const wait of waits.slice(3)) expect(wait).to.be.within(50, 60)
    await shift('10 seconds')
    expect((await ask(sessions, token, 1))[0]).to.be.within(40, 50)
    await shift('50 seconds')
    expect(letThrough(await ask(sessions, token, 6))).to.equal(5)
  })

  it('counts all sessions of a user together, and no other user [PANEL-302]', async () => {
    const one = await user()
    const tokens = [await sessionOf(one), await sessionOf(one), await sessionOf(await user())] as const
    const sessions = sessionsOn(pool)
    expect(letThrough(await ask(sessions, tokens[0], 5))).to.equal(5)
    expect(letThrough(await ask(sessions, tokens[1], 5))).to.equal(3)
    expect(letThrough(await ask(sessions, tokens[2], 4))).to.equal(4)
    expect((await sessions.admit(tokens[1]))?.retryAfter).to.be.within(50, 60)
  })

  it('counts all users of a company together, and no other company [PANEL-302]', async () => {
    const sessions = sessionsOn(pool)
    const tokens = [await sessionOf(await user()), await sessionOf(await user()), await sessionOf(await user())]
    const passed = []
    for (const token of tokens) passed.push(letThrough(await ask(sessions, token, 5)))
    expect(passed).to.deep.equal([5, 5, 2])
    const elsewhere = await api.company()
    expect(await ask(sessions, await sessionOf(await createTestUser(elsewhere)), 2)).to.deep.equal([null, null])
  })

  it('does not count refused requests: excess requests use up no quota of others [PANEL-302]', async () => {
    const tokens = [await sessionOf(await user()), await sessionOf(await user())] as const
    const sessions = sessionsOn(pool)
    expect(letThrough(await ask(sessions, tokens[0], 50))).to.equal(5)
    expect(letThrough(await ask(sessions, tokens[0], 50))).to.equal(0)
    expect(await counts()).to.deep.equal([5, 5, 5])
    expect(letThrough(await ask(sessions, tokens[1], 5))).to.equal(5)
  })

  it('counts exactly across two processes [PANEL-302]', async () => {
    const owner = await user()
    const tokens = [await sessionOf(owner), await sessionOf(owner), await sessionOf(await user())]
    const limits = { ofSession: 40, ofUser: 60, ofCompany: 90 }
    const processes = [pool, other].map((each) => sessionsOn(each, limits))
    const passed = await Promise.all(
      tokens.map(async (token) => {
        const answers = await Promise.all(
          Array.from({ length: 100 }, async (_, n) => {
            // One statement per call.
            const [admitted] = await ask(processes[n % 2] as Sessions, token, 1)
            return admitted as number | null
          }),
        )
        return letThrough(answers)
      }),
    )
    expect(passed.reduce((sum, one) => sum + one, 0)).to.equal(90)
    expect((passed[0] ?? 0) + (passed[1] ?? 0)).to.be.at.most(60)
    for (const one of passed) expect(one).to.be.at.most(40)
    expect((await counts())[0]).to.equal(90)
  })

  it('avoids deadlocks if two processes count companies in opposite order', async () => {
    const companies = [company, await api.company()]
    const tokens = await Promise.all(companies.map(async (each) => sessionOf(await createTestUser(each))))
    const limits = { ofSession: 1_000, ofUser: 1_000, ofCompany: 1_000 }
    const processes = [pool, other].map((each) => sessionsOn(each, limits))
    for (let round = 0; round < 20; round++)
      await Promise.all(
        processes.flatMap((sessions, n) =>
          (n === 0 ? tokens : tokens.toReversed()).map((token) => ask(sessions, token, 3)),
        ),
      )
    expect((await counts())[0]).to.equal(120)
  })

  it('sends one statement for a request, and one for all that wait meanwhile', async () => {
    const token = await sessionOf(await user())
    const asked: (string | undefined)[] = []
    const query = (statement: QueryConfig) => {
      asked.push(statement.name)
      return pool.query(statement)
    }
    const sessions = sessionsOn({ query } as unknown as Pool, { ofSession: 100, ofUser: 100, ofCompany: 100 })
    await sessions.admit(token)
    expect(asked).to.deep.equal(['admit_to_panel'])
    await ask(sessions, token, 50)
    expect(asked).to.have.length(2)
  })

  it('returns the same session as a look-up without counting', async () => {
    const token = await sessionOf(await user())
    const sessions = sessionsOn(pool)
    const [found, admitted] = [await sessions.find(token), (await sessions.admit(token))?.session]
    const withoutTime = { now: '', companysTime: '', today: '' }
    expect({ ...admitted, ...withoutTime }).to.deep.equal({ ...found, ...withoutTime })
  })

  it('finds no ended or unknown session, and counts nothing for it [PANEL-4]', async () => {
    const token = await sessionOf(await user())
    const sessions = sessionsOn(pool)
    const found = await sessions.find(token)
    if (!found) throw new Error('there is no such session')
    await sessions.revoke(found)
    expect(await sessions.admit(token)).to.equal(null)
    expect(await sessions.admit('')).to.equal(null)
    expect(await sessions.admit(`${token.slice(0, -2)}xx`)).to.equal(null)
    expect(await counts()).to.deep.equal([])
  })

  it('refuses new requests while too many wait, and answers the waiting ones', async () => {
    const gate = createPanelGate(pool, LIMITS, 2)
    const waiting = [gate.admit(Buffer.alloc(32)), gate.admit(Buffer.alloc(32, 1))]
    const refused = await gate.admit(Buffer.alloc(32)).catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(Unavailable)
    expect(await Promise.all(waiting)).to.deep.equal([null, null])
  })

  it('deletes counts of past minutes [OPS-22]', async () => {
    const sessions = sessionsOn(pool)
    await ask(sessions, await sessionOf(await user()), 1)
    await purgeTables(pool, 'panel_request_counts')
    expect(await counts()).to.have.length(3)
    await shift('2 hours')
    expect(await purgeTables(pool, 'panel_request_counts')).to.equal(3)
    expect(await counts()).to.deep.equal([])
  })
})
