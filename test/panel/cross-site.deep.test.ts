import { expect } from 'chai'
import type { PanelRoute } from '#panel/panel-route.ts'
import { PANEL_ROUTES } from '#panel/routes.ts'
import type { TestCompany } from '../support/api.ts'
import { type PanelUser, panelUser, textIn } from '../support/panel.ts'
import { useApi } from '../support/use-api.ts'

describe('panel: navigation from another site', () => {
  const api = useApi({ settings: { PANEL_QUOTA_PER_SESSION: '5' } })
  let company: TestCompany
  let owner: PanelUser

  before(async () => {
    company = await api.company()
  })
  beforeEach(async () => {
    owner = await panelUser(api, company)
  })

  async function visit(path: string, site: string | null) {
    const headers = { cookie: owner.cookie(), ...(site && { 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate' }) }
    const response = await fetch(`${api.url}/painel${path}`, { headers, redirect: 'manual' })
    return { status: response.status, type: response.headers.get('content-type'), html: await response.text() }
  }
  const isStep = (html: string) => textIn(html).includes('Você veio de outro site. Para ver esta página, continue.')
  const pathsOf = (matches: (route: PanelRoute) => boolean) =>
    PANEL_ROUTES.filter((route) => !('submit' in route) && matches(route)).map(({ path }) => path)

  for (const path of [
    ...pathsOf((route) => !route.path.includes(':') && !('openToLinks' in route)),
    '/auditoria/eventos/0',
    '/auditoria/registros/company/1',
    '/auditoria/pacote/baixar',
    '/dados-pessoais/customer/1/json',
    '/vendas/1/recibo/arquivo',
    '/fechamento-do-mes/2026-01/arquivo',
    '/vendas/1?em=1',
  ])
    it(`receives a page that redirects to ${path}, without its content [PANEL-305]`, async () => {
      const { status, html, type } = await visit(path, 'cross-site')
      expect([status, type, isStep(html)]).to.deep.equal([200, 'text/html; charset=utf-8', true])
      expect(html).to.include(`href="/painel${path === '/' ? '' : path}"`)
      for (const site of ['same-origin', 'same-site', 'none', null])
        expect(isStep((await visit(path, site)).html), String(site)).to.equal(false)
    })

  it('keeps the whole query in the redirect, and never leads to another site [PANEL-305]', async () => {
    const { html } = await visit('/vendas?sold_from=&q=%22%3E%3Cb&feito=x', 'cross-site')
    expect(html).to.include('href="/painel/vendas?sold_from=&amp;q=%22%3E%3Cb&amp;feito=x"')
    const absolute = await visit('//outro.example/', 'cross-site')
    expect(absolute.html).not.to.include('href="//')
  })

  it('opens the answer of the payment provider directly [PANEL-305] [PAY-81]', async () => {
    const { status, html } = await visit('/loja/conectar', 'cross-site')
    expect([status, isStep(html)]).to.deep.equal([409, false])
  })

  it('opens a record directly, in its current state [PANEL-305]', async () => {
    const { id } = (await company.post('/customers', { name: 'Ana Souza' })).body.data
    const { status, html } = await visit(`/clientes/${id}`, 'cross-site')
    expect([status, isStep(html)]).to.deep.equal([200, false])
    expect(textIn(html)).to.include('Ana Souza')
  })

  it('is refused at once without permission', async () => {
    owner = await panelUser(api, company, 'clerk')
    expect((await visit('/auditoria', 'cross-site')).status).to.equal(403)
  })

  it('does not count toward the session quota, and has its own limit [PANEL-305]', async () => {
    const statuses: number[] = []
    for (let n = 0; n < 32; n++) statuses.push((await visit('/', 'cross-site')).status)
    expect(statuses).to.deep.equal([...Array<number>(30).fill(200), 429, 429])
    expect((await visit('/', 'same-origin')).status).to.equal(200)
  })
})
