import { expect } from 'chai'
import { check } from '../support/browser/accessibility.ts'
import { NARROW } from '../support/browser/widths.ts'
import { describeInBrowser, usePanel } from '../support/browser.ts'
import { openTill } from '../support/till.ts'

const DAY_MS = 86_400_000

describeInBrowser('a day that begins, in a browser', () => {
  const panel = usePanel()
  let drawer: string

  before(async () => {
    const { company, api, owner } = panel
    const payment_type_id = await company.paymentType('cash')
    const items = [{ description: 'Cesta', quantity: '1', unit_price: '1448.73' }]
    const sold_at = new Date(Date.now() - DAY_MS).toISOString()
    await company.post('/sales', { items, payments: [{ payment_type_id, amount: '1448.73' }], sold_at })
    for (const side of ['payables', 'receivables'])
      await company.post(`/finance/${side}`, { description: 'Conta', amount: '10.00', due_date: '2020-01-10' })
    const till = await openTill(api.url, company, owner)
    const movements = [
      { kind: 'opened', amount: 70 },
      { kind: 'in', amount: 20 },
      { kind: 'out', amount: 30 },
    ].map((movement) => ({ offline_id: movement.kind, session_id: 'g', at: new Date().toISOString(), ...movement }))
    await till.post('/sync/cash', { movements })
    drawer = `/painel/caixas/sessoes/${(await company.get('/cash-sessions')).body.data[0].id}`
  })

  for (const viewport of [{ width: 1280, height: 800 }, NARROW])
    it(`shows Bom dia and what needs a person above the fold at ${viewport.width} px [PANEL-1303] [PANEL-1370]`, async () => {
      const page = await panel.openAs(panel.owner, '/painel', { viewport })
      const morning = await page.getByRole('heading', { name: 'Bom dia' }).boundingBox()
      const tasks = await page.locator('.todo li').last().boundingBox()
      expect((morning?.y ?? 9_999) < (tasks?.y ?? 0)).to.equal(true)
      expect((tasks?.y ?? 9_999) + (tasks?.height ?? 0)).to.be.lessThan(viewport.height)
      await check(page)
    })

  it('steps through a drawer by arrow keys [PANEL-1374]', async () => {
    const page = await panel.openAs(panel.owner, drawer)
    await page.getByText('Histórico', { exact: true }).first().click()
    await page.getByRole('slider').focus()
    await page.keyboard.press('ArrowLeft')
    await page.getByRole('heading', { name: 'Máquina do tempo' }).waitFor()
    await page.getByText('Momento 2 de 3').waitFor()
    await page.keyboard.press('ArrowLeft')
    await page.getByText('Momento 1 de 3').waitFor()
    await page.getByText('Gaveta aberta com R$ 70,00').first().waitFor()
    expect(new URL(page.url()).searchParams.get('em')).to.match(/^\d+$/)
    await page.keyboard.press('ArrowRight')
    await page.getByText('Momento 2 de 3').waitFor()
    await check(page)
  })

  it('steps through it by links where no scripts run [PANEL-1374]', async () => {
    const page = await panel.openAs(panel.owner, drawer, { javaScriptEnabled: false })
    await page.getByText('Histórico', { exact: true }).first().click()
    expect(await page.getByRole('slider').count()).to.equal(0)
    await page.getByRole('link', { name: '« Antes' }).click()
    await page.getByText('Momento 2 de 3').waitFor()
    await page.getByRole('link', { name: 'Depois »' }).click()
    await page.getByText('Momento 3 de 3').waitFor()
  })
})
