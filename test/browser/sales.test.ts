import { inflateSync } from 'node:zlib'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { check } from '../support/browser/accessibility.ts'
import { NARROW } from '../support/browser/widths.ts'
import { describeInBrowser, usePanel } from '../support/browser.ts'
import { offlineSaleOf, upload } from '../support/offline-sales.ts'
import { openTill } from '../support/till.ts'

const GOODS = [
  { name: 'Café torrado e moído 500 g', price: '18.90', stock: '40' },
  { name: 'Pão francês', price: '0.90', stock: '300' },
  { name: 'Queijo minas 1 kg', price: '49.90', stock: '12' },
]

/** Top of the lower margin of an A4 page. */
const A4_MARGIN_PX = 1_077

/** Distances of the lines of text from the top of their page, in pixels. */
const heightsOfText = (pdf: Buffer): number[] =>
  [...pdf.toString('latin1').matchAll(/>>\s*stream\r?\n/g)].flatMap(({ index, 0: { length } }) => {
    const stream = pdf.subarray(index + length, pdf.indexOf('endstream', index))
    try {
      const text = inflateSync(stream).toString('latin1')
      return [...text.matchAll(/1 0 0 -1 [\d.]+ ([\d.]+) Tm/g)].map(([, height]) => Number(height))
    } catch {
      return [] // No compressed stream.
    }
  })

describeInBrowser('sales in a browser', () => {
  const panel = usePanel()
  let goods: number[]
  let cash: number
  let card: number
  let account: number

  before(async () => {
    const { company } = panel
    goods = []
    for (const item of GOODS) goods.push((await company.post('/catalog/items', item)).body.data.id)
    cash = await company.paymentType('cash')
    card = await company.paymentType('card', '2.50')
    account = await company.paymentType('credit_account')
    await company.post('/customers', { name: 'Maria Aparecida dos Santos', external_id: 'maria' })
    await company.post('/customers', { name: 'João Batista Lima', external_id: 'joao' })
    for (let n = 1; n <= 6; n++)
      await sell({
        external_id: `pedido-${n}`,
        customer_external_id: ['maria', 'joao', undefined][n % 3],
        items: [{ catalog_item_id: goods[n % 3], quantity: `${n}` }],
      })
  })

  async function sell(fields: object): Promise<number> {
    const reply = await panel.company.post('/sales', {
      payments: [{ payment_type_id: cash, amount: '500.00' }],
      ...fields,
    })
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data.id
  }

  /** Rows of the list, with normalized blanks. */
  const rowsOf = async (page: Page): Promise<string[]> => page.locator('#lista tbody tr').allInnerTexts()

  it('are filtered while typing, with the filters in the address', async () => {
    const page = await panel.openAs(panel.owner, '/painel/vendas')
    expect(await rowsOf(page)).to.have.length(6)
    await check(page)
    await page.getByLabel('Cliente').fill('maria')
    await page.waitForURL(/customer=maria/)
    await page.locator('#lista tbody tr').nth(2).waitFor({ state: 'detached' })
    for (const row of await rowsOf(page)) expect(row).to.include('Maria Aparecida dos Santos')
    await page.reload()
    expect(await rowsOf(page)).to.have.length(2)
    expect(await page.getByLabel('Cliente').inputValue()).to.equal('maria')
    await page.locator('.filters summary').click()
    await page.getByLabel('Situação').selectOption('Cancelada')
    await page.getByText('Nenhuma venda encontrada.').waitFor()
    await page.getByRole('link', { name: 'Limpar 2 filtros' }).click()
    await page.locator('#lista tbody tr').nth(5).waitFor()
  })

  it('are filtered without JavaScript, on a phone [PANEL-15]', async () => {
    const options = { javaScriptEnabled: false, viewport: NARROW }
    const page = await panel.openAs(panel.owner, '/painel/vendas', options)
    await page.locator('.filters summary').click()
    await page.getByLabel('Código externo').fill('pedido-2')
    await page.getByRole('button', { name: 'Filtrar' }).click()
    await page.waitForURL(/external_id=pedido-2/)
    expect(await rowsOf(page)).to.have.length(1)
  })

  it('are opened and cancelled, and unchanged at earlier revisions', async () => {
    const id = await sell({
      external_id: 'pedido-7',
      customer_external_id: 'maria',
      delivery_fee: '8.00',
      items: [
        { catalog_item_id: goods[0], quantity: '2' },
        { catalog_item_id: goods[2], quantity: '1.250' },
        { description: 'Cesta de café da manhã', quantity: '1', unit_price: '120.00' },
      ],
      payments: [
        { payment_type_id: card, amount: '200.00' },
        { payment_type_id: cash, amount: '50.00' },
      ],
    })
    const page = await panel.openAs(panel.owner, '/painel/vendas')
    await page.getByRole('link', { name: String(id), exact: true }).click()
    await page.getByRole('heading', { name: `Venda ${id}`, exact: true }).waitFor()
    await check(page)
    await page.getByText('Mais ações').click()
    await page.getByRole('link', { name: 'Cancelar venda' }).click()
    await page.getByLabel('Motivo').fill('Cliente desistiu')
    await check(page)
    await page.getByRole('button', { name: 'Cancelar venda' }).click()
    await page.getByRole('status').getByText('Venda cancelada.').waitFor()
    expect(await page.locator('.facts').first().textContent()).to.include('Cliente desistiu')
    expect(await page.getByRole('link', { name: 'Cancelar venda' }).count()).to.equal(0)
    expect((await panel.company.get(`/sales/${id}`)).body.data.status).to.equal('cancelled')
    await page.getByRole('heading', { name: 'Histórico' }).click()
    const history = page.getByRole('region', { name: 'Histórico' })
    await history
      .getByRole('row', { name: /Venda de R\$/ })
      .getByRole('link')
      .click()
    await page.getByRole('heading', { name: 'O que mudou' }).waitFor()
    await page.getByText('Mais ações').click()
    await page.getByRole('link', { name: 'Como ficou' }).click()
    await page.getByRole('note').getByText('Como era no evento').waitFor()
    expect(await page.locator('.facts').first().textContent()).to.include('Concluída')
  })

  it('of tills are shown with warnings, and refused ones until they are resolved', async () => {
    const till = await openTill(panel.api.url, panel.company, panel.clerk)
    const sale = (
      offline_id: string,
      price: number,
      quantity: number,
      payment_type_id: number,
      status = 'completed',
    ) => {
      const amount = Math.round(price * quantity * 100) / 100
      return offlineSaleOf({
        offline_id,
        total: amount,
        amount_received: amount,
        items: [{ product_id: goods[2], quantity, price, total: amount }],
        payments: [{ payment_type_id, amount, status }],
      })
    }
    await upload(till, [
      sale('caixa-1-001', 49.9, 1, cash),
      sale('caixa-1-002', 47.5, 2, account, 'pending'),
      sale('caixa-1-003', 49.9, 9, card),
      { ...sale('caixa-1-004', 49.9, 1, cash), total: 59.9 },
    ])
    const page = await panel.openAs(panel.owner, '/painel/caixas')
    await check(page)
    await page.getByLabel('Mostrar').selectOption('Só com avisos')
    await page.locator('#lista tbody tr').nth(2).waitFor({ state: 'detached' })
    expect(await rowsOf(page)).to.have.length(2)
    await page.getByRole('link', { name: 'caixa-1-004' }).click()
    await page.getByText('Total: a soma dos itens é R$ 49,90').waitFor()
    await page.getByText('Texto enviado (JSON)').click()
    await check(page)
    await page.getByRole('button', { name: 'Marcar como resolvida' }).click()
    await page.getByRole('status').getByText('Venda recusada marcada como resolvida.').waitFor()
    await page.getByText('Nenhuma venda recusada para resolver.').waitFor()
    await page.getByRole('link', { name: 'Resolvidas' }).click()
    await page.getByRole('link', { name: 'caixa-1-004' }).waitFor()
  })

  it('prints a receipt on one page of each paper, and lists with page numbers [PANEL-613] [PROOF-46]', async () => {
    const line = (description: string) => ({ description, quantity: '1', unit_price: '49.90' })
    const id = await sell({ items: ['Queijo minas 1 kg', 'Café torrado 500 g', 'Pão francês'].map(line) })
    const page = await panel.openAs(panel.owner, `/painel/vendas/${id}/recibo`)
    const pagesOf = (pdf: Buffer) => pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)?.length
    const hasPageNumber = (pdf: Buffer) => heightsOfText(pdf).some((height) => height > A4_MARGIN_PX)
    await page.getByRole('button', { name: 'Criar link' }).click()
    await page.getByRole('link', { name: 'Enviar por WhatsApp' }).waitFor()
    await check(page)
    await page.emulateMedia({ media: 'print' })
    for (const millimetres of [58, 80, 210]) {
      const width = `${millimetres}mm`
      const pdf = await page.pdf({ width, height: '297mm' })
      expect([pagesOf(pdf), hasPageNumber(pdf)], width).to.deep.equal([1, false])
      await page.setViewportSize({ width: Math.floor(((millimetres - 6) / 25.4) * 96), height: 1000 })
      expect(await page.locator('.qr:visible').count(), width).to.equal(1)
      const printed = await page.locator('body').boundingBox()
      if (millimetres === 80) expect(printed?.height).to.be.below((114 / 25.4) * 96)
    }
    await page.goto('/painel/vendas?sold_from=2020-01-01')
    await page.setViewportSize({ width: 703, height: 1000 })
    const list = await page.pdf({ format: 'A4' })
    expect([pagesOf(list), hasPageNumber(list)]).to.deep.equal([1, true])
    expect(await page.locator('.company').isVisible()).to.equal(true)
    expect(await page.getByText('De: 01/01/2020', { exact: true }).isVisible()).to.equal(true)
    expect(await page.locator('.sizes').isVisible()).to.equal(false)
  })
})
