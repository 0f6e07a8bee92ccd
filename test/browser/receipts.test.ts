import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { digitsOf, type Receipt } from '#integrity/sale-receipts.ts'
import { documentOf } from '#public-pages/receipt-page.tsx'
import { check } from '../support/browser/accessibility.ts'
import { tabThrough } from '../support/browser/keyboard.ts'
import { NARROW } from '../support/browser/widths.ts'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { ledgerOf, newKey, saleData, trustedOf } from '../support/receipts.ts'

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
    writeFileSync(path, documentOf(trustedOf(key)))
    const page = await browser.open(`${pathToFileURL(path)}#${digitsOf(receipt)}`, { viewport: NARROW })
    const heading = (name: string) => page.getByRole('heading', { name, exact: true }).waitFor()
    const give = async (given: unknown) => {
      await page.getByLabel('Conteúdo').fill(typeof given === 'string' ? given : JSON.stringify(given))
      await page.getByRole('button', { name: 'Conferir' }).click()
    }

    await heading('Recibo autêntico')
    const shown = (await page.locator('#resultado').textContent()) ?? ''
    for (const text of [`Café ${HOSTILE}`, 'R$ 41,30', 'Dinheiro', 'tillbook/', '21/11/2026, 08:17:15'])
      expect(shown.replaceAll('\u00a0', ' ')).to.contain(text)
    expect(await page.getByText('CLI-001').isVisible()).to.equal(false)
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
