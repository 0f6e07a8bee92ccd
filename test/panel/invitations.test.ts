import { EventEmitter, once } from 'node:events'
import { expect } from 'chai'
import type { Request, Response } from 'express'
import { Secret, TOTP } from 'otpauth'
import { createLogin } from '#access/login.ts'
import { createSessions } from '#access/sessions.ts'
import { createTokens } from '#access/till-access.ts'
import { updateCompany } from '#commands/company-commands.ts'
import { adjustRole } from '#commands/role-commands.ts'
import { changePassword, createUser, deactivateUser, updateUser } from '#commands/user-commands.ts'
import { type Permission, ROLE_PRESETS, type Role } from '#domain/rights.ts'
import { whileAllowed } from '#panel/panel-live.tsx'
import type { PageContext } from '#panel/panel-route.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { type Mailbox, openMailbox } from '../support/mailbox.ts'
import { browser, hiddenFields, type PanelUser, panelUser, problemsIn, textIn } from '../support/panel.ts'
import { cheapHash } from '../support/passwords.ts'
import { createTestUser, expectFailure, openTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'
import { until } from '../support/wait.ts'

const USERS = '/painel/configuracoes/usuarios'
const PASSWORD = 'senha da contadora'
let people = 0

describe('panel: invitations', () => {
  let mailbox: Mailbox
  /** Without e-mail, and with it. */
  const api = useApi()
  let mailing: TestApi
  let company: TestCompany
  let owner: PanelUser

  before(async () => {
    mailbox = await openMailbox()
    mailing = await startApi(api.databaseUrl, { settings: { SMTP_URL: mailbox.url } })
  })
  beforeEach(async () => {
    company = await api.company()
    owner = await panelUser(api, company)
  })
  after(async () => {
    await mailing.close()
    await mailbox.close()
  })

  const newAddress = () => `contadora${++people}@escritorio.example`
  const invite = (by: PanelUser, email: string, fields: object = {}) =>
    by.submit(`${USERS}/novo`, { name: 'Contadora', role: 'clerk', email, ...fields })
  const codeIn = (text: string) => /codigo=(tb_\w+_[\w-]{43})/.exec(text)?.[1] ?? ''
  /** Accepts an invitation in a new browser. */
  const accept = (code: string, password = PASSWORD, repeated = password) =>
    browser(api.url).post('/painel/convite', { codigo: code, password, repeated })
  /** Active user of a company with the password PASSWORD. */
  async function member(of = company, by = owner): Promise<{ email: string; id: number }> {
    const email = newAddress()
    expect((await accept(codeIn((await invite(by, email)).html))).to).to.equal('/painel?feito=bem-vindo')
    const { rows } = await api.core.pool.query('select id from read.users where company_id = $1 and email = $2', [
      of.id,
      email,
    ])
    return { email, id: rows[0].id }
  }
  const enter = async (email: string, password = PASSWORD) => {
    const visitor = browser(api.url)
    return { visitor, reply: await visitor.post('/painel/entrar', { email, password }) }
  }
  async function second() {
    const other = await api.company()
    return { other, boss: await panelUser(api, other) }
  }

  it('shows the link once without e-mail; it opens the company once [PANEL-50, PANEL-52, PANEL-501]', async () => {
    const email = newAddress()
    const { html, status } = await invite(owner, email)
    expect(status).to.equal(200)
    const code = codeIn(html)
    expect(textIn((await browser(api.url).get(`/painel/convite?codigo=${code}`)).html)).to.include(email)
    expect((await enter(email)).reply.status).to.equal(401)
    const { rows } = await api.core.pool.query(
      `select 1 from ledger.events where envelope::text like $1
       union all select 1 from ops.invitations i where i::text like $1`,
      [`%${code.slice(-20)}%`],
    )
    expect(rows).to.deep.equal([])
    const short = await accept(code, 'curta')
    expect(problemsIn(short.html).join()).to.include('8 a 200')
    expect(problemsIn((await accept(code, PASSWORD, 'outra coisa')).html).join()).to.include('não são iguais')
    expect((await accept(code)).to).to.equal('/painel?feito=bem-vindo')
    const { visitor, reply } = await enter(email)
    expect(reply.to).to.equal('/painel')
    expect((await visitor.get('/painel/clientes')).status).to.equal(200)
    expect((await accept(code)).status).to.equal(410)
    const page = await browser(api.url).get(`/painel/convite?codigo=${code}`)
    expect([page.status, (await browser(api.url).get('/painel/convite?codigo=x')).status]).to.deep.equal([410, 410])
  })

  it('are answered alike for known and unknown addresses, byte for byte except for the link [PANEL-51]', async () => {
    const { boss } = await second()
    const known = await member()
    const same = ({ status, html, to }: { status: number; html: string; to: string | null }) => [
      status,
      to,
      html.replaceAll(codeIn(html), '').replace(/usuarios\/\d+/g, ''),
    ]
    const [first, other] = [await invite(boss, known.email), await invite(boss, newAddress())]
    expect(same(first)).to.deep.equal(same(other))
    const pages = await Promise.all(
      [first, other].map(({ html }) => browser(api.url).get(`/painel/convite?codigo=${codeIn(html)}`)),
    )
    const [a, b] = pages.map(({ html }) =>
      textIn(html)
        .replace(/contadora\d+/g, '')
        .replace(/\s+/g, ' '),
    )
    expect(a).to.equal(b)
  })

  it('opens a second company after the existing password only [PANEL-52, TOKEN-21]', async () => {
    const { other, boss } = await second()
    const person = await member()
    const code = codeIn((await invite(boss, person.email)).html)
    const stolen = await accept(code, 'senha de um dono curioso')
    expect(stolen.status).to.equal(401)
    expect((await enter(person.email)).reply.to).to.equal('/painel')
    expect((await accept(code)).to).to.equal('/painel?feito=bem-vindo')
    const { visitor, reply } = await enter(person.email)
    expect(reply.to).to.equal('/painel/empresas')
    const page = await visitor.get('/painel/empresas')
    for (const { id } of [company, other]) expect(textIn(page.html)).to.include(`Loja ${id}`)
    const current = /"company">Loja (\d+)</.exec(page.html)?.[1]
    const next = [company, other].find(({ id }) => String(id) !== current)!
    const before = visitor.cookie()
    const opened = await visitor.submit('/painel/empresas', { company_id: String(next.id) })
    expect(opened.to).to.equal('/painel')
    expect(visitor.cookie()).not.to.equal(before)
    expect((await visitor.get('/painel')).html).to.include(`"company">Loja ${next.id}<`)
    const stranger = await api.company()
    const refused = await visitor.submit('/painel/empresas', { company_id: String(stranger.id) })
    expect(refused.status).to.equal(422)
    expect(problemsIn(refused.html).join()).to.include('não é uma das suas empresas')
  })

  it('deactivate a user in one company without affecting others [TOKEN-21]', async () => {
    const { other, boss } = await second()
    const person = await member()
    await accept(codeIn((await invite(boss, person.email)).html))
    const visitors = [await enter(person.email), await enter(person.email)]
    for (const [place, { visitor }] of visitors.entries()) {
      const { id } = [company, other][place] as TestCompany
      const { html } = await visitor.get('/painel/empresas')
      if (!html.includes(`"company">Loja ${id}<`)) await visitor.submit('/painel/empresas', { company_id: String(id) })
    }
    await company.run(deactivateUser, { id: person.id })
    const [here, there] = await Promise.all(visitors.map(({ visitor }) => visitor.get('/painel/clientes')))
    expect([here?.status, there?.status]).to.deep.equal([303, 200])
    expect((await enter(person.email)).reply.to).to.equal('/painel')
  })

  it('are listed, withdrawn and sent again, which invalidates the earlier link [PANEL-50]', async () => {
    const email = newAddress()
    const first = codeIn((await invite(owner, email)).html)
    const { rows } = await api.core.pool.query('select id from read.users where email = $1', [email])
    const path = `${USERS}/${rows[0].id}`
    expect(textIn((await owner.get('/painel/configuracoes')).html)).to.include('Convidado')
    const again = codeIn((await owner.submit(path, {}, `${path}/convidar`)).html)
    expect((await accept(first)).status).to.equal(410)
    await owner.submit(`${path}/desativar`, {})
    expect((await accept(again)).status).to.equal(410)
    expect(textIn((await owner.get(path)).html)).to.include('Convite cancelado')
    const last = codeIn((await owner.submit(path, {}, `${path}/convidar`)).html)
    expect((await accept(last)).to).to.equal('/painel?feito=bem-vindo')
    expect((await owner.get(path)).html).not.to.include(`${path}/convidar`)
  })

  it('are e-mailed if e-mail is set up, and then not shown [PANEL-50]', async () => {
    const boss = await panelUser(mailing, company)
    const email = newAddress()
    const sent = await invite(boss, email)
    expect(sent.to).to.equal('/painel/configuracoes?feito=convidado')
    const letter = mailbox.letters.at(-1)
    expect(letter?.to).to.deep.equal([email])
    expect(letter?.text).to.include(`Loja ${company.id}`)
    expect((await accept(codeIn(letter?.text ?? ''))).to).to.equal('/painel?feito=bem-vindo')
  })

  it('an e-mailed link replaces a password once, and ends all sessions [PANEL-55]', async () => {
    const [person, later] = [await member(), await member()]
    const { visitor } = await enter(person.email)
    const ask = async (email: string) => browser(mailing.url).post('/painel/esqueci', { email })
    const count = mailbox.letters.length
    const answers = [await ask(newAddress()), await ask(person.email), await ask(person.email), await ask(later.email)]
    expect(new Set(answers.map(({ to }) => to))).to.deep.equal(new Set(['/painel/entrar?feito=link-enviado']))
    // Responses precede e-mails. The one of a later request shows that the second one for the address is decided:
    // after a link was used, another may be requested.
    const letterTo = (email: string) => mailbox.letters.slice(count).find(({ to }) => to[0] === email)
    await until(() => letterTo(person.email) && letterTo(later.email))
    const code = codeIn(letterTo(person.email)?.text ?? '')
    const set = (password: string) =>
      browser(api.url).post('/painel/nova-senha', { codigo: code, password, repeated: password })
    expect((await set('curta')).status).to.equal(422)
    expect((await set('outra senha boa')).to).to.equal('/painel/entrar?feito=senha-trocada')
    expect((await visitor.get('/painel/clientes')).status).to.equal(303)
    expect((await enter(person.email)).reply.status).to.equal(401)
    expect((await enter(person.email, 'outra senha boa')).reply.status).to.equal(303)
    expect((await set('mais uma senha boa')).status).to.equal(410)
    expect(mailbox.letters).to.have.length(count + 2)
    expect(textIn((await browser(api.url).get('/painel/esqueci')).html)).to.include(
      'Peça um link para uma nova senha a um proprietário da empresa',
    )
  })

  it('give the e-mail of a forgotten password the brand of the only shop of its address', async () => {
    await company.run(updateCompany, { brand_color: '#0b5fa5' })
    const person = await member()
    const count = mailbox.letters.length
    await browser(mailing.url).post('/painel/esqueci', { email: person.email })
    await until(() => mailbox.letters.length > count)
    const letter = mailbox.letters.at(-1)
    const [, html = ''] = letter?.text.split('text/html') ?? []
    expect(html).to.include(`Loja ${company.id}</div>`).and.include('background:#0b5fa5')
    expect(codeIn(html)).to.not.equal('')
  })

  it('invalidate password links when the password changes [PANEL-342]', async () => {
    const person = await member()
    const count = mailbox.letters.length
    await browser(mailing.url).post('/painel/esqueci', { email: person.email })
    await until(() => mailbox.letters.length > count)
    const codigo = codeIn(mailbox.letters.at(-1)?.text ?? '')
    const next = 'uma senha nova'
    await company.run(changePassword, { id: person.id, password_hash: await cheapHash(next) })
    const fields = { codigo, password: 'senha de quem tem o link', repeated: 'senha de quem tem o link' }
    expect((await browser(api.url).post('/painel/nova-senha', fields)).status).to.equal(410)
    expect((await enter(person.email, next)).reply.status).to.equal(303)
  })

  it('do not let an owner set the password of another person', async () => {
    const person = await member()
    const path = `${USERS}/${person.id}`
    expect((await owner.get(path)).html)
      .not.to.include('password')
      .and.not.to.include(`${path}/senha`)
    expect((await owner.get(`${path}/senha`)).status).to.equal(404)
  })
})

const NEXT = 'a senha de quem tem o link'

describe('panel: rights that are lost', () => {
  let people = 0

  const api = useApi()
  let company: TestCompany
  let owner: PanelUser
  let manager: PanelUser
  let clerk: PanelUser

  const allowManagers = (...permissions: Permission[]) =>
    company.run(adjustRole, { role: 'manager', permissions, return_limit: null, discount_limit: null })
  const join = async (email: string) =>
    (await api.company()).run(createUser, { name: 'Eva', email, role: 'owner', password_hash: await cheapHash('x') })
  const codeIn = ({ html }: { readonly html: string }) => /codigo=(tb_\w+_[\w-]{43})/.exec(html)?.[1] ?? ''
  const send = (path: string, codigo: string) =>
    browser(api.url).post(`/painel/${path}`, { codigo, password: NEXT, repeated: NEXT })

  beforeEach(async () => {
    company = await api.company()
    owner = await panelUser(api, company)
    manager = await panelUser(api, company, 'manager')
    clerk = await panelUser(api, company, 'clerk')
    await allowManagers('manage_users', ...ROLE_PRESETS.clerk.granted)
  })

  /** What ends a link that a manager made for a clerk, or an invited one. */
  const losses: [string, (person: { readonly id: number; readonly email: string }) => Promise<unknown>][] = [
    ['its maker is deactivated', () => company.run(deactivateUser, { id: manager.id })],
    ['its maker gets another role', () => company.run(updateUser, { id: manager.id, role: 'clerk' })],
    ['the role of its maker loses the permission', () => allowManagers(...ROLE_PRESETS.clerk.granted)],
    ['its person joins another company', ({ email }) => join(email)],
    ['its person becomes an owner', ({ id }) => company.run(updateUser, { id, role: 'owner' })],
  ]

  for (const [what, lose] of losses) {
    it(`end a link to a new password when ${what} [ROLE-721]`, async () => {
      const codigo = codeIn(await manager.submit(`${USERS}/${clerk.id}/nova-senha`, {}))
      expect(codigo).to.match(/^tb_password_/)
      await lose(clerk)
      expect((await send('nova-senha', codigo)).status).to.equal(410)
      expect((await clerk.get('/painel/clientes')).status).to.equal(200)
      expect((await clerk.logIn()).status).to.equal(303)
    })

    it(`end an invitation when ${what} [ROLE-721]`, async () => {
      const email = `convidada${++people}@loja.example`
      await join(email)
      const codigo = codeIn(await manager.submit(`${USERS}/novo`, { name: 'Eva', role: 'clerk', email }))
      const page = () => browser(api.url).get(`/painel/convite?codigo=${codigo}`)
      expect((await page()).status).to.equal(200)
      const { rows } = await api.core.pool.query('select id from read.users where company_id = $1 and email = $2', [
        company.id,
        email,
      ])
      await lose({ id: rows[0].id, email })
      expect([(await page()).status, (await send('convite', codigo)).status]).to.deep.equal([410, 410])
    })
  }

  it('end a link to a new password when its person is deactivated, not with their session [ROLE-721]', async () => {
    const gone = await panelUser(api, company, 'clerk')
    const link = async ({ id }: PanelUser) => codeIn(await owner.submit(`${USERS}/${id}/nova-senha`, {}))
    const [dead, kept] = [await link(gone), await link(clerk)]
    await company.run(deactivateUser, { id: gone.id })
    await clerk.submit('/painel/clientes', {}, '/painel/sair')
    expect([(await send('nova-senha', dead)).status, (await send('nova-senha', kept)).status]).to.deep.equal([410, 303])
  })

  it('leave a link of an owner for a user of one company as it is [ROLE-721]', async () => {
    const codigo = codeIn(await owner.submit(`${USERS}/${clerk.id}/nova-senha`, {}))
    await company.run(updateUser, { id: clerk.id, role: 'manager' })
    expect((await send('nova-senha', codigo)).status).to.equal(303)
  })

  it('end the tills of a user who gets another role, which logs in again [TOKEN-6]', async () => {
    const user = await createTestUser(company, 'owner')
    const till = await openTill(api.url, company, user)
    expect((await till.get('/sync/status')).status).to.equal(200)
    await company.run(updateUser, { id: user.id, role: 'clerk' })
    expectFailure(await till.get('/sync/status'), 401)
    expect((await (await openTill(api.url, company, user)).get('/sync/status')).status).to.equal(200)
  })

  describe('while a download is under way', () => {
    const visitOf = (rights: () => object | null): PageContext => {
      const session = { permissions: { granted: ['export'] }, seesPersonalData: true }
      const sessions = { find: async () => rights() }
      return { session, context: { access: { sessions } } } as unknown as PageContext
    }
    const SAME = { permissions: { granted: ['export'] }, seesPersonalData: true }
    const request = { headers: {}, originalUrl: '/painel/vendas.csv', secure: false } as unknown as Request

    it('end it when persons are masked [ROLE-725]', async () => {
      let rights: object | null = SAME
      const sending = new EventEmitter()
      const done = whileAllowed(
        visitOf(() => rights),
        request,
        {} as Response,
        async (ended) => {
          sending.emit('begun')
          await once(ended, 'abort')
        },
      )
      await once(sending, 'begun')
      rights = { ...SAME, seesPersonalData: false }
      await done
    })

    it('let it begin only with the rights of its request, however long it waited [ROLE-725]', async () => {
      const redirected: unknown[] = []
      const response = { redirect: (...to: unknown[]) => redirected.push(to) } as unknown as Response
      await whileAllowed(
        visitOf(() => null),
        request,
        response,
        () => expect.fail('nothing is sent'),
      )
      expect(redirected).to.deep.equal([[303, '/painel/vendas.csv']])
    })
  })
})

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
  const PASSWORD = 'uma senha de teste'

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
