import { expect } from 'chai'
import { changeOwnPassword, createLogin, type Login } from '#access/login.ts'
import { hashPassword } from '#access/passwords.ts'
import { createSessions, type PanelSession, type Sessions } from '#access/sessions.ts'
import { changePassword, createUser } from '#commands/user-commands.ts'
import { isRefusal } from '#ledger/command.ts'
import { startApi, type TestCompany } from '../support/api.ts'
import { untilBlocked } from '../support/lock-waits.ts'
import { createTestUser, type TestUser } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

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
