import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { PANEL_ROUTES } from '#panel/routes.ts'
import { check } from '../support/browser/accessibility.ts'
import { tabThrough } from '../support/browser/keyboard.ts'
import { portrait, writeGallery } from '../support/browser/portrait.ts'
import { describeInBrowser, usePanel } from '../support/browser.ts'
import { SAMPLES } from './samples/all.ts'

/** Nobody needs to have logged in. */
const OPEN_PAGES = [
  '/painel/entrar',
  '/painel/entrar?feito=saiu',
  '/painel/esqueci',
  '/painel/nova-senha?codigo=x',
  '/painel/convite?codigo=x',
]

describe('every page of the panel', () => {
  it('has a sample that is looked at in a browser', () => {
    const pages = PANEL_ROUTES.filter((route) => 'show' in route).map(({ path }) => path)
    expect(Object.keys(SAMPLES)).to.have.members(pages)
  })
})

describeInBrowser('every page of the panel, in a browser', () => {
  const panel = usePanel()
  let page: Page

  before('log in', async () => {
    page = await panel.openAs(panel.owner, '/painel/', { kept: true })
  })

  for (const [route, sample] of Object.entries(SAMPLES))
    it(`can be used by everybody: ${route} [PANEL-14]`, async () => {
      await page.goto(`/painel${await sample(panel)}`)
      expect(await page.locator('main h1').textContent()).to.not.equal('')
      // Menu and head are those of every page: the first one is gone through whole.
      const isFirst = route === '/'
      await check(page, isFirst ? [] : ['header.top', 'nav.menu', 'nav.bar'])
      await portrait(page, route)
      await tabThrough(page, isFirst ? 'body' : 'main')
    })

  after('show them all', writeGallery)

  for (const path of OPEN_PAGES)
    it(`can be used by everybody: ${path}, before the login [PANEL-14]`, async () => {
      const page = await panel.open(path)
      await check(page)
      await tabThrough(page)
    })

  it('can be used by everybody when there is no such page', async () => {
    await page.goto('/painel/nenhures')
    await check(page)
    await tabThrough(page)
  })
})
