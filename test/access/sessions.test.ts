import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { Pool, QueryConfig } from 'pg'
import { createLogin } from '#access/login.ts'
import {
  countAttempt,
  type LoginAttempt,
  listLoginCounters,
  refundAttempt,
  rememberOrigin,
} from '#access/login-limits.ts'
import {
  createSessions,
  csrfMatches,
  LIVE_SESSIONS_OF_USER,
  type PanelSession,
  type Sessions,
} from '#access/sessions.ts'
import { createTokens } from '#access/till-access.ts'
import { updateCompany } from '#commands/company-commands.ts'
import { changePassword, createUser } from '#commands/user-commands.ts'
import { addDays, dateInZone } from '#domain/instant.ts'
import { ROLE_PRESETS } from '#domain/rights.ts'
import { createPool } from '#postgres/pool.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { untilBlocked } from '../support/lock-waits.ts'
import { cheapHash } from '../support/passwords.ts'
import { purgeTables } from '../support/purge.ts'
import { createTestUser, type TestUser } from '../support/till.ts'
import { OWN_DATABASE, useApi } from '../support/use-api.ts'
import { until } from '../support/wait.ts'

describe('sessions of the panel', () => {
  const database = useDatabase()
  let api: TestApi
  let pool: Pool
  let company: TestCompany
  let user: TestUser
  let sessions: Sessions
  const errors: unknown[] = []

  before(async () => {
    api = await startApi(database.url)
    pool = api.core.pool
    company = await api.company({ plan: 'basic', timezone: 'Pacific/Auckland' })
    sessions = createSessions(pool, (error) => errors.push(error))
  })
  beforeEach(async () => {
    user = await createTestUser(company, 'owner')
  })
  afterEach(() => expect(errors.splice(0)).to.deep.equal([]))
  after(() => api.close())

  const issue = async (of = user): Promise<string> =>
    (await sessions.issue({ userId: of.id, companyId: company.id, generation: 0, personGeneration: 0 })).token
  const found = async (token: string): Promise<PanelSession> => {
    const session = await sessions.find(token)
    if (!session) throw new Error('there is no such session')
    return session
  }
  const row = async () => (await pool.query('select * from ops.sessions where user_id = $1', [user.id])).rows[0]
  const age = (column: string, interval: string) =>
    pool.query(`update ops.sessions set ${column} = clock_timestamp() - $2::interval where user_id = $1`, [
      user.id,
      interval,
    ])

  it('are listed by browser while they are active, and can be ended one by one or all but one [PANEL-203]', async () => {
    const of = { companyId: company.id, userId: user.id }
    const holder = { ...of, generation: 0, personGeneration: 0 }
    const tokens = [await issue(), (await sessions.issue(holder, 'Firefox '.repeat(40))).token, await issue()] as const
    const other = await createTestUser(company, 'clerk')
    const others = await issue(other)
    const listed = await sessions.list(of)
    expect(listed.map(({ user_agent }) => user_agent?.length ?? null)).to.have.members([null, null, 200])
    expect(JSON.stringify(listed)).not.to.include(tokens[0])
    const firefox = listed.find(({ user_agent }) => user_agent !== null)
    if (!firefox) throw new Error('the browser was not kept')

    expect(await sessions.end({ ...of, userId: other.id }, { id: firefox.id })).to.deep.equal([])
    expect(await sessions.end({ ...of, companyId: company.id + 1 }, { allBut: null })).to.deep.equal([])
    expect(await sessions.end(of, { id: 'not one' })).to.deep.equal([])
    expect(await sessions.end(of, { id: firefox.id })).to.have.length(1)
    expect(await Promise.all(tokens.map((token) => sessions.isLive(token)))).to.deep.equal([true, false, true])
    const { sessionHash } = await found(tokens[2])
    expect(await sessions.end(of, { allBut: sessionHash })).to.have.length(1)
    expect(await Promise.all([...tokens, others].map((token) => sessions.isLive(token)))).to.deep.equal([
      ...[false, false, true],
      true,
    ])
    const kept = 'select from ops.sessions where user_id = $1 and user_agent is not null'
    expect((await pool.query(kept, [user.id])).rowCount).to.equal(0)
  })

  it('identify the user and the day of the company', async () => {
    const session = await found(await issue())
    const { now, companysTime, today, sessionHash, csrfToken, expiresAt, permissions, ...who } = session
    expect(expiresAt).to.equal((await row()).expires_at)
    expect(companysTime).to.equal(now)
    expect(who).to.deep.equal({
      isTest: false,
      userId: user.id,
      userName: user.name,
      email: user.email,
      generation: 0,
      personGeneration: 0,
      userAgent: null,
      role: 'owner',
      seesPersonalData: true,
      companyId: company.id,
      companyName: `Loja ${company.id}`,
      logoUrl: null,
      brandColor: null,
      plan: 'basic',
      timezone: 'Pacific/Auckland',
    })
    expect(permissions).to.deep.equal(ROLE_PRESETS.owner)
    expect(now).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(today).to.equal(dateInZone(now, 'Pacific/Auckland'))
    expect(sessionHash).to.have.length(32)
    expect(csrfToken).to.match(/^[\w-]{43}$/)
  })

  it('reflect changes of the company', async () => {
    const token = await issue()
    await company.run(updateCompany, { name: 'Outro nome', plan: 'api' })
    expect(await found(token)).to.include({ companyName: 'Outro nome', plan: 'api' })
    await company.run(updateCompany, { name: `Loja ${company.id}`, plan: 'basic' })
  })

  it('of an auditor are valid through the last day of the company’s calendar, and no longer [PANEL-82]', async () => {
    const today = dateInZone(new Date().toISOString(), 'Pacific/Auckland')
    const auditor = await company.run(createUser, {
      name: 'Ivo',
      email: `ivo${company.id}@auditoria.example`,
      role: 'auditor',
      access_until: today,
      password_hash: await cheapHash('uma senha de teste'),
    })
    const token = await issue(auditor)
    expect(await found(token)).to.include({ role: 'auditor', seesPersonalData: false })
    const memberships = async () => (await createLogin(pool).membershipsOf(`ivo${company.id}@auditoria.example`)).length
    expect(await memberships()).to.equal(1)
    await pool.query(
      `update users set doc = (doc::jsonb || jsonb_build_object('access_until', $2::text))::json where company_id = $1 and id = $3`,
      [company.id, addDays(today, -1), auditor.id],
    )
    expect([await sessions.find(token), await sessions.isLive(token), await memberships()]).to.deep.equal([
      null,
      false,
      0,
    ])
  })

  it('are stored as hashes only', async () => {
    const token = await issue()
    const text = JSON.stringify((await pool.query('select s::text as s from ops.sessions s')).rows)
    for (const secret of [token, token.slice('tb_panel_'.length), (await found(token)).csrfToken]) {
      expect(text).not.to.include(secret).and.not.include(Buffer.from(secret).toString('hex'))
    }
  })

  it('are not found by a token of another kind', async () => {
    const till = await createTokens(pool, { days: null, secret: Buffer.alloc(32) }).issue({
      userId: user.id,
      companyId: company.id,
      generation: 0,
      personGeneration: 0,
    })
    const token = await issue()
    for (const other of ['', 'x', token.slice(0, -1), `${token} `, token.toUpperCase(), till.token]) {
      expect(await sessions.find(other), other).to.equal(null)
    }
    expect(await createTokens(pool, { days: null, secret: Buffer.alloc(32) }).find(token)).to.equal(null)
  })

  it('end after 12 hours without use [PANEL-4]', async () => {
    const token = await issue()
    await age('last_seen_at', '11:59:00')
    expect(await sessions.find(token)).not.to.equal(null)
    await until(async () => (await row()).last_seen_at > (await row()).created_at, { what: 'the recorded use' })
    await age('last_seen_at', '12:00:01')
    expect(await sessions.find(token)).to.equal(null)
  })

  it('end after 7 days, however much they are used [PANEL-4]', async () => {
    const { token, expiresAt } = await sessions.issue({
      userId: user.id,
      companyId: company.id,
      generation: 0,
      personGeneration: 0,
    })
    const { created_at, expires_at } = await row()
    expect(expires_at).to.equal(expiresAt)
    expect(Date.parse(expires_at) - Date.parse(created_at)).to.equal(7 * 86_400_000)
    await age('expires_at', '1 s')
    expect(await sessions.find(token)).to.equal(null)
  })

  it('record a use once a minute, and once for concurrent requests', async () => {
    const token = await issue()
    const { last_seen_at: issued } = await row()
    await sessions.find(token)
    await age('last_seen_at', '50 s')
    const { last_seen_at: recent } = await row()
    await sessions.find(token)
    expect((await row()).last_seen_at).to.equal(recent)
    await age('last_seen_at', '61 s')
    await Promise.all(Array.from({ length: 20 }, () => found(token)))
    await until(async () => (await row()).last_seen_at >= issued, { what: 'the recorded use' })
  })

  it('are not extended by a status check', async () => {
    const token = await issue()
    await age('last_seen_at', '5 min')
    const asked: (string | undefined)[] = []
    const query = (statement: QueryConfig) => {
      asked.push(statement.name)
      return pool.query(statement)
    }
    const asking = createSessions({ query } as unknown as Pool, () => {})
    expect(await asking.isLive(token)).to.equal(true)
    expect(asked).to.deep.equal(['find_session'])
    await age('last_seen_at', '12:00:01')
    expect(await asking.isLive(token)).to.equal(false)
    expect(await asking.isLive('')).to.equal(false)
  })

  it('are found even if recording their use fails, which is logged', async () => {
    const token = await issue()
    await age('last_seen_at', '5 min')
    const told: unknown[] = []
    const query = (statement: QueryConfig) =>
      statement.name === 'note_session' ? Promise.reject(new Error('disk full')) : pool.query(statement)
    const hampered = createSessions({ query } as unknown as Pool, (error) => told.push(error))
    expect(await hampered.find(token)).not.to.equal(null)
    await until(() => told.length === 1, { what: 'the logged failure' })
  })

  it('end when they are revoked, in every process [PANEL-4]', async () => {
    const [token, other] = [await issue(), await issue()]
    const elsewhere = createSessions(pool, () => {})
    await elsewhere.revoke(await found(token))
    expect(await sessions.find(token)).to.equal(null)
    expect(await sessions.find(other)).not.to.equal(null)
  })

  it('report on revocation whether they were active', async () => {
    const [alive, idle, old] = [await found(await issue()), await found(await issue()), await found(await issue())]
    const change = (set: string, { sessionHash }: PanelSession) =>
      pool.query(`update ops.sessions set ${set} where hash = $1`, [sessionHash])
    await change(`last_seen_at = clock_timestamp() - interval '13 h'`, idle)
    await change('generation = 7', old)
    expect(await Promise.all([alive, idle, old].map(sessions.revoke))).to.deep.equal([true, false, false])
    expect(await sessions.revoke(alive)).to.equal(false)
  })

  describe('exchanged for a session in another company of the person', () => {
    let other: TestCompany
    let next: { companyId: number; userId: number; generation: number }

    before(async () => {
      other = await api.company()
    })
    beforeEach(async () => {
      const twice = { name: user.name, email: user.email, role: 'owner' as const, password_hash: await cheapHash('x') }
      next = { companyId: other.id, userId: (await other.run(createUser, twice)).id, generation: 0 }
    })

    const setPassword = async () =>
      company.run(changePassword, { id: user.id, password_hash: await cheapHash(`outra senha ${Math.random()}`) })
    const open = async (of = next) => (await sessions.list(of)).length

    it('end, and are replaced by one with the same expiry and browser [PANEL-343]', async () => {
      const holder = { userId: user.id, companyId: company.id, generation: 0, personGeneration: 0 }
      const { token } = await sessions.issue(holder, 'Firefox')
      await pool.query(`update ops.sessions set expires_at = expires_at - interval '5 days' where user_id = $1`, [
        user.id,
      ])
      const asking = await found(token)
      const issued = await sessions.exchange(asking, next)
      expect(issued?.expiresAt).to.equal(asking.expiresAt)
      expect(await found(issued?.token ?? '')).to.include({
        companyId: other.id,
        userId: next.userId,
        expiresAt: asking.expiresAt,
        userAgent: 'Firefox',
        personGeneration: 0,
      })
      expect(await sessions.find(token)).to.equal(null)
      expect(await sessions.exchange(asking, next)).to.equal(null)
      expect(await open()).to.equal(1)
    })

    it('leave none active if the password changed before [PANEL-341]', async () => {
      const asking = await found(await issue())
      await setPassword()
      expect(await sessions.exchange(asking, next)).to.equal(null)
      expect(await open()).to.equal(0)
    })

    it('leave none active if the password changes afterwards [PANEL-341]', async () => {
      const issued = await sessions.exchange(await found(await issue()), next)
      await setPassword()
      expect(await sessions.find(issued?.token ?? '')).to.equal(null)
    })

    it('leave none active if the password changes during twenty exchanges [PANEL-341]', async () => {
      const asking: PanelSession[] = []
      for (let n = 0; n < LIVE_SESSIONS_OF_USER; n++) asking.push(await found(await issue()))
      const elsewhere = createSessions(pool, () => {})
      const exchanges = asking.map((session, n) => (n % 2 === 0 ? sessions : elsewhere).exchange(session, next))
      const [issued] = await Promise.all([Promise.all(exchanges), setPassword()])
      for (const one of issued) expect(await sessions.find(one?.token ?? '')).to.equal(null)
      expect(await open()).to.equal(0)
    })

    it('are exchanged once for twenty concurrent requests [PANEL-341]', async () => {
      const asking = await found(await issue())
      const elsewhere = createSessions(pool, () => {})
      const issued = await Promise.all(
        Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? sessions : elsewhere).exchange(asking, next)),
      )
      expect(issued.filter((one) => one !== null)).to.have.length(1)
      expect(await open()).to.equal(1)
    })

    for (const [how, end] of [
      ['revoked', 'revoked_at = clock_timestamp()'],
      ['idle for too long', `last_seen_at = clock_timestamp() - interval '13 h'`],
      ['over', `expires_at = clock_timestamp() - interval '1 s'`],
      ['of a user who was shut out meanwhile', 'generation = generation - 1'],
    ] as const) {
      it(`are not exchanged if they turn out to be ${how} [PANEL-341]`, async () => {
        const asking = await found(await issue())
        const client = await pool.connect()
        try {
          await client.query('begin')
          await client.query(`update ops.sessions set ${end} where hash = $1`, [asking.sessionHash])
          const exchanged = sessions.exchange(asking, next)
          await untilBlocked(pool, 1)
          await client.query('commit')
          expect(await exchanged).to.equal(null)
        } finally {
          client.release(true)
        }
        expect(await open()).to.equal(0)
      })
    }

    it('that have ended displace no other session of the person', async () => {
      const asking = await found(await issue())
      await sessions.revoke(asking)
      const holder = { ...next, personGeneration: 0 }
      for (let n = 0; n < LIVE_SESSIONS_OF_USER; n++) await sessions.issue(holder)
      expect(await sessions.exchange(asking, next)).to.equal(null)
      expect(await open()).to.equal(LIVE_SESSIONS_OF_USER)
    })
  })

  it('beyond the limit of a user end the least recently used one [PANEL-4]', async () => {
    const idle = await issue()
    await age('last_seen_at', '1 h')
    const used = []
    for (let n = 1; n < LIVE_SESSIONS_OF_USER; n++) used.push(await issue())
    const live = 'select from ops.sessions where user_id = $1 and revoked_at is null'
    expect((await pool.query(live, [user.id])).rowCount).to.equal(20)
    used.push(await issue())
    expect((await pool.query(live, [user.id])).rowCount).to.equal(LIVE_SESSIONS_OF_USER)
    expect(await sessions.find(idle)).to.equal(null)
    for (const token of used) expect(await sessions.find(token)).not.to.equal(null)
  })

  describe('form tokens', () => {
    it('are valid for their own session only [PANEL-7]', async () => {
      const [mine, other] = [await found(await issue()), await found(await issue())]
      expect(csrfMatches(mine, mine.csrfToken)).to.equal(true)
      expect(csrfMatches(mine, other.csrfToken)).to.equal(false)
    })

    it('stay the same for a session, and do not reveal its token', async () => {
      const token = await issue()
      const { csrfToken } = await found(token)
      expect((await found(token)).csrfToken).to.equal(csrfToken)
      expect(token).not.to.include(csrfToken)
    })

    it('are refused if they are missing, truncated or not a text', async () => {
      const session = await found(await issue())
      for (const given of [undefined, null, '', [session.csrfToken], {}, session.csrfToken.slice(1), 'á'.repeat(43)]) {
        expect(csrfMatches(session, given), String(given)).to.equal(false)
      }
    })
  })

  describe('purge', () => {
    it('deletes sessions that ended more than a week ago, and keeps active and recent ones [OPS-22]', async () => {
      await issue()
      await age('expires_at', '8 days')
      const kept = await issue()
      await pool.query(
        `update ops.sessions set revoked_at = now() - interval '10 days' where user_id = $1 and expires_at > now()`,
        [user.id],
      )
      expect(await purgeTables(pool, 'sessions')).to.equal(1)
      expect((await row()).revoked_at).not.to.equal(null)
      expect(await sessions.find(kept)).to.equal(null)
    })
  })
})

const NO_PROOF = { device: null, token: null }
const ADMITTED = { kind: 'admitted' }
const LIMITED = { kind: 'limited' }

describe('login limits', () => {
  const api = useApi(OWN_DATABASE)
  let accounts = 0
  let email: string

  beforeEach(async () => {
    email = `conta${++accounts}@loja.example`
    await api.core.pool.query('delete from ops.login_failures')
  })

  const attempt = (more: Partial<LoginAttempt> = {}): LoginAttempt => ({
    email,
    address: '192.0.2.1',
    proof: NO_PROOF,
    ...more,
  })
  const count = (more: Partial<LoginAttempt> = {}) => countAttempt(api.core.pool, attempt(more))
  const remember = (address: string, device: Buffer | null = null) =>
    rememberOrigin(api.core.pool, { email, address }, device)
  const minutePasses = () =>
    api.core.pool.query("update ops.login_failures set minute_ends_at = now() - interval '1 s'")

  it('allow an account ten failures a minute and sixty an hour, over all unknown origins [TOKEN-7]', async () => {
    for (let round = 0; round < 6; round++) {
      for (let n = 0; n < 10; n++) expect(await count({ address: `2001:db8:${n}::` })).to.include({ kind: 'admitted' })
      expect(await count({ address: '2001:db8:99::' })).to.have.property('kind', 'limited')
      await minutePasses()
    }
    const refused = await count({ address: '2001:db8:99::' })
    expect(refused).to.have.property('kind', 'limited')
    expect(refused).to.have.property('retryAfter').that.is.within(3_500, 3_600)
  })

  it('allow unauthenticated clients 50 a minute per address, 200 per network and 1,200 in total [TOKEN-7]', async () => {
    const unknown = listLoginCounters(attempt()).filter(({ standing }) => standing === 'unknown')
    expect(unknown.map(({ perMinute, perHour }) => [perMinute, perHour])).to.deep.equal([
      [10, 60],
      [50, 500],
      [200, 2_000],
      [1_200, 20_000],
    ])
    for (const { key, perMinute } of unknown) {
      await api.core.pool.query(
        `insert into ops.login_failures values ($1, now() + interval '50 s', $2, now() + interval '59 min', $2)`,
        [key, perMinute - 1],
      )
      expect(await count()).to.include({ kind: 'admitted', standing: 'unknown' })
      const { rows } = await api.core.pool.query('select key from ops.login_failures')
      expect(await count()).to.deep.equal({ kind: 'limited', retryAfter: 50 })
      // The refused attempt was not counted in other windows.
      const again = await api.core.pool.query(
        'select max(minute_count) as most from ops.login_failures where key <> $1',
        [key],
      )
      expect(again.rows).to.deep.equal([{ most: 1 }])
      expect(rows).to.have.length(4)
      await api.core.pool.query('delete from ops.login_failures')
    }
  })

  it('allow approvals of others five failures a minute and thirty an hour by session and person [ROLE-121]', async () => {
    const asking = (more: Partial<LoginAttempt> = {}) => count({ proof: { asking: randomBytes(32) }, ...more })
    const session = { proof: { asking: randomBytes(32) } }
    for (let n = 0; n < 5; n++)
      expect(await asking({ email: `outra${n}@loja.example`, ...session })).to.include(ADMITTED)
    expect(await asking({ email: 'mais uma@loja.example', ...session })).to.include(LIMITED)
    await minutePasses()
    for (let round = 0; round < 6; round++) {
      for (let n = 0; n < 5; n++) expect(await asking({ address: `203.0.113.${round}` })).to.include(ADMITTED)
      expect(await asking()).to.include(LIMITED)
      await minutePasses()
    }
    expect(await asking())
      .to.have.property('retryAfter')
      .that.is.within(3_500, 3_600)
  })

  it('allow approvals of others fifty failures an hour by address [ROLE-121]', async () => {
    const asking = (n: number) => count({ email: `conta${n}@loja.example`, proof: { asking: randomBytes(32) } })
    for (let n = 0; n < 50; n++) expect(await asking(n)).to.include(ADMITTED)
    expect(await asking(50)).to.include(LIMITED)
    expect(await count({ proof: 'inside' })).to.include(ADMITTED)
  })

  it('recognise a device and a network per account, and a device also for another account [TOKEN-10]', async () => {
    const device = randomBytes(32)
    const shown = { proof: { device, token: null } }
    expect(await count(shown)).to.include({ standing: 'unknown', isDeviceKnown: false })
    await remember('203.0.113.9', device)
    expect(await count(shown)).to.include({ standing: 'device', isDeviceKnown: true })
    expect(await count({ address: '203.0.113.77' })).to.include({ standing: 'network' })
    expect(await count({ address: '203.0.114.9' })).to.include({ standing: 'unknown' })
    email = 'outra@loja.example'
    expect(await count(shown)).to.include({ standing: 'unknown', isDeviceKnown: true })
    expect(await count({ proof: 'inside' })).to.include({ standing: 'device' })
  })

  it('refund successful attempts, which start no window', async () => {
    for (let n = 0; n < 25; n++) {
      const counted = await count()
      if (counted.kind !== 'admitted') throw new Error('an attempt that was right is counted')
      await refundAttempt(api.core.pool, counted.keys)
    }
  })

  it('are exact for concurrent attempts on separate connections [TOKEN-7]', async () => {
    const pool = createPool(api.databaseUrl, { max: 10 })
    try {
      const all = await Promise.all(Array.from({ length: 100 }, () => countAttempt(pool, attempt())))
      expect(all.filter(({ kind }) => kind === 'admitted')).to.have.length(10)
    } finally {
      await pool.end()
    }
  })

  it('keep fifty origins per account without secrets, and drop the least recently seen first', async () => {
    const device = randomBytes(32)
    await remember('10.0.0.1', device)
    await api.core.pool.query("update ops.login_origins set seen_at = seen_at - interval '2 days'")
    for (let n = 1; n <= 48; n++) await remember(`10.0.${n}.1`)
    await remember('10.0.0.1', device)
    for (let n = 49; n <= 60; n++) await remember(`10.0.${n}.1`)
    const { rows } = await api.core.pool.query('select count(*)::int as kept from ops.login_origins')
    expect(rows[0].kept).to.be.at.most(50 + 3)
    expect(await count({ proof: { device, token: null } })).to.include({ standing: 'device' })
    expect(await count({ address: '10.0.1.1' })).to.include({ standing: 'unknown' })
  })

  it('delete expired counts and old origins', async () => {
    await remember('10.0.0.1')
    await count({ address: '198.51.100.1' })
    await api.core.pool.query("update ops.login_failures set hour_ends_at = now() - interval '1 s'")
    await api.core.pool.query("update ops.login_origins set seen_at = now() - interval '401 days'")
    await purgeTables(api.core.pool, 'login_failures', 'login_origins')
    for (const table of ['login_failures', 'login_origins'])
      expect((await api.core.pool.query(`select from ops.${table}`)).rowCount, table).to.equal(0)
  })
})
