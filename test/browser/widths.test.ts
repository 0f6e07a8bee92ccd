import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { NARROW, WIDE } from '../support/browser/widths.ts'
import { describeInBrowser, usePanel } from '../support/browser.ts'

describeInBrowser('pages as wide as a phone, and as a desk', () => {
  const panel = usePanel()
  const widthOf = async (page: Page, selector: string) =>
    (await page.locator(selector).first().boundingBox())?.width ?? 0

  it('have the form of an import as wide as the cards beside it', async () => {
    const page = await panel.openAs(panel.owner, '/painel/catalogo/importar')
    await page.setViewportSize(WIDE)
    expect(await widthOf(page, 'main > .form')).to.equal(await widthOf(page, 'main > .card'))
  })

  it('say what each of several numbers of a row is on a phone, where no column does', async () => {
    const card = await panel.company.paymentType('card')
    const terms = { acquirer_rate: '3.00', settles_in_days: 1 }
    await panel.company.call('PATCH', `/sales/payment-types/${card}`, terms)
    const items = [{ description: 'Bolo', quantity: '1', unit_price: '1234.56' }]
    const payments = [{ payment_type_id: card, amount: '1234.56' }]
    expect((await panel.company.post('/sales', { items, payments })).status).to.equal(201)
    const page = await panel.openAs(panel.owner, '/painel/contas-a-receber/operadoras')
    const shown = () =>
      page.evaluate<string[]>(
        `[...document.querySelectorAll('.list td.number')].map((cell) => getComputedStyle(cell, '::before').content)`,
      )
    await page.setViewportSize(WIDE)
    expect(new Set(await shown())).to.deep.equal(new Set(['none']))
    await page.setViewportSize(NARROW)
    for (const head of ['Valor', 'Taxa', 'A receber']) expect((await shown()).join()).to.include(head)
  })

  it('break no sum of the start page in two lines', async () => {
    const account = { description: 'Aluguel', amount: '123456.78', due_date: '2099-01-01' }
    await panel.company.post('/finance/payables', account)
    await panel.company.post('/finance/receivables', account)
    const page = await panel.openAs(panel.owner, '/painel', { viewport: NARROW })
    const lines = await page.evaluate<number[]>(
      `[...document.querySelectorAll('.card .stat .figure')].map((figure) =>
        Math.round(figure.getBoundingClientRect().height / Number.parseFloat(getComputedStyle(figure).lineHeight)))`,
    )
    expect(lines.length).to.be.at.least(2)
    expect(new Set(lines)).to.deep.equal(new Set([1]))
  })
})
