import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { describeInBrowser } from '../support/browser.ts'
import { type KilledBrowser, openKilledBrowser } from '../support/killed-browser.ts'
import { DEPTH, SEED, TITLE } from '../support/random.ts'
import { enter, pay, type SaleOfTill, salesOf, settle, take, useTillApp } from '../support/till-app.ts'

/** Rounds of `npm test`; `npm run test:deep` plays so many times as many. */
const ROUNDS = 8 * DEPTH

const ACTS = ['sell', 'cancel', 'return', 'exchange', 'park', 'mixed'] as const
const FAULTS = [
  'none',
  'kill',
  'offline',
  'answer 401',
  'answer 409',
  'answer 500',
  'answer 503',
  'answer lost',
] as const

/** Numbers by a seed (mulberry32). */
function dice(seed: number): (sides: number) => number {
  let state = seed
  return (sides) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides
  }
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

/** Total of the receipt on the screen, as the service writes it. */
async function shownTotal(page: Page): Promise<string> {
  const text = await page.getByRole('row', { name: /^Total/ }).textContent()
  return (/([\d.]+),(\d\d)/.exec(text ?? '')?.slice(1) ?? []).join('.').replace(/\.(?=\d{3})/g, '')
}

async function lastSale(page: Page): Promise<void> {
  await button(page, 'Nova venda').click()
  await button(page, 'Vendas').click()
  await page
    .getByRole('button', { name: /^Devolver ou trocar venda/ })
    .first()
    .click()
  await page
    .getByLabel(/restam/)
    .first()
    .fill('1')
}

/** Plays one act; `onSale` is told of every receipt that is shown. */
async function play(
  page: Page,
  act: (typeof ACTS)[number],
  quantity: number,
  onSale: (status: string) => Promise<void>,
) {
  await take(page, `${quantity}*cafe`)
  if (act === 'park') {
    await button(page, 'Guardar').click()
    await page.getByRole('button', { name: /^Vendas/ }).click()
    await button(page, 'Retomar').first().click()
  }
  if (act === 'mixed') {
    await button(page, 'Receber').click()
    await button(page, 'pix').click()
    await page.getByLabel('Valor em pix').fill('1,00')
    await button(page, 'Receber').click()
    await button(page, 'cash').click()
    await button(page, 'Finalizar').click()
    await button(page, 'Nova venda').waitFor()
  } else await pay(page)
  await onSale(act === 'cancel' ? 'active' : 'final')
  if (act === 'cancel') {
    await button(page, 'Cancelar venda').click()
    await button(page, 'Sim, cancelar venda').click()
    await page.getByText(/Venda \d+ cancelada/).waitFor()
    await onSale('cancelled')
  } else if (act === 'return') {
    await lastSale(page)
    await button(page, 'Devolver em cash').click()
    await page.getByText(/Devolva R\$/).waitFor()
  } else if (act === 'exchange') {
    await lastSale(page)
    await button(page, 'Trocar por outros itens').click()
    await take(page, 'cafe')
    await button(page, 'Receber').click()
    await button(page, 'Finalizar').click()
    await button(page, 'Nova venda').waitFor()
    await onSale('final')
  }
}

describeInBrowser(`rounds of a till with faults (${TITLE})`, () => {
  const till = useTillApp()
  let browser: KilledBrowser

  before('a product and a device', async () => {
    const item = { name: 'Café torrado', price: '18.90', stock: '100000' }
    expect((await till.company.post('/catalog/items', item)).status).to.equal(201)
    browser = await openKilledBrowser()
    await enter(browser.page(), till.owner, till.api.url)
  })
  after('end the device', () => browser?.close())

  /** Makes the service fail for a while; returns what ends that. */
  async function fail(page: Page, fault: (typeof FAULTS)[number]): Promise<() => Promise<void>> {
    const all = '**/api/sync/**'
    if (fault === 'offline') await page.route(all, (route) => route.abort())
    else if (fault === 'answer lost')
      await page.route(all, async (route) => {
        await route.fetch().catch(() => {})
        await route.abort()
      })
    else if (fault.startsWith('answer ')) {
      const status = Number(fault.slice(-3))
      await page.route(all, (route) => route.fulfill({ status, json: { success: false, message: 'não' } }))
    }
    return () => page.unrouteAll({ behavior: 'ignoreErrors' })
  }

  it('loses, doubles and changes no sale whose receipt was shown [TILL-1110]', async function () {
    this.timeout(120_000 + ROUNDS * 30_000)
    const roll = dice(SEED)
    const shown: string[] = []
    let started = 0
    let cancelled = 0
    for (let round = 0; round < ROUNDS; round++) {
      const act = ACTS[(round + roll(2)) % ACTS.length] ?? 'sell'
      const fault = FAULTS[roll(FAULTS.length)] ?? 'none'
      const page = browser.page()
      const heal = await fail(page, fault)
      started += act === 'exchange' ? 2 : 1
      const playing = play(page, act, 1 + roll(3), async (status) => {
        if (status === 'cancelled') cancelled += 1
        else shown.push(await shownTotal(page))
      })
      if (fault === 'kill') {
        await Promise.race([playing.catch(() => {}), new Promise((resolve) => setTimeout(resolve, roll(2500)))])
        await browser.kill()
        await playing.catch(() => {})
        await recover(browser.page())
      } else {
        await playing
        await heal()
        await page.reload()
        await recover(page)
      }
    }
    await settle(browser.page())
    expectAll(await salesOf(till), { shown, started, cancelled })
  })

  /** Opens the till again, sees the receipt of a sale that was just recorded, and empties what was not. */
  async function recover(page: Page): Promise<void> {
    if (!page.url().endsWith('/caixa')) await page.goto(`${till.api.url}/caixa`)
    await page.getByRole('button', { name: 'Nova venda' }).or(page.getByLabel('Buscar')).first().waitFor()
    const next = button(page, 'Nova venda')
    if (await next.isVisible()) await next.click()
    const undo = button(page, 'Desfazer a troca')
    if (await undo.isVisible()) await undo.click()
    while (await button(page, 'Desfazer').isEnabled()) await button(page, 'Desfazer').click()
  }
})

interface Expected {
  readonly shown: readonly string[]
  readonly started: number
  readonly cancelled: number
}

/** A sale whose receipt a killed browser could not show is there whole or not at all. */
function expectAll(sales: readonly SaleOfTill[], { shown, started, cancelled }: Expected): void {
  const rest = sales.map(({ total }) => total)
  for (const total of shown) {
    const place = rest.indexOf(total)
    expect(place, `a sale of ${total} is missing among ${sales.map((sale) => sale.total).join(', ')}`).not.to.equal(-1)
    rest.splice(place, 1)
  }
  expect(sales.length).to.be.at.most(started)
  expect(sales.filter(({ status }) => status === 'cancelled').length).to.be.at.least(cancelled)
}
