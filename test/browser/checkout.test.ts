import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { createStore } from '#commands/store-commands.ts'
import { type Receipt, toReceiptDigits } from '#integrity/sale-receipts.ts'
import { applyPayment } from '#payments/notifications.ts'
import type { ProviderPayment } from '#payments/provider-port.ts'
import { renderReceiptDocument } from '#public/receipt-page.tsx'
import { type Json, PUBLIC_URL } from '../support/api.ts'
import { check } from '../support/browser/accessibility.ts'
import { tabThrough } from '../support/browser/keyboard.ts'
import { NARROW } from '../support/browser/widths.ts'
import { describeInBrowser, useBrowser, usePanel } from '../support/browser.ts'
import { createMemoryProvider } from '../support/memory-provider.ts'
import { ledgerOf, newKey, saleData, trustedOf } from '../support/receipts.ts'

const CODE = '00020126580014br.gov.bcb.pix0136sandbox-15303986540571.525802BR6304ABCD'

describeInBrowser('checkout page in a browser', () => {
  const provider = createMemoryProvider()
  const panel = usePanel({ provider })

  before('open a store', () =>
    panel.company.run(createStore, {
      alias: 'loja',
      commission_percentage: '5',
      sandbox: true,
      access_token: 'TEST-token',
    }),
  )

  /** Order payable by Pix, and the path of its checkout page. */
  async function place(): Promise<{ id: number; path: string }> {
    const items = [{ description: 'Cesta de café da manhã com frutas da estação', quantity: '1', unit_price: '71.52' }]
    const customer = { name: 'Ana', email: 'ana@example.com' }
    const { data } = (await panel.company.post('/orders', { store_alias: 'loja', customer, items })).body as {
      data: Json
    }
    const pix = { qr_code: CODE, qr_code_base64: null, ticket_url: null }
    provider.twist((charge) => Object.assign(charge(), { details: { pix } }))
    return { id: data.id, path: data.payment_url.slice(PUBLIC_URL.length) }
  }

  async function tellPaid(orderId: number): Promise<void> {
    const payment = { ...(provider.payments.at(-1) as ProviderPayment), status: 'approved' }
    await applyPayment(panel.api.core.writer, { companyId: panel.company.id, orderId, requestId: null }, payment)
  }

  const heading = (page: Page, name: string) => page.getByRole('heading', { name }).waitFor()
  const press = (page: Page) => page.getByRole('button', { name: 'com Pix' }).click()

  it('is accessible, copies the Pix code, and follows the state of the order [ORDER-35, ORDER-38]', async () => {
    const { id, path } = await place()
    const page = await panel.open(path, { viewport: NARROW, permissions: ['clipboard-read', 'clipboard-write'] })
    await check(page)
    await tabThrough(page)
    await press(page)
    await heading(page, 'Pague com Pix')
    await page.getByRole('img', { name: 'QR Code do Pix' }).waitFor()
    await check(page)
    await tabThrough(page)
    await page.getByRole('button', { name: 'Copiar' }).click()
    await page.getByRole('button', { name: 'Copiado' }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).to.equal(CODE)
    await tellPaid(id)
    await heading(page, 'Pagamento recebido')
    expect(await page.locator('#aviso').textContent()).to.equal('Pagamento recebido')
    await check(page)
  })

  it('works without JavaScript, and reloads itself while the payment is pending [ORDER-35, ORDER-38]', async () => {
    const { id, path } = await place()
    const page = await panel.open(path, { viewport: NARROW, javaScriptEnabled: false })
    await press(page)
    await heading(page, 'Pague com Pix')
    expect(await page.getByLabel('Pix copia e cola').inputValue()).to.equal(CODE)
    expect(await page.getByRole('button', { name: 'Copiar' }).count()).to.equal(0)
    expect(await page.locator('meta[http-equiv="refresh"]').getAttribute('content')).to.equal('15')
    await tellPaid(id)
    await page.getByRole('link', { name: 'Atualizar' }).click()
    await heading(page, 'Pagamento recebido')
    expect(await page.locator('meta[http-equiv="refresh"]').count()).to.equal(0)
  })
})

const HOSTILE = '<img src=x onerror="document.title = 1">'

describeInBrowser('receipt page saved as a file, in a browser', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tillbook-receipts-'))
  after(() => rmSync(folder, { recursive: true }))
  const browser = useBrowser(() => 'http://127.0.0.1')

  const key = newKey()
  const sale = { type: 'SaleCompleted', subject: 'sale/981', data: saleData(981, `Café ${HOSTILE}`) }
  const cancelled = { type: 'SaleCancelled', subject: 'sale/981', data: { id: 981, reason: null, restock: [] } }
  const { prove } = ledgerOf(7, [sale, cancelled])
  const receipt: Receipt = { version: 1, ...prove(0, key) }

  it('verifies code, file and text of a receipt without requests [PROOF-43, PROOF-46, PROOF-48]', async () => {
    const path = join(folder, 'conferir.html')
    writeFileSync(path, renderReceiptDocument(trustedOf(key)))
    const page = await browser.open(`${pathToFileURL(path)}#${toReceiptDigits(receipt)}`, { viewport: NARROW })
    const heading = (name: string) => page.getByRole('heading', { name, exact: true }).waitFor()
    const give = async (given: unknown) => {
      await page.getByLabel('Conteúdo').fill(typeof given === 'string' ? given : JSON.stringify(given))
      await page.getByRole('button', { name: 'Conferir' }).click()
    }

    await heading('Recibo autêntico')
    const shown = (await page.locator('#resultado').textContent()) ?? ''
    for (const text of [`Café ${HOSTILE}`, 'R$ 41,30', 'Dinheiro', 'O nome da loja: confira', '21/11/2026, 08:17:15'])
      expect(shown.replaceAll('\u00a0', ' ')).to.contain(text)
    for (const folded of ['CLI-001', 'tillbook/'])
      expect(await page.getByText(folded).first().isVisible()).to.equal(false)
    await check(page)
    await tabThrough(page)
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Salvar o recibo em arquivo' }).click()
    expect((await download).suggestedFilename()).to.equal('recibo-sale-981.json')

    await give({ ...receipt, event: { ...receipt.event, data: saleData(981) } })
    await heading('Recibo inválido')
    expect(await page.locator('#resultado').textContent()).to.contain('Este recibo foi alterado')
    expect(await page.locator('#resultado').textContent()).to.not.contain('Café')
    await give({ ...receipt, ...prove(0, newKey()) })
    await heading('Nada foi provado: a chave é desconhecida')
    expect(await page.locator('#resultado').textContent()).to.not.contain('Café')
    const file = { name: 'recibo.json', mimeType: 'application/json' }
    const whole = { ...receipt, cancellation: prove(1, key) }
    await page.getByLabel('Arquivo').setInputFiles({ ...file, buffer: Buffer.from(JSON.stringify(whole)) })
    await heading('Recibo autêntico de uma venda cancelada')
    await give(`https://loja.example/conferir#hash=${'0'.repeat(64)}`)
    await heading('Falta o arquivo do recibo')
    await give(receipt)
    await heading('Recibo de outra venda')
    expect(await page.getByRole('link', { name: 'Salvar esta página' }).count()).to.equal(0)
  })
})
