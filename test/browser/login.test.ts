import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { describeInBrowser, usePanel } from '../support/browser.ts'

describeInBrowser('login and logout in a browser', () => {
  const panel = usePanel()

  const addressOf = (page: Page): string => page.url().replace(panel.api.url, '')

  it('returns to the requested page after a login by keyboard [PANEL-14]', async () => {
    const page = await panel.open('/painel/clientes')
    for (const text of [panel.owner.email, panel.owner.password]) {
      await page.keyboard.press('Tab')
      await page.keyboard.type(text)
    }
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Clientes', level: 1 }).waitFor()
    expect(addressOf(page)).to.equal('/painel/clientes')
  })

  it('shows the error, keeps the e-mail, and clears the password', async () => {
    const page = await panel.open('/painel/entrar')
    await page.getByLabel('E-mail').fill(panel.owner.email)
    await page.getByLabel('Senha').fill('outra senha qualquer')
    await page.getByRole('button', { name: 'Entrar' }).click()
    await page.getByText('E-mail ou senha incorretos.').waitFor()
    expect(await page.getByLabel('E-mail').inputValue()).to.equal(panel.owner.email)
    expect(await page.getByLabel('Senha').inputValue()).to.equal('')
  })

  it('shows no page after a logout, not even with the back button', async () => {
    const page = await panel.openAs(panel.owner, '/painel/clientes')
    await page.getByRole('button', { name: 'Sair' }).click()
    await page.getByRole('button', { name: 'Entrar' }).waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Entrar' }).waitFor()
  })
})

describeInBrowser('a list of the panel, in a browser', () => {
  const panel = usePanel()

  before(async () => {
    for (const name of ['Ana Souza', 'Bruno Lima', '<b>Célia</b> & <script>alert(1)</script>'])
      expect((await panel.company.post('/customers', { name })).status).to.equal(201)
  })

  it('searches while typing, with the query in the address', async () => {
    const page = await panel.openAs(panel.owner, '/painel/clientes')
    await page.getByLabel('Busca').pressSequentially('Bruno')
    await page.getByRole('link', { name: 'Ana Souza' }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Bruno Lima' }).waitFor()
    expect(new URL(page.url()).searchParams.get('q')).to.equal('Bruno')
    await page.reload()
    expect(await page.getByLabel('Busca').inputValue()).to.equal('Bruno')
    expect(await page.getByRole('link', { name: 'Ana Souza' }).count()).to.equal(0)
  })

  it('escapes markup', async () => {
    const page = await panel.openAs(panel.owner, '/painel/clientes')
    await page.getByRole('link', { name: '<b>Célia</b> & <script>alert(1)</script>' }).click()
    await page.getByRole('heading', { name: '<b>Célia</b>' }).waitFor()
    expect(await page.locator('main script, main b').count()).to.equal(0)
  })

  it('can be read and searched without JavaScript [PANEL-15]', async () => {
    const page = await panel.openAs(panel.owner, '/painel/clientes', { javaScriptEnabled: false })
    await page.getByLabel('Busca').fill('Ana')
    await page.getByRole('button', { name: 'Filtrar' }).click()
    await page.getByRole('link', { name: 'Bruno Lima' }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Ana Souza' }).click()
    await page.getByRole('heading', { name: 'Ana Souza', level: 1 }).waitFor()
  })
})
