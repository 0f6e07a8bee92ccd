import { expect } from 'chai'
import type { Pool } from 'pg'
import { type Admission, type AuthenticatedCall, createApiAuthenticator } from '#access/api-authenticator.ts'
import { TILL_TOKENS } from '#access/credentials.ts'
import { changeOwnPassword, createLogin, type Login } from '#access/login.ts'
import { hashPassword } from '#access/passwords.ts'
import { createSessions, type PanelSession, type Sessions } from '#access/sessions.ts'
import { createTokens, LIVE_TOKENS_OF_USER, type Tokens } from '#access/till-access.ts'
import { changePassword, createUser } from '#commands/user-commands.ts'
import { revokeApiKey } from '#commands/webhook-commands.ts'
import { isRefusal } from '#ledger/command.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { Unavailable } from '#lib/errors.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { untilBlocked } from '../support/lock-waits.ts'
import { purgeTables } from '../support/purge.ts'
import { createTestUser, type TestUser } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'
import { LIMITS, useGatekeeping } from './gatekeeping.ts'
import { keyedCompany } from './keyed-company.ts'

describe('quota', () => {
  const keeping = useGatekeeping()
  const { windowsOf } = keeping

  describe('across two processes', () => {
    it('admits exactly 120 of 300 concurrent requests, summed over all keys of the company [RATE-1]', async () => {
      const company = await keyedCompany(keeping.core)
      const hashes = [company.hash, (await company.newKey()).hash]
      const gates = keeping.pools.map((pool) => createApiAuthenticator(pool, LIMITS))
      const calls = Array.from({ length: 300 }, (_, n) => gates[n % 2]!.admit(hashes[n % 3 === 0 ? 0 : 1]!))
      const answers = (await Promise.all(calls)) as AuthenticatedCall[]
      const admitted = answers.filter((answer) => answer.kind === 'admitted')
      expect(admitted).to.have.length(120)
      expect(answers.filter((answer) => answer.kind === 'limited')).to.have.length(180)
      const remaining = admitted.map((answer) => answer.rate.remaining).sort((a, b) => a - b)
      expect(remaining).to.deep.equal(Array.from({ length: 120 }, (_, n) => n))
      expect(await windowsOf(company)).to.include({ minute_count: 120, day_count: 120 })
    })

    it('counts every company separately, without deadlocks for any order of arrival [RATE-1]', async () => {
      const companies = await Promise.all(Array.from({ length: 12 }, () => keyedCompany(keeping.core)))
      const gates = keeping.pools.map((pool) => createApiAuthenticator(pool, LIMITS))
      const turns = Array.from({ length: 20 }, (_, turn) => companies.map((_, n) => companies[(n * 5 + turn) % 12]!))
      for (const turn of turns) {
        const backwards = [...turn].reverse()
        const calls = turn.flatMap((company, n) => [gates[0]!.admit(company.hash), gates[1]!.admit(backwards[n]!.hash)])
        await Promise.all(calls)
      }
      for (const company of companies) expect(await windowsOf(company)).to.include({ minute_count: 40, day_count: 40 })
    })

    it('refuses a revoked key at once in both [KEY-5]', async () => {
      const company = await keyedCompany(keeping.core)
      const { id, hash } = await company.newKey()
      const gates = keeping.pools.map((pool) => createApiAuthenticator(pool, LIMITS))
      const ask = async () => (await Promise.all(gates.map((gate) => gate.admit(hash)))).map((answer) => answer.kind)
      expect(await ask()).to.deep.equal(['admitted', 'admitted'])
      await runAsSystem(keeping.core.writer, company.id, revokeApiKey, { id })
      expect(await ask()).to.deep.equal(['invalid', 'invalid'])
      expect(await windowsOf(company)).to.include({ minute_count: 2 })
    })
  })

  describe('keys', () => {
    it('identify the client', async () => {
      const company = await keyedCompany(keeping.core, { plan: 'basic', timezone: 'America/Manaus', name: 'Loja Rio' })
      const admitted = (await createApiAuthenticator(keeping.pools[0], LIMITS).admit(company.hash)) as AuthenticatedCall
      expect(admitted).to.deep.include({
        kind: 'admitted',
        companyId: company.id,
        keyId: company.keyId,
        scopes: ['sales:read'],
        plan: 'basic',
        timezone: 'America/Manaus',
        revision: 1,
      })
    })

    it('are refused if they were never created', async () => {
      expect(await createApiAuthenticator(keeping.pools[0], LIMITS).admit(Buffer.alloc(32, 255))).to.deep.equal({
        kind: 'invalid',
      })
    })

    it('are refused once expired, by the clock of Postgres, and then not counted [KEY-5]', async () => {
      const company = await keyedCompany(keeping.core)
      const { id, hash } = await company.newKey('2999-01-01T00:00:00.000Z')
      const gate = createApiAuthenticator(keeping.pools[0], LIMITS)
      expect((await gate.admit(hash)).kind).to.equal('admitted')
      await keeping.core.pool.query('update read.api_keys set expires_at = now() where id = $1', [id])
      expect((await gate.admit(hash)).kind).to.equal('invalid')
      expect(await windowsOf(company)).to.include({ minute_count: 1 })
    })

    it('of one tick are answered separately, unknown and valid ones', async () => {
      const [first, second] = [await keyedCompany(keeping.core), await keyedCompany(keeping.core)]
      const gate = createApiAuthenticator(keeping.pools[0], LIMITS)
      const hashes = [first.hash, Buffer.alloc(32, 254), second.hash, first.hash]
      const answers = await Promise.all(hashes.map((hash) => gate.admit(hash)))
      expect(answers.map((answer) => 'companyId' in answer && answer.companyId)).to.deep.equal([
        first.id,
        false,
        second.id,
        first.id,
      ])
    })

    it('record the last use, at most once a minute', async () => {
      const company = await keyedCompany(keeping.core)
      const gate = createApiAuthenticator(keeping.pools[0], LIMITS)
      const lastUse = async () =>
        (await keeping.core.pool.query('select last_used_at from ops.api_key_uses where company_id = $1', [company.id]))
          .rows
      await gate.admit(company.hash)
      const [first] = await lastUse()
      await gate.admit(company.hash)
      expect(await lastUse()).to.deep.equal([first])
      await keeping.core.pool.query(`update ops.api_key_uses set last_used_at = last_used_at - interval '61 seconds'`)
      await gate.admit(company.hash)
      expect((await lastUse())[0]?.last_used_at > first?.last_used_at).to.equal(true)
    })
  })

  describe('ticks', () => {
    /** First pool, with a hook before each statement. */
    const through = (happens: () => void): Pool => {
      const query = async (statement: never) => {
        happens()
        return keeping.pools[0].query(statement)
      }
      return { query } as unknown as Pool
    }

    it('send one query for all requests that arrive together, and another for those that arrive meanwhile', async () => {
      const company = await keyedCompany(keeping.core)
      let statements = 0
      let second: Promise<Admission[]> | undefined
      const gate = createApiAuthenticator(
        through(() => {
          statements += 1
          second ??= wave()
        }),
        LIMITS,
      )
      const wave = () => Promise.all(Array.from({ length: 30 }, () => gate.admit(company.hash)))
      await wave()
      await second
      expect(statements).to.equal(2)
    })

    it('are unavailable if too many requests wait', async () => {
      const company = await keyedCompany(keeping.core)
      const gate = createApiAuthenticator(keeping.pools[0], LIMITS, 2)
      const answers = await Promise.allSettled([1, 2, 3].map(() => gate.admit(company.hash)))
      expect(answers.map(({ status }) => status)).to.deep.equal(['fulfilled', 'fulfilled', 'rejected'])
      expect((answers[2] as PromiseRejectedResult).reason).to.be.instanceOf(Unavailable)
    })

    it('are unavailable while Postgres is unreachable, and recover afterwards', async () => {
      const company = await keyedCompany(keeping.core)
      let broken = true
      const gate = createApiAuthenticator(
        through(() => {
          if (broken) throw new Error('down')
        }),
        LIMITS,
      )
      const failure = await gate.admit(company.hash).catch((error: unknown) => error)
      expect(failure).to.be.instanceOf(Unavailable)
      broken = false
      expect((await gate.admit(company.hash)).kind).to.equal('admitted')
    })
  })
})

describe('tokens', () => {
  const database = useDatabase()
  let api: TestApi
  let pool: Pool
  let company: TestCompany
  let user: TestUser
  let tokens: Tokens

  before(async () => {
    api = await startApi(database.url)
    pool = api.core.pool
    company = await api.company()
    tokens = createTokens(pool, { days: null, secret: Buffer.alloc(32) })
  })
  beforeEach(async () => {
    user = await createTestUser(company)
  })
  after(() => api.close())

  const hashOf = (token: string) => TILL_TOKENS.hashOf(token) as Buffer
  const issue = async (of = user): Promise<string> =>
    (await tokens.issue({ userId: of.id, companyId: company.id, generation: 0, personGeneration: 0 })).token
  const kept = async (): Promise<number> =>
    (await pool.query('select count(*)::int as n from ops.sync_tokens where user_id = $1', [user.id])).rows[0].n
  const age = (column: string, days: number) =>
    pool.query(`update ops.sync_tokens set ${column} = now() - make_interval(days => $2) where user_id = $1`, [
      user.id,
      days,
    ])

  it('identify the user until they are revoked', async () => {
    const token = await issue()
    const session = await tokens.find(token)
    expect(session).to.deep.include({
      userId: user.id,
      companyId: company.id,
      userName: user.name,
      email: user.email,
      role: 'clerk',
      timezone: 'America/Sao_Paulo',
    })
    if (session) await tokens.revoke(session)
    expect(await tokens.find(token)).to.equal(null)
  })

  it('are unique [TOKEN-3]', async () => {
    expect(await issue()).not.to.equal(await issue())
  })

  it('record their last use, but not every use', async () => {
    const lastUse = async () =>
      (await pool.query('select last_used_at from ops.sync_tokens where user_id = $1', [user.id])).rows[0].last_used_at
    const token = await issue()
    const issued = await lastUse()
    await tokens.find(token)
    expect(await lastUse()).to.equal(issued)
    await age('last_used_at', 1)
    await tokens.find(token)
    expect((await lastUse()) >= issued).to.equal(true)
  })

  it('beyond the limit of a user end the least recently used one of that user [TOKEN-8]', async () => {
    const others = await issue(await createTestUser(company))
    const [idle, used] = [await issue(), await issue()]
    await age('last_used_at', 1)
    await tokens.find(used)
    for (let n = 2; n < LIVE_TOKENS_OF_USER; n++) await issue()
    const live = async () =>
      (await pool.query('select hash from ops.sync_tokens where user_id = $1 and revoked_at is null', [user.id]))
        .rowCount
    expect(await live()).to.equal(200)
    await issue()
    expect(await live()).to.equal(LIVE_TOKENS_OF_USER)
    expect(await tokens.find(idle)).to.equal(null)
    for (const token of [used, others]) expect(await tokens.find(token)).not.to.equal(null)
  })

  it('are renewed only while they are valid, regardless of an earlier look-up [TOKEN-6]', async () => {
    const renewal = async () => {
      const token = await issue()
      const session = await tokens.find(token)
      if (!session) throw new Error('there is no such token')
      return { session, renew: () => tokens.renew(session, token) }
    }
    const [used, revoked, old] = [await renewal(), await renewal(), await renewal()]
    const next = await used.renew()
    expect(await tokens.find(next!.token)).not.to.equal(null)
    expect(await used.renew()).to.equal(null)
    await tokens.revoke(revoked.session)
    expect(await revoked.renew()).to.equal(null)
    await company.run(changePassword, { id: user.id, password_hash: 'x' })
    const before = await kept()
    expect(await old.renew()).to.equal(null)
    expect(await kept()).to.equal(before)
  })

  describe('renewed without an answer', () => {
    const renewed = async () => {
      const token = await issue()
      const session = (await tokens.find(token))!
      return { token, session, next: (await tokens.renew(session, token))!.token }
    }
    const isLive = async (token: string) => (await tokens.find(token)) !== null

    it('stay valid until their successor is used [TOKEN-5]', async () => {
      const { token, next } = await renewed()
      expect(await isLive(token)).to.equal(true)
      expect(await isLive(next)).to.equal(true)
      expect(await isLive(token)).to.equal(false)
    })

    it('have the same successor each time, which is stored as a hash only [TOKEN-3, TOKEN-5]', async () => {
      const { token, session, next } = await renewed()
      const again = await Promise.all(Array.from({ length: 4 }, () => tokens.renew(session, token)))
      expect(again).to.deep.equal(Array(4).fill({ token: next, expiresAt: null }))
      expect(await kept()).to.equal(2)
      const stored = JSON.stringify((await pool.query('select t::text as row from ops.sync_tokens t')).rows)
      for (const text of [next, next.slice('tb_sync_'.length)])
        expect(stored).not.to.include(text).and.not.include(Buffer.from(text).toString('hex'))
      const other = createTokens(pool, { days: null, secret: Buffer.alloc(32, 1) })
      expect((await other.renew(session, token))!.token, 'another installation').not.to.equal(next)
    })

    it('end ten minutes after the first renewal, however often they are renewed [TOKEN-5]', async () => {
      const { token, session, next } = await renewed()
      const pass = (time: string) =>
        pool.query(
          `update ops.sync_tokens set replaced_at = replaced_at - $2::interval, expires_at = expires_at - $2::interval
           where user_id = $1 and replaced_at is not null`,
          [user.id, time],
        )
      await pass('9 minutes')
      expect((await tokens.renew(session, token))!.token).to.equal(next)
      expect(await isLive(token)).to.equal(true)
      await pass('61 seconds')
      expect(await isLive(token)).to.equal(false)
      expect(await tokens.renew(session, token)).to.equal(null)
      expect(await isLive(next)).to.equal(true)
    })

    for (const ended of ['the old', 'the new'] as const)
      it(`end together with a logout by ${ended} one [TOKEN-5]`, async () => {
        const other = await issue()
        const { token, session, next } = await renewed()
        await tokens.revoke(ended === 'the old' ? session : { ...session, tokenHash: hashOf(next) })
        for (const gone of [token, next]) expect(await isLive(gone)).to.equal(false)
        expect(await isLive(other)).to.equal(true)
        expect(await tokens.renew(session, token)).to.equal(null)
      })

    it('end together with concurrent renewals and a logout [TOKEN-5]', async () => {
      for (let n = 0; n < 10; n++) {
        const token = await issue()
        const session = (await tokens.find(token))!
        const answers = await Promise.all([
          tokens.renew(session, token),
          tokens.revoke(session),
          tokens.renew(session, token),
        ])
        expect(await isLive(token)).to.equal(false)
        for (const answer of answers) if (answer) expect(await isLive(answer.token)).to.equal(false)
      }
    })
  })

  describe('purge', () => {
    it('deletes tokens revoked or expired more than 31 days ago [OPS-22]', async () => {
      for (const column of ['revoked_at', 'expires_at']) {
        await issue()
        await age(column, 32)
        expect(await purgeTables(pool, 'sync_tokens'), column).to.equal(1)
        expect(await kept()).to.equal(0)
      }
    })

    it('keeps valid and recently ended tokens', async () => {
      await issue()
      await age('created_at', 1000)
      await issue()
      await age('revoked_at', 30)
      await issue()
      expect(await purgeTables(pool, 'sync_tokens')).to.equal(0)
      expect(await kept()).to.equal(3)
    })

    it('treats a revoked token as ended at its revocation or expiry, whichever came first', async () => {
      await issue()
      await age('expires_at', -100)
      await age('revoked_at', 32)
      expect(await purgeTables(pool, 'sync_tokens')).to.equal(1)
    })
  })
})

const FROM = { address: '192.0.2.1', requestId: '019990c5-0000-7000-8000-000000000001' }
const AT_TILL = { address: FROM.address, keeps: 'token', kept: null } as const
const NEXT = 'uma senha nova'

describe('change of the own password', () => {
  const api = useApi()
  let company: TestCompany
  let user: TestUser
  let login: Login
  let sessions: Sessions
  let token: string
  let session: PanelSession

  before(async () => {
    company = await api.company()
    sessions = createSessions(api.core.pool, () => {})
  })
  beforeEach(async () => {
    user = await createTestUser(company)
    login = createLogin(api.core.pool)
    ;({ token, session } = await enter(user.password))
  })

  async function enter(password: string) {
    const outcome = await login.logIn({ email: user.email, password }, AT_TILL)
    if (outcome.kind !== 'loggedIn') throw new Error(outcome.kind)
    const issued = await sessions.issue(outcome.memberships[0]!.holder)
    const found = await sessions.find(issued.token)
    if (!found) throw new Error('there is no session')
    return { token: issued.token, session: found }
  }
  const change = (current = user.password, next = NEXT) =>
    changeOwnPassword({ login, writer: api.core.writer }, session, { current, next }, FROM)
  const eventsOfUser = async () => {
    const { body } = await company.get(`/events?subject=user/${user.id}`)
    return body.data as { type: string; actor: string; origin: string; data: object }[]
  }

  it('requires the current password, ends all sessions and tokens, and logs the user in again [PANEL-9]', async () => {
    const elsewhere = await enter(user.password)
    const outcome = await change()
    if (isRefusal(outcome) || outcome.kind !== 'changed') throw new Error(JSON.stringify(outcome))
    for (const each of [token, elsewhere.token]) expect(await sessions.find(each)).to.equal(null)
    expect((await enter(NEXT)).session).to.include({ userId: user.id, companyId: company.id })
    expect(await login.logIn(user, AT_TILL)).to.deep.equal({ kind: 'wrong' })
  })

  it('records an event with its actor, without password or hash', async () => {
    await change()
    const changed = (await eventsOfUser()).at(-1)
    expect(changed).to.include({ type: 'UserPasswordChanged', origin: 'panel', actor: `user/${user.id}` })
    expect(changed?.data).to.deep.equal({ id: user.id })
  })

  it('is refused with a wrong current password, and after five failures with any password [PANEL-9]', async () => {
    for (let n = 0; n < 5; n++) expect(await change('errada demais')).to.deep.equal({ kind: 'wrong' })
    expect(await change()).to.have.property('kind', 'limited')
    expect(await eventsOfUser()).to.have.length(1)
    expect(await sessions.find(token)).not.to.equal(null)
    expect(await createLogin(api.core.pool).logIn(user, AT_TILL)).to.have.property('kind', 'loggedIn')
  })

  it('succeeds once for two concurrent requests with the old password', async () => {
    const outcomes = await Promise.all([
      change(user.password, 'senha primeira'),
      change(user.password, 'senha segunda'),
    ])
    const refused = outcomes.filter((outcome) => isRefusal(outcome) || outcome.kind === 'wrong')
    expect(refused).to.have.length(1)
    const winner = outcomes.findIndex((outcome) => !isRefusal(outcome) && outcome.kind === 'changed')
    await enter(['senha primeira', 'senha segunda'][winner] ?? '')
    expect(await eventsOfUser()).to.have.length(2)
  })

  it('succeeds once for concurrent requests in two companies and two processes [PANEL-342]', async () => {
    const [other, elsewhere] = [await startApi(api.databaseUrl), await api.company()]
    const blocker = await api.core.pool.connect()
    try {
      const again = { name: user.name, email: user.email, role: 'owner' as const, password_hash: 'x' }
      const { id } = await elsewhere.run(createUser, again)
      const holder = { companyId: elsewhere.id, userId: id, email: user.email }
      await blocker.query('begin')
      await blocker.query('select from ops.persons where email = $1 for update', [user.email])
      const [first, second] = ['senha primeira', 'senha segunda'] as const
      const changing = Promise.all([
        change(user.password, first),
        changeOwnPassword(
          { login: createLogin(other.core.pool), writer: other.core.writer },
          holder,
          { current: user.password, next: second },
          FROM,
        ),
      ])
      await untilBlocked(api.core.pool, 2)
      await blocker.query('rollback')
      const isChanged = (await changing).map((outcome) => !isRefusal(outcome) && outcome.kind === 'changed')
      expect(isChanged).to.have.members([true, false])
      await enter(isChanged[0] ? first : second)
    } finally {
      blocker.release(true)
      await other.close()
    }
  })

  it('is refused with the old password after an owner has set another one [PANEL-9]', async () => {
    const confirm: Login['confirm'] = async (...args) => {
      const confirmed = await login.confirm(...args)
      await company.run(changePassword, { id: user.id, password_hash: await hashPassword('senha da dona') })
      return confirmed
    }
    const overtaken = { login: { ...login, confirm }, writer: api.core.writer }
    const outcome = await changeOwnPassword(overtaken, session, { current: user.password, next: NEXT }, FROM)
    expect(outcome).to.have.deep.property('details', {
      fields: { current_password: ['está incorreta'] },
      unknown_fields: [],
    })
    await enter('senha da dona')
  })
})
