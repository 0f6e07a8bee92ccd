import { expect } from 'chai'
import { browser, hiddenFields, panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'

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
