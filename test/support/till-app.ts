import { expect } from 'chai'
import type { BrowserContext, Page } from 'playwright-core'
import { startApi, type TestApi, type TestCompany } from './api.ts'
import { type OpenOptions, useBrowser } from './browser.ts'
import { useDatabase } from './database.ts'
import { createTestUser, type TestUser } from './till.ts'

/** Wide enough for two columns. */
const COUNTER = { width: 1280, height: 800 }

interface Shop {
  readonly api: TestApi
  readonly company: TestCompany
  readonly owner: TestUser
}

export interface TillApp extends Shop {
  /** A device of its own. */
  context(options?: OpenOptions): Promise<BrowserContext>
  /** A till on a device of its own, logged in. */
  open(options?: OpenOptions): Promise<Page>
}

const KINDS = ['cash', 'pix', 'exchange_credit'] as const

/** A service, a company with forms of payment, and tills in a browser. Valid in hooks and tests only. */
export function useTillApp(): TillApp {
  const database = useDatabase()
  let started: Shop | undefined
  before('start the service', async () => {
    const api = await startApi(database.url)
    const company = await api.company()
    for (const kind of KINDS) await company.paymentType(kind)
    started = { api, company, owner: await createTestUser(company, 'owner') }
  })
  after('end the service', () => started?.api.close())
  const there = () => {
    if (!started) throw new Error('the till exists only while the tests run: use it in a hook or a test')
    return started
  }
  const browser = useBrowser(() => there().api.url)
  const context: TillApp['context'] = (options) => browser.context({ viewport: COUNTER, ...options })
  return {
    context,
    async open(options) {
      const page = await (await context(options)).newPage()
      await enter(page, there().owner)
      return page
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
  }
}

/** Opens the till and logs in. */
export async function enter(page: Page, { email, password }: TestUser, origin = ''): Promise<void> {
  await page.goto(`${origin}/caixa`)
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Senha').fill(password)
  await page.getByRole('button', { name: 'Entrar', exact: true }).click()
  await page.getByLabel('Buscar').waitFor()
  await settle(page)
}

export async function take(page: Page, search: string): Promise<void> {
  await page.getByLabel('Buscar').fill(search)
  await page.getByLabel('Buscar').press('Enter')
}

/** Pays what is left by a form of payment, and ends the sale. */
export async function pay(page: Page, type = 'cash', given?: string): Promise<void> {
  await page.getByRole('button', { name: 'Receber' }).click()
  await page.getByRole('button', { name: type, exact: true }).click()
  if (given !== undefined) await page.getByLabel('Valor recebido').fill(given)
  await page.getByRole('button', { name: 'Finalizar' }).click()
  await page.getByRole('button', { name: 'Nova venda' }).waitFor()
}

export async function sell(page: Page, search: string): Promise<void> {
  await take(page, search)
  await pay(page)
  await page.getByRole('button', { name: 'Nova venda' }).click()
}

/** Waits until the service has everything that the till recorded. */
export const settle = (page: Page): Promise<void> => page.getByText(/^Conectado$/).waitFor()

export interface SaleOfTill {
  readonly id: number
  readonly total: string
  readonly status: string
}

export async function salesOf({ company }: Shop): Promise<SaleOfTill[]> {
  const { status, body, text } = await company.get('/sales?limit=100')
  expect(status, text).to.equal(200)
  return body.data
}
