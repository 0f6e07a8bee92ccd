import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { createFirstRun } from '#access/one-time-links.ts'
import { PANEL_ROUTES } from '#panel/routes.ts'
import { check } from '../support/browser/accessibility.ts'
import { tabThrough } from '../support/browser/keyboard.ts'
import { describeInBrowser, useBrowser, usePanel } from '../support/browser.ts'
import { panelUser } from '../support/panel.ts'
import { DEPTH } from '../support/random.ts'
import { OWN_DATABASE, useApi } from '../support/use-api.ts'
import { SAMPLES } from './samples/all.ts'

/** Pages that need no login. */
const OPEN_PAGES = [
  '/painel/entrar',
  '/painel/entrar?feito=saiu',
  '/painel/esqueci',
  '/painel/nova-senha?codigo=x',
  '/painel/convite?codigo=x',
  '/painel/primeiro-acesso?codigo=x',
  '/conferir',
  '/',
]

/** Pages share their parts: of each group of so many, one is looked at in dark colours and by keyboard. */
const SHARE = DEPTH > 1 ? 1 : 3

describe('every page of the panel', () => {
  it('has a sample for the browser checks', () => {
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

  for (const [place, [route, sample]] of Object.entries(SAMPLES).entries())
    it(`is accessible, its figures whole: ${route} [PANEL-14] [PANEL-1360]`, async () => {
      await page.goto(`/painel${await sample(panel)}`)
      expect(await page.locator('main h1').textContent()).to.not.equal('')
      // Menu and header are equal on all pages: only the first page checks them.
      const isFirst = route === '/'
      const isWhole = place % SHARE === 0
      await check(page, isFirst ? [] : ['header.top', 'nav.menu', 'nav.bar'], !isWhole)
      if (isWhole) await tabThrough(page, isFirst ? 'body' : 'main')
    })

  for (const path of OPEN_PAGES)
    it(`is accessible without a login: ${path} [PANEL-14]`, async () => {
      const page = await panel.open(path)
      await check(page)
      await tabThrough(page)
    })

  it('is accessible behind a link: a receipt, a caderneta and a month [PANEL-14]', async () => {
    const user = await panelUser(panel.api, panel.company)
    for (const route of ['/vendas/:id/recibo', '/clientes/:id/caderneta', '/fechamento-do-mes/:mes']) {
      const path = `/painel${await SAMPLES[route]?.(panel)}`
      await user.submit(path, {}, `${path}/link`)
      const [, shared = ''] = /href="[^"]*(\/l\/[\w-]+)"/.exec((await user.get(path)).html) ?? []
      expect(shared, route).to.not.equal('')
      const page = await panel.open(shared)
      await check(page)
      await tabThrough(page)
    }
  })

  it('shows a wrong field by a bar at its edge, and the focus by a ring around it, also in the dark', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.goto('/painel/vendas?sold_from=2026-02-30')
      const field = page.locator('[aria-invalid="true"]').first()
      await page.evaluate('document.querySelector("details:has([aria-invalid])")?.setAttribute("open", "")')
      const shapes = () =>
        page.evaluate(
          '(({ boxShadow, outlineStyle, outlineOffset }) => ({ bar: / 4px 0px 0px 0px inset$/.test(boxShadow), outlineStyle, outlineOffset }))(getComputedStyle(document.querySelector("[aria-invalid]")))',
        )
      await page.evaluate('document.activeElement.blur()')
      expect(await shapes()).to.include({ bar: true, outlineStyle: 'none' })
      await field.focus()
      expect(await shapes()).to.deep.equal({ bar: true, outlineStyle: 'solid', outlineOffset: '2px' })
    }
    await page.emulateMedia({ colorScheme: null })
  })

  it('is accessible if it does not exist', async () => {
    await page.goto('/painel/nenhures')
    await check(page)
    await tabThrough(page)
  })
})

describeInBrowser('the form of the first run, in a browser', () => {
  const api = useApi(OWN_DATABASE)
  const browser = useBrowser(() => api.url)

  it('is accessible with a valid code [PANEL-14]', async () => {
    const { pathname, search } = new URL((await createFirstRun({ ...api.core, publicUrl: api.url }).link()) ?? '')
    const page = await browser.open(pathname + search)
    await page.getByLabel('Nome da loja').waitFor()
    await check(page)
    await tabThrough(page)
  })
})
