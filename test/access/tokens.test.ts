import { expect } from 'chai'
import type { Pool } from 'pg'
import { createTokens, LIVE_TOKENS_OF_USER, type Tokens } from '#access/sync-access.ts'
import { changePassword } from '#commands/users.ts'
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
    tokens = createTokens(pool, null)
  })
  beforeEach(async () => {
    user = await createTestUser(company)
  })
  after(() => api.close())

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
    const session = async () => {
      const found = await tokens.find(await issue())
      if (!found) throw new Error('there is no such token')
      return found
    }
    const [renewed, revoked, old] = [await session(), await session(), await session()]
    expect(await tokens.renew(renewed)).not.to.equal(null)
    expect(await tokens.renew(renewed)).to.equal(null)
    await tokens.revoke(revoked)
    expect(await tokens.renew(revoked)).to.equal(null)
    await company.run(changePassword, { id: user.id, password_hash: 'x' })
    const before = await kept()
    expect(await tokens.renew(old)).to.equal(null)
    expect(await kept()).to.equal(before)
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
