import { expect } from 'chai'
import { updateCompany } from '#commands/company-commands.ts'
import type { TestCompany } from '../support/api.ts'
import { browser, panelUser, textIn } from '../support/panel.ts'
import { OWN_DATABASE, useApi } from '../support/use-api.ts'

const NAMES = ['Padaria Ipê', 'Mercado Sol']

describe('panel: brand before the login', () => {
  const api = useApi(OWN_DATABASE)
  const companies: TestCompany[] = []

  async function open(color: string): Promise<TestCompany> {
    const company = await api.company()
    await company.run(updateCompany, { name: NAMES[companies.length], brand_color: color })
    companies.push(company)
    return company
  }

  const shownOn = async (path: string, visitor = browser(api.url)) => {
    const { html } = await visitor.get(path)
    return { brand: textIn(/<p class="(?:brand|shop)">.*?<\/p>/s.exec(html)?.[0] ?? '').trim(), html }
  }

  it('is that of the only company [PANEL-1354]', async () => {
    const company = await open('#b3261e')
    for (const path of ['/painel/entrar', '/painel/esqueci', '/painel/nova-senha?codigo=x', '/conferir']) {
      const { brand, html } = await shownOn(path)
      expect(brand, path).to.equal('Padaria Ipê')
      expect(html, path).to.match(/marca-b3261e\.css|--brand:#b3261e/)
    }
    const owner = await panelUser(api, company)
    expect((await shownOn('/painel/entrar', owner)).brand).to.equal('Padaria Ipê')
  })

  it('is that of the last one by the cookie of a login, which no one can make up [PANEL-1354]', async () => {
    const second = await open('#1b7f3b')
    expect((await shownOn('/painel/entrar')).brand).to.equal('Tillbook')
    const owner = await panelUser(api, second)
    await owner.submit('/painel', {}, '/painel/sair')
    expect((await shownOn('/painel/entrar', owner)).brand).to.equal('Mercado Sol')
    const [, code = ''] = /tillbook-loja=([^;]+)/.exec(owner.cookie()) ?? []
    const [first] = companies
    for (const forged of [`${first?.id}.${code.split('.')[1]}`, `${second.id}.`, `${second.id}`, 'x'.repeat(5_000)]) {
      const cookie = `tillbook-loja=${forged}`
      const html = await (await fetch(`${api.url}/painel/entrar`, { headers: { cookie } })).text()
      expect(html, forged.slice(0, 40)).not.to.include('Padaria').and.not.to.include('Mercado')
    }
    expect((await shownOn(`/conferir?loja=${code}`)).brand).to.equal('Mercado Sol')
    expect((await shownOn('/conferir?loja=1.x&loja=2')).brand).to.equal('')
  })

  it('is that of who invited, or made the link to a password [PANEL-1354]', async () => {
    const [, second] = companies as [TestCompany, TestCompany]
    const [owner, clerk] = [await panelUser(api, second), await panelUser(api, second, 'clerk')]
    const users = '/painel/configuracoes/usuarios'
    const invited = await owner.submit(`${users}/novo`, { name: 'Eva', role: 'clerk', email: 'eva@sol.example' })
    const link = await owner.submit(`${users}/${clerk.id}/nova-senha`, {})
    for (const { html } of [invited, link]) {
      const [path = ''] = /\/painel\/(?:convite|nova-senha)\?codigo=[\w-]+/.exec(html) ?? []
      expect((await shownOn(path)).brand, path).to.equal('Mercado Sol')
    }
  })
})
