import { expect } from 'chai'
import type { TestCompany } from '../support/api.ts'
import { hiddenFields, type PanelUser, panelUser, textIn, usePanelUser } from '../support/panel.ts'
import { useApi } from '../support/use-api.ts'
import { until } from '../support/wait.ts'

describe('panel: request quota', () => {
  const [ofSession, ofUser, ofCompany] = [6, 9, 12]
  const api = useApi({
    settings: {
      PANEL_QUOTA_PER_SESSION: String(ofSession),
      PANEL_QUOTA_PER_USER: String(ofUser),
      PANEL_QUOTA_PER_COMPANY: String(ofCompany),
    },
  })
  let company: TestCompany
  let clerk: PanelUser

  beforeEach(async () => {
    company = await api.company()
    clerk = await panelUser(api, company, 'manager')
  })

  const statuses = async (user: PanelUser, times: number, path = '/painel/conta') => {
    const seen: number[] = []
    for (let n = 0; n < times; n++) seen.push((await user.get(path)).status)
    return seen
  }
  const times = (count: number, status: number) => Array<number>(count).fill(status)
  const minuteIsOver = () =>
    company.core.pool.query(`update ops.panel_request_counts set minute_ends_at = now() where company_id = $1`, [
      company.id,
    ])

  it('responds 429 with a page that names the wait, until the minute ends [PANEL-302]', async () => {
    expect(await statuses(clerk, ofSession)).to.deep.equal(times(ofSession, 200))
    const { status, headers, html } = await clerk.get('/painel')
    expect(status).to.equal(429)
    const wait = Number(headers.get('retry-after'))
    expect(wait).to.be.within(1, 60)
    expect(headers.get('content-type')).to.equal('text/html; charset=utf-8')
    expect(textIn(html)).to.include('Acessos demais').and.to.include(`Tente de novo em ${wait} segundos.`)
    await minuteIsOver()
    expect(await statuses(clerk, 1)).to.deep.equal([200])
  })

  it('counts a user over all browsers, and a company over all users [PANEL-302]', async () => {
    await statuses(clerk, ofSession)
    await clerk.logIn()
    expect(await statuses(clerk, 4)).to.deep.equal([...times(ofUser - ofSession, 200), 429])
    const owner = await panelUser(api, company, 'owner')
    expect(await statuses(owner, 4)).to.deep.equal([...times(ofCompany - ofUser, 200), 429])
    const stranger = await panelUser(api, await api.company(), 'owner')
    expect(await statuses(stranger, 2)).to.deep.equal([200, 200])
  })

  it('counts pages, files, forms and unknown addresses alike; a refused form changes nothing [PANEL-302]', async () => {
    const form = hiddenFields((await clerk.get('/painel/clientes/novo')).html, '/painel/clientes')
    const post = (name: string) => clerk.post('/painel/clientes', { ...form, name, _key: crypto.randomUUID() })
    const answers = [
      (await clerk.get('/painel/clientes.csv')).status,
      (await clerk.get('/painel/nada')).status,
      (await post('Ana')).status,
      (await clerk.get('/painel/vendas?em=x')).status,
      (await clerk.get('/painel/configuracoes')).status,
      (await post('Bia')).status,
      (await clerk.get('/painel/clientes.csv')).status,
    ]
    expect(answers).to.deep.equal([200, 404, 303, 422, 403, 429, 429])
    const { rows } = await company.core.pool.query(`select doc->>'name' as name from customers where company_id = $1`, [
      company.id,
    ])
    expect(rows).to.deep.equal([{ name: 'Ana' }])
  })

  it('does not limit logout and login [PANEL-302]', async () => {
    const { html } = await clerk.get('/painel/conta')
    await statuses(clerk, ofSession)
    expect((await clerk.get('/painel')).status).to.equal(429)
    const { to } = await clerk.post('/painel/sair', hiddenFields(html, '/painel/sair'))
    expect(to).to.equal('/painel/entrar?feito=saiu')
    expect((await clerk.logIn()).status).to.equal(303)
  })

  it('does not count static files, and counts live streams separately [PANEL-302]', async () => {
    const { html } = await clerk.get('/painel/conta')
    const files = [...html.matchAll(/(?:href|src)="(\/painel\/assets\/[^"]+)"/g)].map(([, path]) => path as string)
    expect(files.length).to.be.above(3)
    for (let n = 0; n < ofSession; n++) for (const path of files) expect((await clerk.get(path)).status).to.equal(200)
    const listen = async () => {
      const gone = new AbortController()
      const signal = gone.signal
      const { status } = await fetch(`${api.url}/painel/ao-vivo`, { headers: { cookie: clerk.cookie() }, signal })
      gone.abort()
      return status
    }
    const opened = []
    for (let n = 0; n <= ofSession; n++) opened.push(await listen())
    expect(opened).to.deep.equal([...times(ofSession, 200), 429])
    await until(async () => (await api.connections()) <= 2)
    expect(await statuses(clerk, ofSession)).to.deep.equal([...times(ofSession - 1, 200), 429])
  })
})

describe('panel: concurrent requests of a user', () => {
  const api = useApi()

  it('run a few at a time, without delaying other users of the company [PANEL-304]', async () => {
    const company = await api.company()
    const [greedy, other] = [await panelUser(api, company, 'clerk'), await panelUser(api, company, 'owner')]
    const answers = Array.from({ length: 60 }, () => greedy.get('/painel/vendas'))
    const own = Array.from({ length: 5 }, () => other.get('/painel/vendas'))
    let done = 0
    for (const answer of answers) void answer.then(() => done++)
    for (const answer of own) expect((await answer).status).to.equal(200)
    expect(done, 'pages of the other before').to.be.below(45)
    for (const answer of answers) expect((await answer).status).to.equal(200)
  })
})

const MEBIBYTE = 1_048_576

describe('panel: bytes of a day', () => {
  const { api, company, user } = usePanelUser('owner', {}, { bytesPerDay: MEBIBYTE })

  const left = async () => Number((await company.get('/me')).headers.get('x-ratelimit-bytes-remaining'))
  const SENT = 300_000

  async function send(path: string, page = path, duplex = false) {
    const { _csrf = '', _key = '' } = hiddenFields((await user.get(page)).html, path)
    const form = new FormData()
    form.set('_csrf', _csrf)
    form.set('_key', _key)
    form.set('file', new Blob(['x'.repeat(SENT)]), 'arquivo')
    const request = new Request('http://localhost', { method: 'POST', body: form })
    const headers = { cookie: user.cookie(), 'content-type': request.headers.get('content-type') ?? '' }
    const init = { method: 'POST', headers, redirect: 'manual' } as const
    if (!duplex) return fetch(`${api.url}${path}`, { ...init, body: await request.arrayBuffer() })
    return fetch(`${api.url}${path}`, { ...init, body: request.body, duplex: 'half' } as RequestInit)
  }

  it('count files that are sent, and refuse those beyond them; small forms are taken [RATE-740]', async () => {
    const { id } = (await company.post('/catalog/items', { name: 'Mel', price: '1.00' })).body.data
    let before = await left()
    for (const [path, page] of [
      [`/painel/catalogo/${id}/imagem`, `/painel/catalogo/${id}`],
      ['/painel/clientes/importar', undefined],
      ['/painel/configuracoes/logotipo', '/painel/configuracoes'],
    ] as const) {
      expect((await send(path, page)).status, path)
        .to.be.below(500)
        .and.not.equal(429)
      const after = await left()
      expect(before - after, path).to.be.within(SENT, SENT + 2_000)
      before = after
    }
    expect((await send('/painel/clientes/importar')).status).to.equal(429)
    expect((await send('/painel/clientes/importar', undefined, true)).status, 'without a size').to.equal(429)
    expect(await left()).to.equal(before)
    const created = await user.submit('/painel/clientes/novo', { name: 'Ana' }, '/painel/clientes')
    expect(created.status).to.equal(303)
  })
})
