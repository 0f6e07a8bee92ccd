import { expect } from 'chai'
import { changePassword, createUser } from '#commands/user-commands.ts'
import { send, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { browser, hiddenFields, type PanelUser, panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'
import { cheapHash } from '../support/passwords.ts'
import { createTestUser, logIn } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'
import { until } from '../support/wait.ts'
import { bytesOf, openWire } from '../support/wire.ts'

describe('panel: access', () => {
  const { api, company, user: owner } = usePanelUser()

  const stranger = (path: string, init: RequestInit = {}) => fetch(api.url + path, { redirect: 'manual', ...init })

  it('links the panel from the root, and redirects requests without a session to the login [PANEL-1]', async () => {
    expect(await (await stranger('/')).text()).to.include('href="/painel"')
    const answer = await stranger('/painel/clientes?name=Ana')
    expect(answer.status).to.equal(303)
    const to = new URL(answer.headers.get('location') ?? '', api.url)
    expect(to.pathname).to.equal('/painel/entrar')
    expect(to.searchParams.get('para')).to.equal('/painel/clientes?name=Ana')
  })

  it('returns to the requested page after login, and never redirects to another site [PANEL-1]', async () => {
    const enter = (para: string) => owner.post('/painel/entrar', { email: owner.email, password: owner.password, para })
    expect((await enter('/painel/clientes?name=Ana')).to).to.equal('/painel/clientes?name=Ana')
    for (const elsewhere of [
      'https://evil.example',
      '//evil.example',
      '/painel/../..//evil.example',
      '/painelx',
      'javascript:1',
      '/painel\\evil',
    ]) {
      const { to } = await enter(elsewhere)
      expect(new URL(to ?? '', api.url).host, elsewhere).to.equal(new URL(api.url).host)
      expect(to).to.match(/^\/painel/)
    }
  })

  it('lists the sessions by browser and ends the others [PANEL-203]', async () => {
    const phone = browser(api.url)
    const android = {
      'user-agent': 'Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36',
    }
    const enter = () => phone.post('/painel/entrar', { email: owner.email, password: owner.password }, android)
    await enter()
    const { html } = await owner.get('/painel/conta')
    expect(textIn(html))
      .to.match(/Chrome, Android/)
      .and.match(/Navegador desconhecido Esta/)
    const end = '/painel/conta/encerrar-sessoes'
    const id = /name="sessao" value="(\w+)"/.exec(html)?.[1] ?? ''
    const form = hiddenFields(html, end)
    expect((await owner.post(end, { ...form, sessao: id })).to).to.include('/painel/conta')
    expect((await phone.get('/painel/conta')).to).to.include('/painel/entrar')

    await enter()
    const clerk = await panelUser(api, company, 'clerk')
    const clerks = `/painel/configuracoes/usuarios/${clerk.id}`
    expect((await owner.submit(clerks, {}, `${clerks}/encerrar-sessoes`)).status).to.equal(303)
    expect((await clerk.get('/painel/conta')).to).to.include('/painel/entrar')
    expect((await phone.get('/painel/conta')).status).to.equal(200)
    const { _csrf, _key } = hiddenFields((await owner.get('/painel/conta')).html, end)
    await owner.post(end, { _csrf: _csrf ?? '', _key: _key ?? '' })
    expect((await phone.get('/painel/conta')).to).to.include('/painel/entrar')
    expect((await owner.get('/painel/conta')).status).to.equal(200)
  })

  it('sets a session cookie that is HttpOnly and SameSite [PANEL-3]', async () => {
    const { headers, status } = await owner.logIn()
    expect(status).to.equal(303)
    expect(headers.get('set-cookie'))
      .to.match(/HttpOnly/)
      .and.to.match(/SameSite=Lax/)
      .and.to.match(/Path=\//)
  })

  it('answers a wrong password and an unknown address alike, without the password [PANEL-2]', async () => {
    const wrong = await owner.logIn('uma senha errada')
    const unknown = await owner.post('/painel/entrar', { email: 'ninguem@loja.example', password: 'uma senha errada' })
    for (const { status, html } of [wrong, unknown]) {
      expect(status).to.equal(401)
      expect(problemsIn(html)).to.deep.equal(['E-mail ou senha incorretos.'])
      expect(html).not.to.include('uma senha errada')
    }
  })

  it('throttles logins after five wrong passwords [PANEL-2]', async () => {
    for (let n = 0; n < 5; n++) await owner.logIn('uma senha errada')
    const { status, headers } = await owner.logIn()
    expect(status).to.equal(429)
    expect(Number(headers.get('retry-after'))).to.be.above(0)
  })

  it('a known browser logs in while the account is throttled [PANEL-40]', async () => {
    const [, device = ''] = (await owner.logIn()).headers.getSetCookie()
    expect(device).to.match(
      /^tillbook-device=tb_device_[\w-]{43}; Max-Age=34560000; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/,
    )
    await owner.submit('/painel/clientes', {}, '/painel/sair')
    const [cookie = ''] = device.split(';')
    expect(owner.cookie()).to.include(cookie)
    expect((await stranger('/painel/clientes', { headers: { cookie } })).status).to.equal(303)
    const enter = (password: string) =>
      stranger('/painel/entrar', { method: 'POST', body: new URLSearchParams({ email: owner.email, password }) })
    for (let n = 0; n < 10; n++) expect((await enter('uma senha errada')).status).to.equal(401)
    expect((await enter(owner.password)).status).to.equal(429)
    const again = await owner.logIn()
    expect(again.status).to.equal(303)
    expect(again.headers.getSetCookie()[1]).to.include(`${cookie};`)
  })

  it('recognises a browser for several users, and ignores forged browser cookies [PANEL-40]', async () => {
    const other = await panelUser(api, company)
    const body = new URLSearchParams({ email: other.email, password: other.password })
    const deviceOf = async (cookie: string) => {
      const { headers } = await stranger('/painel/entrar', { method: 'POST', body, headers: { cookie } })
      return /^tillbook-device=([^;]+)/.exec(headers.getSetCookie()[1] ?? '')?.[1]
    }
    const [, mine = ''] = /tillbook-device=([^;]+)/.exec(owner.cookie()) ?? []
    expect(await deviceOf(`tillbook-device=${mine}`)).to.equal(mine)
    const planted = `tb_device_${'A'.repeat(43)}`
    expect(await deviceOf(`tillbook-device=${planted}`)).not.to.equal(planted)
  })

  it('ends the session at logout [PANEL-4]', async () => {
    const { to } = await owner.submit('/painel/clientes', {}, '/painel/sair')
    expect(to).to.match(/^\/painel\/entrar/)
    expect((await owner.get('/painel/clientes')).status).to.equal(303)
  })

  it('restores form input after a login of the same user [PANEL-105] [PANEL-107] [PANEL-374]', async () => {
    const typed = { name: 'Maria "da" Silva', person_type: 'PF', notes: '<b>' }
    const form = { ...hiddenFields((await owner.get('/painel/clientes/novo')).html, '/painel/clientes'), ...typed }
    const ownPassword = {
      ...hiddenFields((await owner.get('/painel/conta/senha')).html, '/painel/conta/senha'),
      current_password: 'segredo 1',
      new_password: 'segredo 2',
      repeated: 'segredo 3',
    }
    const { to } = await owner.submit('/painel/clientes', {}, '/painel/sair')
    for (const [times, told] of [true, false].entries())
      expect(
        (await owner.get(to ?? '')).html.includes('<p class="notice neutral" role="status">Você saiu do painel.'),
        `look ${times}`,
      ).to.equal(told)

    const secret = hiddenFields((await owner.post('/painel/conta/senha', ownPassword)).html, '/painel/entrar').digitado
    expect(Buffer.from(secret ?? '', 'base64url').toString())
      .to.include('conta/senha')
      .and.not.to.include('segredo')
    expect((await owner.post('/painel/clientes', { ...form, notes: 'x'.repeat(9_000) })).status).to.equal(303)

    const asked = await owner.post('/painel/clientes', form)
    expect(asked.status).to.equal(401)
    const kept = hiddenFields(asked.html, '/painel/entrar')
    const enter = async (who: typeof owner, password = who.password) =>
      who.post('/painel/entrar', { ...kept, email: who.email, password })
    const again = await enter(owner, 'uma senha errada')
    expect(hiddenFields(again.html, '/painel/entrar')).to.deep.equal(kept)
    const other = await panelUser(api, company)
    expect((await enter(other)).status).to.equal(303)

    const back = hiddenFields((await enter(owner)).html, '/painel/clientes')
    expect((await other.post('/painel/clientes', back)).status).to.equal(403)
    const shown = await owner.post('/painel/clientes', back)
    expect(textIn(shown.html)).to.include('Confira o que você preencheu')
    for (const text of ['Maria &quot;da&quot; Silva', '&lt;b>']) expect(shown.html).to.include(text)
    expect((await company.get('/customers')).body.data).to.deep.equal([])
    const sent = { ...hiddenFields(shown.html, '/painel/clientes'), ...typed }
    expect((await owner.post('/painel/clientes', sent)).to).to.match(/\/clientes\/\d+\?feito=criado$/)
  })

  it('sends pages with a strict content security policy and no-store [PANEL-13]', async () => {
    const { headers, html } = await owner.get('/painel/clientes')
    expect(headers.get('content-security-policy')).to.match(/default-src 'none'.*frame-ancestors 'none'/)
    expect(headers.get('cache-control')).to.equal('no-store')
    for (const [, address = ''] of html.matchAll(/(?:src|href|action)="([^"]*)"/g))
      expect(address, 'an address on the page').to.match(/^[/#]/)
  })

  it('serves static files under content-hashed addresses', async () => {
    const { html } = await owner.get('/painel/clientes')
    const files = [...html.matchAll(/"(\/painel\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
    expect(files).to.have.length.above(3)
    for (const path of files) {
      const answer = await stranger(path)
      expect(answer.status, path).to.equal(200)
      expect(answer.headers.get('cache-control')).to.include('immutable')
      expect((await answer.arrayBuffer()).byteLength).to.be.above(0)
    }
    expect((await owner.get('/painel/assets/panel.css')).status).to.equal(404)
  })

  describe('forms', () => {
    it('are refused from another site, without a form token, or with the token of another session [PANEL-7]', async () => {
      const { html } = await owner.get('/painel/clientes/novo')
      const fields: Record<string, string> = {
        ...hiddenFields(html, '/painel/clientes'),
        name: 'Maria',
        person_type: 'PF',
      }
      const other = await panelUser(api, company)
      const attempts = [
        owner.post('/painel/clientes', fields, { 'sec-fetch-site': 'cross-site' }),
        owner.post('/painel/clientes', fields, { 'sec-fetch-site': 'same-site' }),
        owner.post('/painel/clientes', { ...fields, _csrf: '' }),
        owner.post('/painel/clientes', { ...fields, _csrf: `${fields._csrf}x` }),
        other.post('/painel/clientes', fields),
      ]
      for (const attempt of attempts) expect((await attempt).status).to.equal(403)
      expect((await company.get('/customers')).body.data).to.deep.equal([])
      expect((await owner.post('/painel/clientes', fields)).status).to.equal(303)
    })

    it('take effect once for repeated and concurrent submissions [PANEL-10]', async () => {
      const { html } = await owner.get('/painel/clientes/novo')
      const fields = { ...hiddenFields(html, '/painel/clientes'), name: 'Maria', person_type: 'PF' }
      const sent = await Promise.all(Array.from({ length: 10 }, () => owner.post('/painel/clientes', fields)))
      expect(new Set(sent.map(({ to }) => to)).size).to.equal(1)
      expect((await company.get('/customers')).body.data).to.have.length(1)
      const changed = await owner.post('/painel/clientes', { ...fields, name: 'Outra' })
      expect(changed.status).to.equal(409)
    })

    it('are refused without a key, and above the size limit', async () => {
      const { html } = await owner.get('/painel/clientes/novo')
      const { _csrf = '' } = hiddenFields(html, '/painel/clientes')
      expect((await owner.post('/painel/clientes', { _csrf, name: 'Maria' })).status).to.equal(422)
      expect((await owner.post('/painel/clientes', { _csrf, name: 'x'.repeat(500_000) })).status).to.equal(413)
    })
  })

  it('responds 404 with the menu for an unknown page', async () => {
    for (const path of ['/painel/nada', '/painel/clientes/999999', '/painel/clientes/0', '/painel/clientes/abc']) {
      const { status, html } = await owner.get(path)
      expect(status, path).to.equal(404)
      expect(textIn(html)).to.include('Página não encontrada').and.to.include('Catálogo')
    }
  })

  it('refuses plain HTTP from other hosts with a 403 page [PANEL-3]', async () => {
    const answer = await stranger('/painel/entrar', { headers: { 'x-forwarded-for': '203.0.113.9' } })
    expect(answer.status).to.equal(403)
    expect(answer.headers.get('content-type')).to.match(/^text\/html/)
  })
})

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

/** Of each kind: clients that announce too large a body, and clients that announce the largest allowed one. */
const ATTACKERS = 84

describe('panel: defences', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let owner: PanelUser
  const failures: string[] = []

  before(async () => {
    api = await startApi(database.url, { trustProxy: true, log: (message) => failures.push(message) })
    company = await api.company()
  })
  beforeEach(async () => {
    owner = await panelUser(api, company)
    failures.length = 0
  })
  after(() => api.close())

  const call = (path: string, init: RequestInit = {}) =>
    fetch(api.url + path, { redirect: 'manual', ...init, headers: { cookie: owner.cookie(), ...init.headers } })

  it('refuse addresses with a NUL character', async () => {
    for (const path of [
      '/clientes?q=%00',
      '/fornecedores?document=1%002',
      '/vendas?customer=a%00b',
      '/loja?store_alias=%00',
      '/loja?external_id=%00',
      '/catalogo?q=%00',
      '/contas-a-pagar?party_name=%00',
      '/clientes?em=%00',
    ]) {
      const { status, html } = await owner.get(`/painel${path}`)
      expect(status, path).to.equal(422)
      expect(textIn(html), path).to.include('Clientes').and.not.to.include('\0')
    }
    expect(failures).to.deep.equal([])
  })

  it('show a form with a NUL character again without it', async () => {
    const { status, html } = await owner.submit('/painel/clientes/novo', { name: 'a\0b' }, '/painel/clientes')
    expect(status).to.equal(422)
    expect(html).to.include('value="a\uFFFDb"').and.not.to.include('\0')
    const entering = await owner.post('/painel/entrar', { email: 'a\0b', password: 'x', para: '\0' })
    expect(entering.status).to.equal(401)
    expect(entering.html).to.include('value="a\uFFFDb"').and.not.to.include('\0')
    expect(failures).to.deep.equal([])
  })

  it('refuse methods that an address does not support', async () => {
    for (const [method, path, allow] of [
      ['GET', '/sair', 'POST'],
      ['PATCH', '/entrar', 'GET, HEAD, POST'],
      ['POST', '/ao-vivo', 'GET, HEAD'],
      ['POST', '/vendas', 'GET, HEAD'],
      ['DELETE', '/clientes/1', 'GET, HEAD'],
    ] as const) {
      const answer = await call(`/painel${path}`, { method })
      expect([answer.status, answer.headers.get('allow')], `${method} ${path}`).to.deep.equal([405, allow])
      expect(answer.headers.get('content-type')).to.match(/^text\/html/)
    }
  })

  it('answer HEAD requests for endless streams', async () => {
    const answer = await call('/painel/ao-vivo', { method: 'HEAD' })
    expect(answer.status).to.equal(200)
    expect(answer.headers.get('content-type')).to.match(/^text\/event-stream/)
    await answer.text()
    await until(async () => (await api.connections()) <= 1)
  })

  it('refuse bodies that are not forms', async () => {
    const fields = JSON.stringify({ email: owner.email, password: owner.password })
    const multipart = new FormData()
    multipart.set('email', owner.email)
    for (const path of ['/painel/entrar', '/painel/clientes', '/painel/sair'])
      for (const init of [
        { body: fields, headers: { 'content-type': 'application/json' } },
        { body: fields, headers: { 'content-type': 'text/plain' } },
        { body: multipart },
      ]) {
        const answer = await call(path, { method: 'POST', ...init })
        expect(answer.status, path).to.equal(415)
        expect(textIn(await answer.text())).to.include('O formulário não pôde ser lido')
      }
    expect((await owner.get('/painel/clientes')).status, 'still logged in').to.equal(200)
    const names = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`campo${n}`, '']))
    const { status, html } = await owner.post('/painel/entrar', names)
    expect(status).to.equal(400)
    expect(textIn(html)).not.to.include('JSON')
  })

  it('keep logins and sessions working while unauthenticated clients send endless forms [HTTP-31]', async () => {
    const form = hiddenFields((await owner.get('/painel/clientes/novo')).html, '/painel/clientes')
    const user = await createTestUser(company)
    const from = (address: string) => ({ 'x-forwarded-for': address, 'x-forwarded-proto': 'https' })
    const wires = await Promise.all(Array.from({ length: 2 * ATTACKERS }, () => openWire(api.url)))
    for (const [n, wire] of wires.entries()) {
      const headers = [
        ...Object.entries(from('203.0.113.66')),
        ['Content-Type', 'application/x-www-form-urlencoded'],
        ['Content-Length', n % 2 === 0 ? '400000' : '16384'],
      ] as (readonly [string, string])[]
      wire.write(bytesOf({ method: 'POST', path: '/painel/entrar', headers, body: 'email=' }))
    }
    await Promise.all(wires.filter((_, n) => n % 2 === 0).map((wire) => wire.answered(1)))
    const drip = setInterval(() => {
      for (const wire of wires) wire.write('x')
    }, 100)
    try {
      const body = new URLSearchParams({ email: owner.email, password: owner.password })
      const entering = (address: string) => call('/painel/entrar', { method: 'POST', body, headers: from(address) })
      expect((await entering('203.0.113.66')).status, 'the same address').to.equal(503)
      expect((await entering('203.0.113.67')).status).to.equal(303)
      for (const address of ['203.0.113.66', '203.0.113.67']) {
        expect((await logIn(api.url, user, from(address))).status).to.equal(200)
        const told = await send(`${api.url}/webhook/paymentprovider/x/1`, 'POST', { type: 'plan' }, from(address))
        expect(told.status).to.equal(404)
      }
      expect((await owner.post('/painel/clientes', { ...form, name: 'Maria', person_type: 'PF' })).status).to.equal(303)
    } finally {
      clearInterval(drip)
      for (const wire of wires) wire.close()
    }
  })

  it('replace the former session at a new login', async () => {
    const cookie = owner.cookie()
    expect((await call('/painel/clientes')).status).to.equal(200)
    expect((await owner.logIn()).status).to.equal(303)
    expect(owner.cookie()).not.to.equal(cookie)
    expect((await call('/painel/clientes')).status).to.equal(200)
    expect((await call('/painel/clientes', { headers: { cookie } })).status).to.equal(303)
  })

  it('accept only __Host- cookies behind HTTPS, and never one from before the login [PANEL-3]', async () => {
    const secure = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.9' }
    const planted = `__Host-tillbook=tb_panel_${'A'.repeat(43)}`
    const body = new URLSearchParams({ email: owner.email, password: owner.password })
    const entered = await call('/painel/entrar', { method: 'POST', body, headers: { ...secure, cookie: planted } })
    const set = entered.headers.getSetCookie()[0] ?? ''
    expect(set).to.match(/^__Host-tillbook=tb_panel_[\w-]{43}; Path=\/; Expires=[^;]+; HttpOnly; Secure; SameSite=Lax$/)
    const [, token = ''] = /^__Host-tillbook=([^;]+)/.exec(set) ?? []
    expect(token).not.to.equal(planted.split('=')[1])
    const page = async (cookie: string) => (await call('/painel/clientes', { headers: { ...secure, cookie } })).status
    expect(await page(`__Host-tillbook=${token}`)).to.equal(200)
    expect(await page(`tillbook=${token}`), 'under the name that any site of the domain can set').to.equal(303)
  })

  it('ignore login redirects to anything but a page [PANEL-1]', async () => {
    for (const para of ['/painel/sair', '/painel/entrar', '/painel/ao-vivo', '/painel/ao-vivo?desde=1']) {
      const body = { email: owner.email, password: owner.password, para }
      expect((await owner.post('/painel/entrar', body)).to, para).to.equal('/painel')
    }
  })

  it('make page scripts open the login when the session ends', async () => {
    await owner.submit('/painel/clientes', {}, '/painel/sair')
    const { status, headers } = await call('/painel', { headers: { 'hx-request': 'true' } })
    expect([status, headers.get('hx-redirect')]).to.deep.equal([401, '/painel/entrar?feito=entre'])
  })
})
