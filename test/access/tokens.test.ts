import { expect } from 'chai'
import type { Pool } from 'pg'
import { TILL_TOKENS } from '#access/credentials.ts'
import { createTokens, LIVE_TOKENS_OF_USER, type Tokens } from '#access/till-access.ts'
import { changePassword } from '#commands/user-commands.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { purgeTables } from '../support/purge.ts'
import { createTestUser, type TestUser } from '../support/till.ts'

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

  it('are unique [TOKEN-1]', async () => {
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

    it('have the same successor each time, which is stored as a hash only [TOKEN-1, TOKEN-5]', async () => {
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
    it('deletes tokens revoked or expired more than a week ago [OPS-22]', async () => {
      for (const column of ['revoked_at', 'expires_at']) {
        await issue()
        await age(column, 8)
        expect(await purgeTables(pool, 'sync_tokens'), column).to.equal(1)
        expect(await kept()).to.equal(0)
      }
    })

    it('keeps valid and recently ended tokens', async () => {
      await issue()
      await age('created_at', 1000)
      await issue()
      await age('revoked_at', 6)
      await issue()
      expect(await purgeTables(pool, 'sync_tokens')).to.equal(0)
      expect(await kept()).to.equal(3)
    })

    it('treats a revoked token as ended at its revocation or expiry, whichever came first', async () => {
      await issue()
      await age('expires_at', -100)
      await age('revoked_at', 8)
      expect(await purgeTables(pool, 'sync_tokens')).to.equal(1)
    })
  })
})
