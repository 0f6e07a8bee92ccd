import { expect } from 'chai'
import { changePassword, createUser, deactivateUser } from '#commands/user-commands.ts'
import type { TestCompany } from '../support/api.ts'
import { cheapHash } from '../support/passwords.ts'
import { createTestUser, expectFailure, type TestUser, tillWith } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

describe('till login of a user with several companies', () => {
  const api = useApi()
  let companies: [TestCompany, TestCompany]
  let user: TestUser
  let otherId: number

  beforeEach(async () => {
    companies = [await api.company(), await api.company()]
    user = await createTestUser(companies[0])
    const { name, email } = user
    otherId = (await companies[1].run(createUser, { name, email, role: 'clerk', password_hash: 'unused' })).id
  })

  const logIn = (company_id?: unknown, password = user.password) =>
    tillWith(api.url, user, '').post('/auth/login', { email: user.email, password, company_id })

  it('names the company; without it the response lists the choices [SYNC-40]', async () => {
    for (const company_id of [undefined, null, 999_999]) {
      const reply = await logIn(company_id)
      expect(reply.status).to.equal(422)
      const { message, ...rest } = reply.body
      expect(message).to.match(/company_id/)
      const named = companies.map(({ id }) => ({ id, name: `Loja ${id}` }))
      expect(rest).to.deep.equal({ success: false, data: { companies: named } })
    }
    for (const [place, { id }] of companies.entries()) {
      const { data } = (await logIn(id)).body
      expect(data.user).to.deep.equal({
        id: [user.id, otherId][place],
        name: user.name,
        email: user.email,
        company_id: id,
      })
      expect((await tillWith(api.url, user, data.token).get('/sync/status')).body.company_id).to.equal(id)
    }
    expect(expectFailure(await logIn('x'), 422)).to.have.all.keys('company_id')
  })

  it('uses one password for all companies: a new one ends all tokens and sessions [TOKEN-6]', async () => {
    const tokens = await Promise.all(companies.map(async ({ id }) => (await logIn(id)).body.data.token as string))
    await companies[1].run(changePassword, { id: otherId, password_hash: await cheapHash('outra senha boa') })
    const replies = await Promise.all(tokens.map((token) => tillWith(api.url, user, token).get('/sync/status')))
    expect(replies.map(({ status }) => status)).to.deep.equal([401, 401])
    expectFailure(await logIn(companies[0].id), 401)
    expect((await logIn(companies[0].id, 'outra senha boa')).status).to.equal(200)
  })

  it('reveals no company without the password [SYNC-40]', async () => {
    const wrong = await logIn(companies[0].id, 'outra senha')
    expectFailure(wrong, 401)
    expect((await logIn(undefined, 'outra senha')).text).to.equal(wrong.text)
  })

  it('needs no company if one is left, and tokens of the others stay valid [SYNC-40, TOKEN-21]', async () => {
    const tokens = await Promise.all(companies.map(async ({ id }) => (await logIn(id)).body.data.token as string))
    await companies[1].run(deactivateUser, { id: otherId })
    const replies = await Promise.all(tokens.map((token) => tillWith(api.url, user, token).get('/sync/status')))
    expect(replies.map(({ status }) => status)).to.deep.equal([200, 401])
    expect((await logIn()).body.data.user.company_id).to.equal(companies[0].id)
  })
})
