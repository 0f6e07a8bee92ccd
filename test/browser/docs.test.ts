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

describeInBrowser('the contract in a browser', () => {
  const panel = usePanel()

  it('is shown at both widths, and asks nobody but the service [HTTP-14]', async () => {
    const page = await panel.open('/docs')
    await page.locator('#createSale h3').waitFor()
    await atBothWidths(page, () => expectNoSidewaysScrolling(page))
  })
})

/** Every operation is laid out alike, and there are so many that going through all would take half a minute. */
describeInBrowser('the contract of sales in a browser', () => {
  const routes = V1_ROUTES.filter(({ path }) => path.startsWith('/sales'))
  const app = express().use(
    '/docs',
    serveDocs(routes, { addresses: createAddressLimit({ perMinute: 1_000 }), compress: createCompress() }),
  )
  const browser = useBrowser(useApp(app))

  it('can be read by everybody, on a phone and at a desk', async () => {
    for (const path of ['/docs', '/docs/webhooks']) await check(await browser.open(path))
  })

  it('can be gone through with the keyboard', async () => {
    const stops = await tabThrough(await browser.open('/docs'))
    expect(stops.slice(0, 3)).to.deep.equal(['a "Ir para o conteúdo"', 'a "Webhooks"', 'a "OpenAPI 3.1"'])
  })
})
