import { expect } from 'chai'
import { updateCompany } from '#commands/company-commands.ts'
import { changePassword, deactivateUser } from '#commands/user-commands.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { type Mailbox, openMailbox } from '../support/mailbox.ts'
import { browser, type PanelUser, panelUser, problemsIn, textIn } from '../support/panel.ts'
import { cheapHash } from '../support/passwords.ts'
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
    await owner.submit(path, {}, `${path}/desativar`)
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
      'A recuperação por e-mail não está disponível',
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
