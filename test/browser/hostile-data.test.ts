import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { createCategory } from '#commands/catalog-commands.ts'
import { createItem } from '#commands/item-commands.ts'
import { placeOrder } from '#commands/order-commands.ts'
import { createCustomer, createSupplier } from '#commands/person-commands.ts'
import { createPayable, createReceivable } from '#commands/receivables-payables.ts'
import { registerSale } from '#commands/register-sale.ts'
import { createStore } from '#commands/store-commands.ts'
import { type Command, invoke, isRefusal } from '#ledger/command.ts'
import { runList } from '#ledger/write/run.ts'
import type { TestCompany } from '../support/api.ts'
import { expectNoSidewaysScrolling, NARROW } from '../support/browser/widths.ts'
import { describeInBrowser, type TestPanel, usePanel } from '../support/browser.ts'
import { DEPTH } from '../support/random.ts'
import { createTestUser } from '../support/till.ts'
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

async function expectToFit(page: Page, path: string, widths = WIDTHS, mostBytes = MAX_HTML_BYTES): Promise<void> {
  const response = await page.goto(`/painel${path}`)
  expect(response?.status()).to.equal(200)
  expect((await response?.body())?.length).to.be.below(mostBytes)
  expect(await page.evaluate<number>(LAYOUT_SHIFT)).to.be.below(MAX_LAYOUT_SHIFT)
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 })
    await expectNoSidewaysScrolling(page)
  }
}

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
      await expectToFit(page, await sample(filled), WIDTHS, LARGE.test(route) ? MAX_LARGE_HTML_BYTES : MAX_HTML_BYTES)
    })
})

/** Lists, each of a kind of record; they share their parts, so that every second one is visited. */
const LISTS = [
  '/vendas',
  '/catalogo',
  '/catalogo/categorias',
  '/catalogo/movimentacao',
  '/catalogo/reposicao',
  '/clientes',
  '/fornecedores',
  '/contas-a-receber',
  '/contas-a-receber/em-aberto',
  '/contas-a-pagar',
  '/contas-a-pagar/em-aberto',
  '/loja',
  '/auditoria',
]
const MANY = 1_000
const MAX_ROWS = 100
const MIN_ROWS = 25
/** Of the first row of a list on a phone, from the top of the page. */
const MAX_TOP_PX = 420

/** In a request. */
const AT_ONCE = 250

/** So many records of each kind that lists show. */
async function fillWithRecords({ id: companyId, core, run, paymentType }: TestCompany): Promise<void> {
  const acting = { companyId, origin: 'system', actor: null, requestId: null } as const
  async function all<I>(command: Command<I>, inputOf: (place: number) => I): Promise<void> {
    for (let made = 0; made < MANY; made += AT_ONCE) {
      const inputs = Array.from({ length: AT_ONCE }, (_, at) => invoke(command, inputOf(made + at + 1)))
      const results = await runList(core.writer, acting, inputs)
      expect(isRefusal(results) ? [results] : results.filter(isRefusal)).to.deep.equal([])
    }
  }
  const due = { amount: '99999999.99', due_date: '2020-01-31' }
  const payments = [{ payment_type_id: await paymentType('cash'), amount: '10.00' }]
  const { alias } = await run(createStore, { alias: `loja-${companyId}`, commission_percentage: '5', sandbox: true })
  await all(createCategory, () => ({ name: longWord().slice(-60) }))
  await all(createItem, () => ({
    type: 'product' as const,
    name: longWord(),
    price: '99999999.99',
    stock: '1',
    min_stock: '9',
  }))
  await all(createCustomer, () => ({ name: longWord() }))
  await all(createSupplier, () => ({ name: longWord() }))
  await all(createReceivable, (customer_id) => ({ description: longWord(), customer_id, ...due }))
  await all(createPayable, (supplier_id) => ({ description: longWord(), supplier_id, ...due }))
  await all(registerSale, (catalog_item_id) => ({
    items: [{ catalog_item_id, quantity: '1', unit_price: '10.00' }],
    payments,
  }))
  await all(placeOrder, () => ({
    store_alias: alias,
    customer: { name: longWord() },
    items: [{ description: longWord(), quantity: '1', unit_price: '10.00' }],
  }))
}

describeInBrowser('lists in a browser', () => {
  const panel = usePanel()
  let many: Page
  let none: Page

  before('fill one of two companies', async () => {
    await fillWithRecords(panel.company)
    many = await panel.openAs(panel.owner, '/painel/', { kept: true })
    const empty = await panel.api.company()
    none = await panel.openAs(await createTestUser(empty, 'owner'), '/painel/', { kept: true })
  })

  for (const path of LISTS.filter((_, place) => DEPTH > 1 || place % 2 === 0)) {
    it(`of 1,000 records are pages that fit, and begin high on a phone: ${path} [PANEL-621]`, async () => {
      const page = await many.goto(`/painel${path}?linhas=${MAX_ROWS}`)
      const rows = many
        .locator('main :is(.listing .list, :not(.listing) > .scroll > .list)')
        .first()
        .locator('tbody tr')
      expect((await page?.body())?.length).to.be.below(MAX_LARGE_HTML_BYTES)
      expect(await rows.count()).to.be.within(MIN_ROWS, MAX_ROWS)
      await expectToFit(many, path, [360, 1280])
      await many.setViewportSize(NARROW)
      expect((await rows.first().boundingBox())?.y).to.be.below(MAX_TOP_PX)
      expect(await rows.first().locator('th').textContent()).to.match(/\w/)
    })

    it(`without a record say so, and fit: ${path} [PANEL-621]`, async () => {
      await expectToFit(none, path, [320])
      expect(await none.locator('main :is(.empty, .nothing, .list tbody tr)').count()).to.be.above(0)
    })
  }
})
