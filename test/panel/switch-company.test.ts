import { expect } from 'chai'
import { changePassword, createUser } from '#commands/user-commands.ts'
import type { TestCompany } from '../support/api.ts'
import { browser, hiddenFields, type PanelUser, panelUser } from '../support/panel.ts'
import { cheapHash } from '../support/passwords.ts'
import { useApi } from '../support/use-api.ts'

const PATH = '/painel/empresas'

type Browser = Pick<PanelUser, 'get' | 'post'>

describe('panel: switch to another company', () => {
  /** Runs between the request and the query for the companies of the person. */
  let meanwhile: () => Promise<unknown> = async () => {}
  const api = useApi({
    wrapLogin: (login) => ({
      ...login,
      async membershipsOf(email) {
        await meanwhile()
        return login.membershipsOf(email)
      },
    }),
  })
  let company: TestCompany
  let other: TestCompany
  let person: PanelUser

  beforeEach(async () => {
    company = await api.company()
    other = await api.company()
    person = await panelUser(api, company)
    const password_hash = await cheapHash('x')
    await other.run(createUser, { name: 'Dona', email: person.email, role: 'owner', password_hash })
  })
  afterEach(() => {
    meanwhile = async () => {}
  })

  const setPassword = async () =>
    company.run(changePassword, { id: person.id, password_hash: await cheapHash(`outra senha ${Math.random()}`) })
  /** Form that switches from the current company to the other one. */
  const form = async (user: Browser = person) => {
    const { html } = await user.get(PATH)
    const next = html.includes(`"company">Loja ${other.id}<`) ? company : other
    return { ...hiddenFields(html, PATH), company_id: String(next.id) }
  }
  const isIn = async (user: Browser = person) => (await user.get('/painel/clientes')).status === 200

  it('opens a session of the same browser in the other company, and ends the former one', async () => {
    const before = person.cookie()
    expect((await person.post(PATH, await form())).to).to.equal('/painel')
    expect((await person.get('/painel')).html).to.include(`"company">Loja ${other.id}<`)
    const old = await fetch(`${api.url}/painel/clientes`, { headers: { cookie: before }, redirect: 'manual' })
    expect(old.status).to.equal(303)
  })

  it('opens no session if the password changes during the switch [PANEL-341]', async () => {
    const sent = await form()
    meanwhile = setPassword
    const reply = await person.post(PATH, sent)
    expect([reply.to, reply.headers.getSetCookie()]).to.deep.equal(['/painel', []])
    expect(await isIn()).to.equal(false)
  })

  it('leaves no session valid after a password change during twenty concurrent switches [PANEL-341]', async () => {
    const browsers = Array.from({ length: 20 }, () => browser(api.url))
    const { email, password } = person
    for (const one of browsers) expect((await one.post('/painel/entrar', { email, password })).to).to.equal(PATH)
    const sent = await Promise.all(browsers.map(async (one) => ({ one, fields: await form(one) })))
    await Promise.all([...sent.map(({ one, fields }) => one.post(PATH, fields)), setPassword()])
    expect(await Promise.all(browsers.map(isIn))).to.not.include(true)
  })

  it('opens one session for two concurrent submissions [PANEL-10]', async () => {
    const sent = await form()
    const replies = await Promise.all([person.post(PATH, sent), person.post(PATH, sent)])
    expect(replies.filter(({ headers }) => headers.getSetCookie().length > 0)).to.have.length(1)
    expect((await person.get('/painel')).html).to.include(`"company">Loja ${other.id}<`)
  })
})
