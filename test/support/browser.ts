import { afterEach } from 'mocha'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { startApi, type TestApi, type TestApiOptions, type TestCompany } from './api.ts'
import { findChromium, HOW_TO_GET_ONE, sharedBrowser } from './browser/chromium.ts'
import { watch } from './browser/watch.ts'
import { WIDE } from './browser/widths.ts'
import { useDatabase } from './database.ts'
import { createTestUser, type TestUser } from './till.ts'

/*
 * Tests of pages, in a real Chromium (test/browser/):
 *
 *     describeInBrowser('the list of sales', () => {
 *       const panel = usePanel()
 *
 *       it('can be used by everybody', async () => {
 *         const page = await panel.open('/painel/vendas')   // wide; { viewport: NARROW } for a phone
 *         await check(page)                                 // browser/accessibility.ts: axe and no sideways scrolling, both widths
 *         await tabThrough(page)                            // browser/keyboard.ts: all reached by Tab, and seen to be
 *         await screenshot(page, 'vendas')                  // browser/screenshot.ts: kept by `npm run screenshots`
 *       })
 *     })
 *
 * `panel.company` and `panel.api` put data in place, `panel.owner` and `panel.clerk` can log in. Every `open` has cookies
 * of its own; go on in the same ones with `page.goto('/painel/…')`. Playwright's locators and `waitFor` are what tests
 * wait with. No page may do what browser/watch.ts lists; what it did is told after the test, and fails it.
 */

/** `describe`, where there is a browser. Elsewhere its tests are skipped, which one line of the run explains, and in CI they fail. */
export function describeInBrowser(title: string, define: () => void): void {
  if (hasBrowser()) describe(title, define)
  else describe.skip(title, define)
}

let explained = false

function hasBrowser(): boolean {
  if (findChromium()) return true
  if (process.env.CI) throw new Error(HOW_TO_GET_ONE)
  if (!explained) console.log(`Browser tests are skipped: ${HOW_TO_GET_ONE}`)
  explained = true
  return false
}

/** How a page is opened: all that Playwright knows, of which `viewport` and `javaScriptEnabled` matter most. */
export type OpenOptions = BrowserContextOptions

export interface TestBrowser {
  /** A page of the service at a path, with cookies of its own, when all of it is loaded. */
  open(path: string, options?: OpenOptions): Promise<Page>
  /** Cookies of their own, for several pages: a person at a computer. */
  context(options?: OpenOptions): Promise<BrowserContext>
}

const TIMEOUT_MS = 15_000

/** Pages of whatever answers at `origin`, which is asked for when the first is opened. They are closed, and judged, after each test. */
export function useBrowser(origin: () => string): TestBrowser {
  let opened: { context: BrowserContext; problems: readonly string[] }[] = []

  afterEach('the pages did what they may', async () => {
    const ended = opened
    opened = []
    await Promise.all(ended.map(({ context }) => context.close()))
    const problems = ended.flatMap((each) => each.problems)
    if (problems.length > 0) throw new Error(`what no page may do:\n  ${problems.join('\n  ')}`)
  })

  const context: TestBrowser['context'] = async (options) => {
    const browser = await sharedBrowser()
    const context = await browser.newContext({
      baseURL: origin(),
      locale: 'pt-BR',
      timezoneId: 'America/Sao_Paulo',
      viewport: WIDE,
      colorScheme: 'light',
      reducedMotion: 'reduce',
      ...options,
    })
    context.setDefaultTimeout(TIMEOUT_MS)
    opened.push({ context, problems: watch(context, origin()) })
    return context
  }

  return {
    context,
    async open(path, options) {
      const page = await (await context(options)).newPage()
      await page.goto(path)
      return page
    },
  }
}

/** The service on a database of its own, one company with an owner and a clerk, and a browser that looks at it. */
export interface TestPanel extends TestBrowser {
  readonly api: TestApi
  readonly company: TestCompany
  readonly owner: TestUser
  readonly clerk: TestUser
}

interface Started extends Pick<TestPanel, 'api' | 'company' | 'owner' | 'clerk'> {}

/** What it returns exists in hooks and tests only. */
export function usePanel(options: TestApiOptions = {}): TestPanel {
  const database = useDatabase()
  let api: TestApi | undefined
  let started: Started | undefined

  before('start the service', async () => {
    api = await startApi(database.url, options)
    const company = await api.company()
    const owner = await createTestUser(company, 'owner')
    started = { api, company, owner, clerk: await createTestUser(company, 'clerk') }
  })
  after('end the service', () => api?.close())

  const there = (): Started => {
    if (!started) throw new Error('the panel exists only while the tests run: use it in a hook or a test')
    return started
  }
  return {
    ...useBrowser(() => there().api.url),
    get api() {
      return there().api
    },
    get company() {
      return there().company
    },
    get owner() {
      return there().owner
    },
    get clerk() {
      return there().clerk
    },
  }
}
