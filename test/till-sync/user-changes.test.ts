import { expect } from 'chai'
import type { SessionHolder } from '#access/company-users.ts'
import { createLogin } from '#access/login.ts'
import { hashPassword } from '#access/passwords.ts'
import { createSessions } from '#access/sessions.ts'
import { createTokens } from '#access/till-access.ts'
import { changePassword, deactivateUser, reactivateUser, updateUser } from '#commands/user-commands.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { createTestUser, expectFailure, logIn, openTill, type TestUser, tillWith } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

/** Effects of user changes on till tokens and panel sessions, in two processes. */
describe('user with open till tokens and sessions', () => {
  const api = useApi()
  let other: TestApi
  let company: TestCompany
  let user: TestUser

  before(async () => {
    other = await startApi(api.databaseUrl)
    company = await api.company()
  })
  beforeEach(async () => {
    user = await createTestUser(company)
  })
  after(() => other.close())

  const sessions = () => createSessions(other.core.pool, () => {})
  const holderOf = async (): Promise<SessionHolder> => {
    const outcome = await createLogin(api.core.pool).logIn(user, { address: '192.0.2.1', keeps: 'token', kept: null })
    if (outcome.kind !== 'loggedIn') throw new Error(outcome.kind)
    return outcome.memberships[0]!.holder
  }

  /** Logs in at a till and in the panel; the result checks whether both are still valid. */
  async function open() {
    const till = await openTill(api.url, company, user)
    const { token } = await sessions().issue(await holderOf())
    return async (isOpen: boolean) => {
      for (const { url } of [api, other]) {
        const reply = await tillWith(url, user, till.token).get('/sync/status')
        if (isOpen) expect(reply.status).to.equal(200)
        else expectFailure(reply, 401, /Faça login novamente/)
      }
      expect((await sessions().find(token)) !== null).to.equal(isOpen)
    }
  }

  it('deactivated: both end at once in every process, and logins are refused [TOKEN-6]', async () => {
    const expectOpen = await open()
    await expectOpen(true)
    await company.run(deactivateUser, { id: user.id })
    await expectOpen(false)
    const refused = await logIn(other.url, user)
    expectFailure(refused, 401)
    expect(refused.text).to.equal((await logIn(other.url, { ...user, email: 'ninguem@loja.example' })).text)
  })

  it('reactivated: logs in with the same password; ended tokens stay ended', async () => {
    const expectOpen = await open()
    await company.run(deactivateUser, { id: user.id })
    await company.run(reactivateUser, { id: user.id })
    await expectOpen(false)
    await (await open())(true)
  })

  it('given another password: both end at once, and only the new password works [TOKEN-6]', async () => {
    const expectOpen = await open()
    const colleague = await openTill(api.url, company)
    await company.run(changePassword, { id: user.id, password_hash: await hashPassword('outra senha boa') })
    await expectOpen(false)
    expectFailure(await logIn(other.url, user), 401)
    user = { ...user, password: 'outra senha boa' }
    await (await open())(true)
    expect((await colleague.get('/sync/status')).status).to.equal(200)
  })

  it('renamed or given another role: both stay valid, with the new data', async () => {
    const { token } = await sessions().issue(await holderOf())
    await company.run(updateUser, { id: user.id, name: 'Outro Nome', role: 'owner' })
    expect(await sessions().find(token)).to.include({ userName: 'Outro Nome', role: 'owner' })
    const till = await openTill(other.url, company, user)
    expect((await till.get('/sync/config')).body.data.user).to.include({ name: 'Outro Nome', role: 'owner' })
  })

  it('made an auditor: till tokens end at once, and till logins are refused', async () => {
    const till = await openTill(api.url, company, user)
    await company.run(updateUser, { id: user.id, role: 'auditor', access_until: '2099-12-31' })
    expectFailure(await till.get('/sync/status'), 401)
    const refused = await logIn(other.url, user)
    expectFailure(refused, 401)
    expect(refused.text).to.equal((await logIn(other.url, { ...user, email: 'ninguem@loja.example' })).text)
    const { token } = await sessions().issue(await holderOf())
    expect(await sessions().find(token)).to.include({ role: 'auditor' })
  })

  for (const [what, change] of [
    ['given another password', async () => company.run(changePassword, { id: user.id, password_hash: 'x' })],
    ['deactivated', async () => company.run(deactivateUser, { id: user.id })],
  ] as const) {
    it(`${what} between password check and token: gets an ended token [TOKEN-6]`, async () => {
      const holder = await holderOf()
      await change()
      const { token } = await createTokens(api.core.pool, { days: null, secret: Buffer.alloc(32) }).issue(holder)
      expectFailure(await tillWith(api.url, user, token).get('/sync/status'), 401)
      expect(await sessions().find((await sessions().issue(holder)).token)).to.equal(null)
    })

    it(`${what} during a token renewal: has no valid token afterwards [TOKEN-6]`, async () => {
      const till = await openTill(api.url, company, user)
      const [renewed] = await Promise.all([till.post('/auth/refresh'), change()])
      const tokens = [till.token, ...(renewed.status === 200 ? [renewed.body.data.token] : [])]
      for (const token of tokens) expectFailure(await tillWith(other.url, user, token).get('/sync/status'), 401)
    })
  }
})
