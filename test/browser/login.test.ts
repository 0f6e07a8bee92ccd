import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { describeInBrowser, usePanel } from '../support/browser.ts'

describeInBrowser('coming and going, in a browser', () => {
  const panel = usePanel()

  const addressOf = (page: Page): string => page.url().replace(panel.api.url, '')

  it('leads from a page through the login back to it, with the keyboard alone [PANEL-14]', async () => {
    const page = await panel.open('/painel/clientes')
    for (const text of [panel.owner.email, panel.owner.password]) {
      await page.keyboard.press('Tab')
      await page.keyboard.type(text)
    }
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Clientes', level: 1 }).waitFor()
    expect(addressOf(page)).to.equal('/painel/clientes')
  })

  it('says what was wrong, keeps the address typed, and shows no password', async () => {
    const page = await panel.open('/painel/entrar')
    await page.getByLabel('E-mail').fill(panel.owner.email)
    await page.getByLabel('Senha').fill('outra senha qualquer')
    await page.getByRole('button', { name: 'Entrar' }).click()
    await page.getByText('E-mail ou senha incorretos.').waitFor()
    expect(await page.getByLabel('E-mail').inputValue()).to.equal(panel.owner.email)
    expect(await page.getByLabel('Senha').inputValue()).to.equal('')
  })

  it('ends with the way out: going back shows nothing any more', async () => {
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

  it('is searched while one types, in an address that can be kept', async () => {
    const page = await panel.openAs(panel.owner, '/painel/clientes')
    await page.getByLabel('Busca').pressSequentially('Bruno')
    await page.getByRole('link', { name: 'Ana Souza' }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Bruno Lima' }).waitFor()
    expect(new URL(page.url()).searchParams.get('q')).to.equal('Bruno')
    await page.reload()
    expect(await page.getByLabel('Busca').inputValue()).to.equal('Bruno')
    expect(await page.getByRole('link', { name: 'Ana Souza' }).count()).to.equal(0)
  })

  it('shows as text what looks like a script', async () => {
    const page = await panel.openAs(panel.owner, '/painel/clientes')
    await page.getByRole('link', { name: '<b>Célia</b> & <script>alert(1)</script>' }).click()
    await page.getByRole('heading', { name: '<b>Célia</b>' }).waitFor()
    expect(await page.locator('main script, main b').count()).to.equal(0)
  })

  it('is read and searched where no script runs [PANEL-15]', async () => {
    const page = await panel.openAs(panel.owner, '/painel/clientes', { javaScriptEnabled: false })
    await page.getByLabel('Busca').fill('Ana')
    await page.getByRole('button', { name: 'Filtrar' }).click()
    await page.getByRole('link', { name: 'Bruno Lima' }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Ana Souza' }).click()
    await page.getByRole('heading', { name: 'Ana Souza', level: 1 }).waitFor()
  })
})
