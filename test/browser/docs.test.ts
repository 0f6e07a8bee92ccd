import { expect } from 'chai'
import express from 'express'
import { createAddressLimit } from '#access/minute-limit.ts'
import { V1_ROUTES } from '#api/api-v1.ts'
import { contractOf } from '#api/contract/contract-document.ts'
import { serveDocs } from '#api/docs/docs-site.ts'
import { createCompress } from '#http/answers.ts'
import { check } from '../support/browser/accessibility.ts'
import { tabThrough } from '../support/browser/keyboard.ts'
import { useApp } from '../support/browser/small-app.ts'
import { atBothWidths, expectNoSidewaysScrolling } from '../support/browser/widths.ts'
import { describeInBrowser, useBrowser, usePanel } from '../support/browser.ts'

describeInBrowser('API documentation in a browser', () => {
  const panel = usePanel()

  it('fits both widths, and requests nothing from other hosts [HTTP-14]', async () => {
    for (const path of [
      '/',
      '/docs',
      '/docs/recursos/vendas',
      '/docs/guias/pos-sync',
      '/docs/eventos/vendas',
      '/docs/settings',
    ]) {
      const page = await panel.open(path)
      await page.locator('h1').waitFor()
      await atBothWidths(page, () => expectNoSidewaysScrolling(page))
    }
  })

  it('finds an operation while one types, and works without scripts [HTTP-50]', async () => {
    const page = await panel.open('/docs')
    const links = page.locator('.operations li:visible')
    const all = await links.count()
    await page.getByRole('searchbox').fill('insufficient_stock')
    await page.getByText('resultado').waitFor()
    expect(await links.count()).to.be.within(1, 5)
    await page.getByRole('searchbox').fill('')
    expect(await links.count()).to.equal(all)
  })
})

/** A sample: all operations have the same layout, and checking all would take half a minute. */
describeInBrowser('API documentation of a resource in a browser', () => {
  const routes = V1_ROUTES.filter(({ path }) => path.startsWith('/cash-sessions'))
  const published = () => [{ contract: contractOf(routes), path: '/api/v1/openapi.json', credential: 'KEY' } as const]
  const addresses = createAddressLimit({ perMinute: 1_000 })
  const options = { addresses, compress: createCompress(), publicUrl: 'http://localhost:3000' }
  const app = express().use('/docs', serveDocs({ contracts: published, references: [] }, options))
  const browser = useBrowser(useApp(app))

  it('is accessible on a phone and on a desktop', async () => {
    for (const path of ['/docs', '/docs/recursos/sessoes-de-caixa', '/docs/guias/webhooks'])
      await check(await browser.open(path))
  })

  it('is reachable by keyboard', async () => {
    const stops = await tabThrough(await browser.open('/docs'))
    expect(stops.slice(0, 3)).to.deep.equal(['a "Ir para o conteúdo"', 'a "Documentação"', 'a "Guias"'])
  })
})
