import { expect } from 'chai'
import express from 'express'
import { createAddressLimit } from '#access/minute-limit.ts'
import { V1_ROUTES } from '#api/api-v1.ts'
import { serveDocs } from '#api/docs/serve.ts'
import { createCompress } from '#http/compression.ts'
import { check } from '../support/browser/accessibility.ts'
import { tabThrough } from '../support/browser/keyboard.ts'
import { useApp } from '../support/browser/small-app.ts'
import { atBothWidths, expectNoSidewaysScrolling } from '../support/browser/widths.ts'
import { describeInBrowser, useBrowser, usePanel } from '../support/browser.ts'

describeInBrowser('API documentation in a browser', () => {
  const panel = usePanel()

  it('fits both widths, and requests nothing from other hosts [HTTP-14]', async () => {
    const page = await panel.open('/docs')
    await page.locator('#createSale h3').waitFor()
    await atBothWidths(page, () => expectNoSidewaysScrolling(page))
  })
})

/** A sample: all operations have the same layout, and checking all would take half a minute. */
describeInBrowser('API documentation of sales in a browser', () => {
  const routes = V1_ROUTES.filter(({ path }) => path.startsWith('/sales'))
  const app = express().use(
    '/docs',
    serveDocs(routes, { addresses: createAddressLimit({ perMinute: 1_000 }), compress: createCompress() }),
  )
  const browser = useBrowser(useApp(app))

  it('is accessible on a phone and on a desktop', async () => {
    for (const path of ['/docs', '/docs/webhooks']) await check(await browser.open(path))
  })

  it('is reachable by keyboard', async () => {
    const stops = await tabThrough(await browser.open('/docs'))
    expect(stops.slice(0, 3)).to.deep.equal(['a "Ir para o conteúdo"', 'a "Webhooks"', 'a "OpenAPI 3.1"'])
  })
})
