import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { expectNoSidewaysScrolling } from '../support/browser/widths.ts'
import { describeInBrowser, type TestPanel, usePanel } from '../support/browser.ts'
import { DEPTH } from '../support/random.ts'
import { SAMPLES } from './samples/all.ts'

const MAX_HTML_BYTES = 61_440
/** Pages that show a whole file or event. */
const MAX_LARGE_HTML_BYTES = 102_400
const LARGE = /^\/(auditoria|importar|catalogo\/importar|configuracoes\/perfis)/
const MAX_LAYOUT_SHIFT = 0.02
const WIDTHS = [320, 360, 768, 1280, 1920]
/** Of each group of so many pages, one is visited: they share their parts. */
const SHARE = DEPTH > 1 ? 1 : 4

/** A word of 120 letters, cut where a field takes fewer. */
const WORD = 'Anticonstitucionalissimamente'.repeat(5).slice(0, 120)
const NAMES = new Set(['name', 'trade_name', 'description', 'reason', 'notes', 'street', 'district', 'city'])

let words = 0
/** Different each time: names may have to be unique. */
const longWord = (): string => `${WORD.slice(0, -4)}${String(words++).padStart(4, '0')}`

/** Names as long words, and the largest amounts of accounts. */
function hostile(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hostile)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, of]) => {
      if (NAMES.has(key) && typeof of === 'string') return [key, longWord()]
      return [key, key === 'amount' && 'due_date' in value ? '99999999.99' : hostile(of)]
    }),
  )
}

/** Runs in the page: the sum of the layout shifts since it began to load. */
const LAYOUT_SHIFT = `new Promise((resolve) => {
  const sum = (list) => list.getEntries().reduce((total, { value }) => total + value, 0)
  new PerformanceObserver((list) => resolve(sum(list))).observe({ type: 'layout-shift', buffered: true })
  setTimeout(() => resolve(0), 50)
})`

describeInBrowser('pages of hostile data in a browser', () => {
  const panel = usePanel()
  let page: Page
  let filled: TestPanel

  before('log in', async () => {
    const { company } = panel
    const post: typeof company.post = async (path, body, headers) => {
      const reply = await company.post(path, hostile(body), headers)
      return reply.status >= 400 ? company.post(path, body, headers) : reply
    }
    filled = { ...panel, company: { ...company, post } }
    page = await panel.openAs(panel.owner, '/painel/', { kept: true })
  })

  for (const [route, sample] of Object.entries(SAMPLES).filter((_, place) => place % SHARE === 1 % SHARE))
    it(`fit every width, stay light and do not jump: ${route} [PANEL-620]`, async () => {
      const response = await page.goto(`/painel${await sample(filled)}`)
      expect(response?.status()).to.equal(200)
      const bytes = (await response?.body())?.length
      expect(bytes).to.be.below(LARGE.test(route) ? MAX_LARGE_HTML_BYTES : MAX_HTML_BYTES)
      expect(await page.evaluate<number>(LAYOUT_SHIFT)).to.be.below(MAX_LAYOUT_SHIFT)
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 })
        await expectNoSidewaysScrolling(page)
      }
    })
})
