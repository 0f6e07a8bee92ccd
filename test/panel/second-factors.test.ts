import { expect } from 'chai'
import { Secret, TOTP } from 'otpauth'
import { createUser } from '#commands/user-commands.ts'
import { PUBLIC_URL, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { createAuthenticator } from '../support/authenticator.ts'
import { useDatabase } from '../support/database.ts'
import { type Mailbox, openMailbox } from '../support/mailbox.ts'
import {
  browser,
  hiddenFields,
  type PanelReply,
  type PanelUser,
  panelUser,
  problemsIn,
  textIn,
} from '../support/panel.ts'
import { cheapHash } from '../support/passwords.ts'
import { until } from '../support/wait.ts'

const ACCOUNT = '/painel/conta'
const APP = `${ACCOUNT}/verificacao/aplicativo`
const PASSKEY = `${ACCOUNT}/verificacao/chave`
const STEP = '/painel/entrar/verificar'
const USERS = '/painel/configuracoes/usuarios'

describe('panel: second factors', () => {
  const database = useDatabase()
  let mailbox: Mailbox
  let api: TestApi
  let company: TestCompany
  let owner: PanelUser

  before(async () => {
    mailbox = await openMailbox()
    api = await startApi(database.url, { settings: { SMTP_URL: mailbox.url } })
  })
  beforeEach(async () => {
    company = await api.company()
    owner = await panelUser(api, company)
  })
  after(async () => {
    await api.close()
    await mailbox.close()
  })

  /** Codes of the present step and of the next one, which is accepted too. */
  const codes = (secret: string) => {
    const at = (delta: number) =>
      TOTP.generate({ secret: Secret.fromBase32(secret), timestamp: Date.now() + delta * 30_000 })
    return { present: at(0), next: at(1) }
  }
  const codesIn = (html: string) =>
    [...html.matchAll(/<code class="secret">([\w-]{19})</g)].map(([, code = '']) => code)
  const optionsIn = (html: string) =>
    JSON.parse((/data-options="([^"]*)"/.exec(html)?.[1] ?? '{}').replaceAll('&quot;', '"'))

  async function addApp(user: PanelUser) {
    const { html } = await user.get(APP)
    const secret = hiddenFields(html, APP).chave ?? ''
    const added = await user.post(APP, {
      ...hiddenFields(html, APP),
      code: codes(secret).present,
      current_password: user.password,
    })
    return { secret, added, recovery: codesIn(added.html) }
  }

  async function addPasskey(user: PanelUser, origin = PUBLIC_URL) {
    const authenticator = createAuthenticator(origin)
    const { html } = await user.get(PASSKEY)
    const fields = { label: 'Chave do balcão', current_password: user.password }
    const form = { ...hiddenFields(html, PASSKEY), ...fields, passkey: authenticator.create(optionsIn(html)) }
    return { authenticator, form, added: await user.post(PASSKEY, form) }
  }

  /** The password in a new browser, and what its second step answers. */
  async function enter({ email, password }: Pick<PanelUser, 'email' | 'password'>) {
    const visitor = browser(api.url)
    const reply = await visitor.post('/painel/entrar', { email, password, para: '/painel/clientes' })
    const answer = (fields: Record<string, string>, from: PanelReply = reply) =>
      visitor.post(STEP, { ...hiddenFields(from.html, STEP), ...fields })
    return { visitor, reply, answer }
  }

  const eventsOf = async (id: number) => {
    const { body } = await company.get(`/events?subject=user/${id}`)
    return body.data.map(({ type, actor, data }: { type: string; actor: string; data: object }) => [type, actor, data])
  }

  it('are asked for after the password, before there is a session [MFA-1, MFA-3]', async () => {
    const { secret, recovery } = await addApp(owner)
    expect(recovery).to.have.length(10)
    const { visitor, reply, answer } = await enter(owner)
    expect(reply.status).to.equal(200)
    expect(reply.headers.getSetCookie()).to.deep.equal([])
    expect((await visitor.get('/painel/clientes')).to).to.include('/painel/entrar')
    const wrong = await answer({ code: '000000' })
    expect([wrong.status, problemsIn(wrong.html)]).to.deep.equal([401, ['Código incorreto ou já usado.']])
    const entered = await answer({ code: codes(secret).next }, wrong)
    expect([entered.status, entered.to]).to.deep.equal([303, '/painel/clientes'])
    expect((await visitor.get('/painel/clientes')).status).to.equal(200)
  })

  it('leave tills with their password [MFA-2]', async () => {
    await addApp(owner)
    const { email, password } = owner
    const response = await fetch(`${api.url}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    })
    expect(response.status).to.equal(200)
    expect((await response.json()).data.token).to.match(/^tb_sync_/)
  })

  it('accept a code once: neither the code of the setup nor a used one opens a session [MFA-3]', async () => {
    const { secret } = await addApp(owner)
    const { present, next } = codes(secret)
    const [first, second] = [await enter(owner), await enter(owner)]
    expect((await first.answer({ code: present })).status).to.equal(401)
    const answers = await Promise.all([first, second].map(({ answer }) => answer({ code: next })))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([303, 401])
  })

  it('open one session for a step: its form cannot be sent again [MFA-1]', async () => {
    const { recovery } = await addApp(owner)
    const { answer } = await enter(owner)
    expect((await answer({ code: recovery[0] ?? '' })).to).to.equal('/painel/clientes')
    const again = await answer({ code: recovery[1] ?? '' })
    expect(again.to).to.include('/painel/entrar?')
    expect(again.headers.getSetCookie().join()).not.to.include('tillbook=')
  })

  it('accept each recovery code once, tell the person by e-mail, and store hashes only [MFA-4, MFA-8]', async () => {
    const { recovery } = await addApp(owner)
    const [code = '', other = ''] = recovery
    expect((await (await enter(owner)).answer({ code: code.toUpperCase().replaceAll('-', '') })).status).to.equal(303)
    expect((await (await enter(owner)).answer({ code })).status).to.equal(401)
    await until(() => mailbox.letters.some(({ to, text }) => to.includes(owner.email) && text.includes('restantes: 9')))
    expect(textIn((await owner.get(ACCOUNT)).html)).to.include('Códigos de recuperação restantes: 9')
    const { rows } = await api.core.pool.query(
      `select 1 from ledger.events where envelope::text like $1 or envelope::text like $2
       union all select 1 from ops.recovery_codes c where c::text like $1`,
      [`%${other}%`, `%${other.replaceAll('-', '')}%`],
    )
    expect(rows).to.deep.equal([])

    const path = `${ACCOUNT}/verificacao/codigos`
    const renewed = await owner.submit(path, { current_password: owner.password })
    expect(codesIn(renewed.html)).to.have.length(10)
    expect((await (await enter(owner)).answer({ code: other })).status).to.equal(401)
    expect((await (await enter(owner)).answer({ code: codesIn(renewed.html)[0] ?? '' })).status).to.equal(303)
  })

  it('store the secret of an app sealed, and never in an event [MFA-5]', async () => {
    const { secret } = await addApp(owner)
    const { rows } = await api.core.pool.query('select secret from ops.second_factors where email = $1', [owner.email])
    expect(rows[0].secret.includes(Buffer.from(secret))).to.equal(false)
    expect(await eventsOf(owner.id)).to.deep.include([
      'UserSecondFactorAdded',
      `user/${owner.id}`,
      { id: owner.id, method: 'totp' },
    ])
    expect(JSON.stringify((await company.get('/events')).body)).not.to.include(secret)
  })

  it('are limited like a login: after five wrong answers the password is asked again [MFA-6]', async () => {
    const { recovery } = await addApp(owner)
    const { answer } = await enter(owner)
    for (let n = 0; n < 5; n++) expect((await answer({ code: `00000${n}` })).status).to.equal(401)
    expect((await answer({ code: recovery[0] ?? '' })).to).to.include('/painel/entrar')
    // The network is known from the first login; ten failures a minute are its limit, for passwords and codes together.
    const later = await enter(owner)
    for (let n = 0; n < 5; n++) expect((await later.answer({ code: `11111${n}` })).status).to.equal(401)
    const limited = (await enter(owner)).reply
    expect(limited.status).to.equal(429)
    expect(Number(limited.headers.get('retry-after'))).to.be.above(0)
  })

  it('end with the password: a step begun before a new password opens no session [MFA-1]', async () => {
    const { recovery } = await addApp(owner)
    const { answer } = await enter(owner)
    const next = 'uma senha bem nova'
    await owner.submit(`${ACCOUNT}/senha`, { current_password: owner.password, new_password: next, repeated: next })
    expect((await answer({ code: recovery[0] ?? '' })).status).to.equal(401)
    expect((await enter({ ...owner, password: next })).reply.html).to.include(STEP)
  })

  it('can be a passkey, which signs the challenge of this site [MFA-7]', async () => {
    const { authenticator, added } = await addPasskey(owner)
    expect(codesIn(added.html)).to.have.length(10)
    const { reply, answer, visitor } = await enter(owner)
    const passkey = authenticator.get(optionsIn(reply.html))
    expect((await answer({ passkey })).to).to.equal('/painel/clientes')
    expect((await visitor.get('/painel/clientes')).status).to.equal(200)
    expect((await answer({ passkey })).to).to.include('/painel/entrar')
  })

  it('refuse a passkey of another site, of another person, or for another challenge [MFA-7]', async () => {
    expect((await addPasskey(owner, 'https://tillbook.example.evil')).added.status).to.equal(422)
    const { authenticator } = await addPasskey(owner)
    const { reply, answer } = await enter(owner)
    const challenge = 'A'.repeat(43)
    for (const passkey of [
      createAuthenticator(PUBLIC_URL).get(optionsIn(reply.html)),
      authenticator.get({ challenge }),
      '{}',
      'x',
    ])
      expect((await answer({ passkey })).status, passkey.slice(0, 40)).to.equal(401)
    expect((await answer({ passkey: authenticator.get(optionsIn(reply.html)) })).status).to.equal(303)
  })

  it('refuse the registration of a passkey that is sent again [MFA-7]', async () => {
    const { form } = await addPasskey(owner)
    const { _key = '' } = hiddenFields((await owner.get(PASSKEY)).html, PASSKEY)
    expect((await owner.post(PASSKEY, { ...form, _key })).status).to.equal(422)
    const { rows } = await api.core.pool.query('select from ops.second_factors where email = $1', [owner.email])
    expect(rows).to.have.length(1)
  })

  it('change with the password only, and end the other sessions when the first one is added [MFA-5]', async () => {
    const { html } = await owner.get(APP)
    const form = hiddenFields(html, APP)
    const code = codes(form.chave ?? '').present
    const refused = await owner.post(APP, { ...form, code, current_password: 'errada demais' })
    expect(problemsIn(refused.html)).to.include('Senha atual: está incorreta')
    const elsewhere = browser(api.url)
    await elsewhere.post('/painel/entrar', { email: owner.email, password: owner.password })
    await addApp(owner)
    expect((await elsewhere.get(ACCOUNT)).to).to.include('/painel/entrar')
    const removal = `${ACCOUNT}/verificacao/remover`
    const id = /<option value="([\w-]{36})"/.exec((await owner.get(removal)).html)?.[1] ?? ''
    expect((await owner.submit(removal, { id, current_password: 'errada demais' })).status).to.equal(422)
    expect((await owner.submit(removal, { id, current_password: owner.password })).to).to.include('etapa-removida')
    expect((await enter(owner)).reply.status).to.equal(303)
    const { rows } = await api.core.pool.query('select from ops.recovery_codes where email = $1', [owner.email])
    expect(rows).to.deep.equal([])
  })

  describe('of other users', () => {
    let clerk: PanelUser
    let path: string
    beforeEach(async () => {
      clerk = await panelUser(api, company, 'clerk')
      path = `${USERS}/${clerk.id}`
    })

    it('an owner removes second factors; the user is told, and sessions end [MFA-8]', async () => {
      await addApp(clerk)
      expect(textIn((await owner.get('/painel/configuracoes')).html)).to.match(/Ativada/)
      expect(textIn((await owner.get(path)).html)).to.include('Aplicativo autenticador')
      const form = `${path}/remover-verificacao`
      expect((await clerk.get(form)).status).to.equal(403)
      expect((await owner.submit(form, {})).to).to.include('etapa-removida')
      expect((await clerk.get('/painel/clientes')).status).to.equal(303)
      expect((await enter(clerk)).reply.status).to.equal(303)
      expect(await eventsOf(clerk.id)).to.deep.include([
        'UserSecondFactorRemoved',
        `user/${owner.id}`,
        { id: clerk.id, method: null },
      ])
      await until(() =>
        mailbox.letters.some(({ to, text }) => to.includes(clerk.email) && text.includes(`Loja ${company.id} removeu`)),
      )
    })

    it('stay, with the password, for a person of another company: its owners have not agreed [MFA-9]', async () => {
      const other = await api.company()
      await other.run(createUser, {
        name: 'Outra',
        email: clerk.email,
        role: 'owner',
        password_hash: await cheapHash('x'),
      })
      await addApp(clerk)
      for (const page of ['nova-senha', 'remover-verificacao']) {
        const shown = await owner.get(`${path}/${page}`)
        expect(problemsIn(shown.html).join(), page).to.include('também é usuária de outra empresa')
        const { _csrf = '', _key = '' } = hiddenFields((await owner.get(path)).html, `${path}/encerrar-sessoes`)
        expect((await owner.post(`${path}/${page}`, { _csrf, _key })).status, page).to.equal(404)
      }
      expect((await enter(clerk)).reply.html).to.include(STEP)
      expect((await eventsOf(clerk.id)).map(([type]: [string]) => type)).not.to.include('UserPasswordLinkCreated')
    })

    it('an owner shows a link to a new password, once; it expires, ends sessions and is recorded [PANEL-500]', async () => {
      const form = `${path}/nova-senha`
      const first = hiddenFields((await owner.get(form)).html, form)
      const shown = await owner.post(form, first)
      const codeIn = (html: string) => /codigo=(tb_password_[\w-]{43})/.exec(html)?.[1] ?? ''
      const set = (codigo: string, password: string) =>
        browser(api.url).post('/painel/nova-senha', { codigo, password, repeated: password })
      expect(codeIn(shown.html)).not.to.equal('')
      expect(codeIn((await owner.post(form, first)).html)).to.equal('')
      await until(() => mailbox.letters.some(({ to, text }) => to.includes(clerk.email) && text.includes('nova senha')))
      expect((await clerk.get('/painel/clientes')).status).to.equal(200)

      const latest = codeIn((await owner.submit(form, {})).html)
      expect((await set(codeIn(shown.html), 'senha que não vale')).status).to.equal(410)
      await api.core.pool.query(`update ops.password_links set sent_at = sent_at - interval '61 minutes'`)
      expect((await set(latest, 'senha que não vale')).status).to.equal(410)
      const last = codeIn((await owner.submit(form, {})).html)
      expect((await set(last, 'a senha escolhida')).to).to.equal('/painel/entrar?feito=senha-trocada')
      expect((await clerk.get('/painel/clientes')).status).to.equal(303)
      expect((await set(last, 'mais uma senha')).status).to.equal(410)
      expect((await enter({ ...clerk, password: 'a senha escolhida' })).reply.status).to.equal(303)
      expect(await eventsOf(clerk.id)).to.deep.include([
        'UserPasswordLinkCreated',
        `user/${owner.id}`,
        { id: clerk.id },
      ])
    })

    it('an owner has neither action for the own account [PANEL-500]', async () => {
      for (const page of ['nova-senha', 'remover-verificacao'])
        expect(problemsIn((await owner.get(`${USERS}/${owner.id}/${page}`)).html).join(), page).to.include(
          'Minha conta',
        )
    })
  })
})
