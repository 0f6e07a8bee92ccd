import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { moveTestClock } from '#commands/company-commands.ts'
import { type DemoFile, seedDemo } from '#demo/companies/demo-seed.ts'
import { companyWith, type TestApi, type TestCompany } from '../support/api.ts'
import { isGalleryAsked, portrait, printed, writeGallery } from '../support/browser/portrait.ts'
import { describeInBrowser, usePanel } from '../support/browser.ts'
import type { TestUser } from '../support/till.ts'
import { SAMPLES } from './samples/all.ts'

const FRIDAY = 5
const DAY_MS = 86_400_000
const MOST_LINKS = 3_000
/** Printed as well. */
const ON_A4 = ['/vendas', '/caixas/fechamento']

/** Noon of the next Friday in the shop, as an instant: the clock of its company is moved there. */
function nextNoon(): string {
  const day = new Date(Date.now() + DAY_MS)
  while (day.getUTCDay() !== FRIDAY) day.setTime(day.getTime() + DAY_MS)
  return `${day.toISOString().slice(0, 10)}T15:00:00.000Z`
}

let ana: TestUser

/** The demonstration shop, which has sold until noon. */
async function openDemo(api: TestApi): Promise<TestCompany> {
  const folder = await mkdtemp(join(tmpdir(), 'tillbook-gallery-'))
  const demoFile = join(folder, 'demo.json')
  await seedDemo(api.core, { baseUrl: api.url, demoFile })
  const [demo] = (JSON.parse(await readFile(demoFile, 'utf8')) as DemoFile).companies
  if (!demo) throw new Error('the demonstration has no company')
  ana = { id: 0, name: 'Ana', companyId: demo.id, ...demo.user }
  const company = companyWith(api.core, api.url, { id: demo.id, key: demo.api_key })
  const noon = nextNoon()
  await company.run(moveTestClock, { now: noon })
  await seedDemo(api.core, { baseUrl: api.url, demoFile, soldUntil: noon })
  await rm(folder, { recursive: true })
  return { ...company, paymentType: (kind) => typeOfKind(api, demo.id, kind) }
}

async function typeOfKind({ core }: TestApi, companyId: number, kind: string): Promise<number> {
  const { rows } = await core.pool.query<{ id: number }>(
    `select id from payment_types where company_id = $1 and doc ->> 'kind' = $2 order by id limit 1`,
    [companyId, kind],
  )
  return rows[0]?.id as number
}

/** `/vendas/:id` as an expression for addresses. */
const patternOf = (route: string): RegExp => new RegExp(`^/painel${route.replace(/:[a-z_]+/g, '[^/?]+')}(?=$|[?#])`)

/** Only `npm run screenshots` defines it: every page of the panel, with what the demonstration shop has. */
if (isGalleryAsked())
  describeInBrowser('gallery of the panel', () => {
    const panel = usePanel({}, openDemo)
    const seen = new Set<string>()
    let page: Page

    before('log in', async () => {
      page = await panel.openAs(ana, '/painel/', { kept: true })
    })

    async function show(address: string): Promise<void> {
      const response = await page.goto(address)
      // Without the provider's answer there is nothing to show there.
      if (address !== '/painel/loja/conectar') expect(response?.status(), address).to.equal(200)
      const links = await page.evaluate<string[]>(
        `[...document.querySelectorAll('main a[href^="/painel/"]')].map((a) => a.getAttribute('href'))`,
      )
      for (const link of links) if (seen.size < MOST_LINKS) seen.add(link)
    }

    const routes = Object.keys(SAMPLES)
    const lists = routes.filter((route) => !route.includes(':'))
    const records = routes.filter((route) => route.includes(':'))
    const isOther = (link: string) => /[?.]/.test(link) || lists.includes(link.replace('/painel', ''))
    const found = (route: string) => [...seen].find((link) => patternOf(route).test(link) && !isOther(link))

    // Pages of records that the shop has come before those of records made for their picture.
    for (const route of lists)
      it(`shows ${route}`, async () => {
        await show(`/painel${route === '/' ? '' : route}`)
        await portrait(page, route)
        if (ON_A4.includes(route)) await printed(page, route, ['A4'])
      })
    for (const route of records)
      it(`shows ${route}`, async () => {
        const address = found(route) ?? `/painel${await SAMPLES[route]?.(panel)}`
        await show(address)
        await portrait(page, route)
        if (route.endsWith('/recibo')) await printed(page, route, ['A4', '80mm', '58mm'])
      })

    after('write the gallery', () => writeGallery(routes))
  })
