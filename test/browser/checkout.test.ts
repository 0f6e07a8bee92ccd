import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { createStore } from '#commands/store-commands.ts'
import { applyPayment } from '#payments/apply-payment.ts'
import type { ProviderPayment } from '#payments/provider-port.ts'
import { type Json, PUBLIC_URL } from '../support/api.ts'
import { check } from '../support/browser/accessibility.ts'
import { tabThrough } from '../support/browser/keyboard.ts'
import { NARROW } from '../support/browser/widths.ts'
import { describeInBrowser, usePanel } from '../support/browser.ts'
import { createMemoryProvider } from '../support/memory-provider.ts'

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
