import { once } from 'node:events'
import { expect } from 'chai'
import type { Request, Response } from 'express'
import { Secret, TOTP } from 'otpauth'
import { createLogin } from '#access/login.ts'
import { createSessions } from '#access/sessions.ts'
import { createTokens } from '#access/till-access.ts'
import { adjustRole, changePassword, createUser, deactivateUser, updateUser } from '#commands/user-commands.ts'
import type { Role } from '#domain/rights.ts'
import { whileAllowed } from '#panel/panel-live.tsx'
import type { PageContext } from '#panel/panel-route.ts'
import type { TestCompany } from '../support/api.ts'
import { hiddenFields, type PanelUser, panelUser } from '../support/panel.ts'
import { cheapHash } from '../support/passwords.ts'
import { useApi } from '../support/use-api.ts'

const PASSWORD = 'uma senha de teste'
const APP = '/painel/conta/verificacao/aplicativo'

/** Who loses access: in a company, with a browser of its own beside the watched session. */
interface Person {
  readonly company: TestCompany
  readonly user: PanelUser
  readonly session: string
}

/** Whether something goes on after the loss; a till is null for roles that have none. */
interface Left {
  readonly page: boolean
  readonly live: boolean
  readonly till: boolean | null
  /** A page and a till in another company. */
  readonly elsewhere: readonly [boolean, boolean]
}

const GOES_ON: Left = { page: true, live: true, till: true, elsewhere: [true, true] }
const SHUT_OUT: Left = { page: false, live: false, till: false, elsewhere: [true, true] }

describe('panel: access that is lost', () => {
  const api = useApi()
  const sessions = () => createSessions(api.core.pool, () => {})
  const tokens = () => createTokens(api.core.pool, { days: 1, secret: Buffer.alloc(32) })
  const get = (path: string, headers: Record<string, string>) =>
    fetch(api.url + path, { headers, redirect: 'manual', signal: AbortSignal.timeout(50_000) })

  /** An open page: whether its stream sends more than what was checked before the loss. */
  async function openLivePage(session: string): Promise<() => Promise<boolean>> {
    const { body } = await get('/painel/ao-vivo', { cookie: `tillbook=${session}` })
    const reader = body?.getReader()
    if (!reader) throw new Error('there is no stream')
    return async () => {
      for (let checks = 0; checks < 3; ) {
        const { done, value } = await reader.read()
        if (done) return false
        checks += Buffer.from(value).toString().split(':\n\n').length - 1
      }
      await reader.cancel()
      return true
    }
  }

  /** A download under way, with the rights of its session; resolves when these end it. */
  async function openDownload(token: string): Promise<{ readonly ended: Promise<void> }> {
    const context = { access: { sessions: sessions() } }
    const visit = { session: await sessions().find(token), context } as unknown as PageContext
    const request = { headers: { cookie: `tillbook=${token}` }, secure: false } as unknown as Request
    let begin = () => {}
    const begun = new Promise<void>((resolve) => (begin = resolve))
    const ended = whileAllowed(visit, request, {} as Response, async (signal) => {
      begin()
      await once(signal, 'abort')
    })
    await begun
    return { ended }
  }

  /** Opens all in two companies, takes the access away, and tells what goes on. A download always ends. */
  async function lose(role: Role, loss: (person: Person) => Promise<unknown>): Promise<Left> {
    const [company, second] = [await api.company(), await api.company()]
    await panelUser(api, company)
    const user = await panelUser(api, company, role)
    const { email } = user
    const password_hash = await cheapHash(PASSWORD)
    await second.run(createUser, { name: 'Eva', email, role: 'clerk', password_hash })
    const origin = { address: '192.0.2.1', keeps: 'token', kept: null } as const
    const login = await createLogin(api.core.pool).logIn({ email, password: PASSWORD }, origin)
    const holders = login.kind === 'loggedIn' ? login.memberships.map(({ holder }) => holder) : []
    const open = async (of: TestCompany) => {
      const holder = holders.find(({ companyId }) => companyId === of.id)
      if (!holder) throw new Error('the person is not of the company')
      return { session: (await sessions().issue(holder)).token, till: (await tokens().issue(holder)).token }
    }
    const [here, there] = [await open(company), await open(second)]
    const [live, download] = [await openLivePage(here.session), await openDownload(here.session)]
    await loss({ company, user, session: here.session })
    const page = async (session: string) =>
      (await get('/painel/conta', { cookie: `tillbook=${session}` })).status === 200
    const till = async (token: string) =>
      (await get('/api/sync/status', { authorization: `Bearer ${token}` })).status === 200
    const left = { page: await page(here.session), till: role === 'auditor' ? null : await till(here.till) }
    const elsewhere = [await page(there.session), await till(there.till)] as const
    await download.ended
    return { ...left, live: await live(), elsewhere }
  }

  const limits = { return_limit: '0.00', discount_limit: '0.00' }
  const addApp = async ({ user }: Person) => {
    const fields = hiddenFields((await user.get(APP)).html, APP)
    const code = TOTP.generate({ secret: Secret.fromBase32(fields.chave ?? '') })
    expect((await user.post(APP, { ...fields, code, current_password: PASSWORD })).status).to.equal(200)
  }
  const losses: readonly [string, Role, Left, (person: Person) => Promise<unknown>][] = [
    ['a deactivation', 'clerk', SHUT_OUT, ({ company, user }) => company.run(deactivateUser, { id: user.id })],
    [
      'the last day of an auditor',
      'auditor',
      { ...SHUT_OUT, till: null },
      ({ company, user }) =>
        api.core.pool.query(
          `update users set doc = (doc::jsonb || '{"access_until": "2020-01-01"}')::json where company_id = $1 and id = $2`,
          [company.id, user.id],
        ),
    ],
    [
      'another role, but pages go on with its rights',
      'clerk',
      { ...GOES_ON, till: false },
      ({ company, user }) => company.run(updateUser, { id: user.id, role: 'manager' }),
    ],
    [
      'other permissions of the role, but pages go on with these',
      'clerk',
      GOES_ON,
      ({ company }) => company.run(adjustRole, { role: 'clerk', permissions: ['sell'], ...limits }),
    ],
    [
      'a new password, in all companies',
      'clerk',
      { page: false, live: false, till: false, elsewhere: [false, false] },
      async ({ company, user }) =>
        company.run(changePassword, { id: user.id, password_hash: await cheapHash('outra senha boa') }),
    ],
    [
      'the session that is ended',
      'clerk',
      { ...GOES_ON, page: false, live: false },
      async ({ session }) => {
        const found = await sessions().find(session)
        return found && sessions().revoke(found)
      },
    ],
    [
      'a first second factor, in other sessions of all companies',
      'clerk',
      { page: false, live: false, till: true, elsewhere: [false, true] },
      addApp,
    ],
  ]
  const left = new Map<string, Left>()

  // Together: a live page is checked every few seconds.
  before(async () => {
    await Promise.all(losses.map(async ([what, role, , loss]) => left.set(what, await lose(role, loss))))
  })

  for (const [what, , expected] of losses)
    it(`ends with its downloads after ${what} [ROLE-725]`, () => expect(left.get(what)).to.deep.equal(expected))
})
