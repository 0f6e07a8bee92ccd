import { expect } from 'chai'
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
 *       it('shows a sale as soon as it is made', async () => {
 *         const page = await panel.openAs(panel.owner, '/painel/vendas')   // wide; { viewport: NARROW } for a phone
 *         await page.getByRole('link', { name: 'Venda 1' }).waitFor()
 *       })
 *     })
 *
 * Accessibility (browser/accessibility.ts) and keyboard use (browser/keyboard.ts) of every panel page are tested in
 * test/browser/every-page.test.ts, which needs a row in test/browser/samples/ for each.
 *
 * `panel.company` and `panel.api` prepare data. Every `open` has its own cookies; continue with the same ones by
 * `page.goto('/painel/…')`. Tests wait with Playwright's locators and their `waitFor`. The actions listed in
 * browser/watch.ts are reported after the test and fail it, unless the page was opened with `mayDo`. Pages of a test's
 * own come from browser/small-app.ts and `useBrowser`.
 *
 * Code for the page is passed to `evaluate` as text: tests know no DOM types, and the compiler changes functions.
 */

/** `describe` with a browser. Without one its tests are skipped, with one line of explanation, and fail in CI. */
export function describeInBrowser(title: string, define: () => void): void {
  if (!hasBrowser()) return void describe.skip(title, define)
  describe(title, function () {
    this.timeout(TEST_TIMEOUT_MS)
    define()
  })
}

/** Pages are rendered by the processor alone, even on slow machines. */
const TEST_TIMEOUT_MS = 180_000

let explained = false

function hasBrowser(): boolean {
  if (findChromium()) return true
  if (process.env.CI) throw new Error(HOW_TO_GET_ONE)
  if (!explained) console.log(`Browser tests are skipped: ${HOW_TO_GET_ONE}`)
  explained = true
  return false
}

/** Options of a page: all of Playwright's, mainly `viewport` and `javaScriptEnabled`. */
export interface OpenOptions extends BrowserContextOptions {
  /** Expected reports of the pages, which do not fail the test. */
  readonly mayDo?: RegExp
  /** Reuses the context for all following tests, which saves a browser process per page. */
  readonly kept?: boolean
}

export interface TestBrowser {
  /** Opens a page of the service with its own cookies, and waits until it is loaded. */
  open(path: string, options?: OpenOptions): Promise<Page>
  /** Cookies of their own, for several pages: a person at a computer. */
  context(options?: OpenOptions): Promise<BrowserContext>
}

/** Per step; CI machines are busy. */
const TIMEOUT_MS = 30_000

/**
 * Pages of the server at `origin`, which is read when the first one is opened. They are closed and checked after each
 * test.
 */
export function useBrowser(origin: () => string): TestBrowser {
  let opened: { context: BrowserContext; problems: string[]; mayDo: RegExp | undefined; kept: boolean }[] = []

  const close = async (which: typeof opened) => void (await Promise.all(which.map(({ context }) => context.close())))

  afterEach('the pages did what they may', async () => {
    const looked = opened
    opened = looked.filter(({ kept }) => kept)
    await close(looked.filter(({ kept }) => !kept))
    const problems = looked.flatMap(({ problems, mayDo }) =>
      problems.splice(0).filter((problem) => !mayDo?.test(problem)),
    )
    if (problems.length > 0) throw new Error(`what no page may do:\n  ${problems.join('\n  ')}`)
  })
  after('close the pages that were kept', () => close(opened))

  const context: TestBrowser['context'] = async ({ mayDo, kept = false, ...options } = {}) => {
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
    opened.push({ context, problems: watch(context, origin()), mayDo, kept })
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

/** Service on its own database, a company with an owner and a clerk, and a browser. */
export interface TestPanel extends TestBrowser {
  readonly databaseUrl: string
  readonly api: TestApi
  readonly company: TestCompany
  readonly owner: TestUser
  readonly clerk: TestUser
  /** Like `open`, for a logged-in user. */
  openAs(user: TestUser, path: string, options?: OpenOptions): Promise<Page>
}

interface Started extends Pick<TestPanel, 'api' | 'company' | 'owner' | 'clerk'> {}

/** Valid in hooks and tests only. `openCompany` finds or makes the company, a new one by default. */
export function usePanel(
  options: TestApiOptions = {},
  openCompany: (api: TestApi) => Promise<TestCompany> = (api) => api.company(),
): TestPanel {
  const database = useDatabase()
  let api: TestApi | undefined
  let started: Started | undefined

  before('start the service', async () => {
    api = await startApi(database.url, options)
    const company = await openCompany(api)
    const owner = await createTestUser(company, 'owner')
    started = { api, company, owner, clerk: await createTestUser(company, 'clerk') }
  })
  after('end the service', () => api?.close())

  const there = (): Started => {
    if (!started) throw new Error('the panel exists only while the tests run: use it in a hook or a test')
    return started
  }
  const browser = useBrowser(() => there().api.url)
  return {
    ...browser,
    async openAs({ email, password }, path, options) {
      const context = await browser.context(options)
      const entered = await context.request.post('/painel/entrar', { form: { email, password }, maxRedirects: 0 })
      expect(entered.status(), await entered.text()).to.equal(303)
      const page = await context.newPage()
      await page.goto(path)
      return page
    },
    get databaseUrl() {
      return database.url
    },
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
