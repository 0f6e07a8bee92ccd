import { expect } from 'chai'
import { send, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { hiddenFields, type PanelUser, panelUser, textIn } from '../support/panel.ts'
import { createTestUser, logIn } from '../support/till.ts'
import { until } from '../support/wait.ts'
import { bytesOf, openWire } from '../support/wire.ts'

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
