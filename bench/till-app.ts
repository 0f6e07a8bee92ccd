import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { openKilledBrowser } from '../test/support/killed-browser.ts'
import { bounded, type Line, reportOf } from './report.ts'

/*
 * `npx tsx bench/till-app.ts`: figures of the till in Chromium with 50,000 products, after `node tools/till-app.cjs`. The
 * service is a stand-in that answers at once, so that only the till is measured. Missed bounds are reported.
 */

const PRODUCTS = 50_000
const SALES = 100
const SEARCHES = 100
const SCANS = 60
const STARTS = 5
const FOLDER = join(import.meta.dirname, '../dist/till')

const WORDS = ['Café', 'Arroz', 'Feijão', 'Açúcar', 'Sabão', 'Leite', 'Bolacha', 'Óleo', 'Macarrão', 'Água']
const products = Array.from({ length: PRODUCTS }, (_, at) => ({
  id: at + 1,
  name: `${WORDS[at % 10]} ${WORDS[Math.floor(at / 10) % 10]?.toLowerCase()} especial ${at + 1}`,
  barcode: String(7_890_000_000_000 + at),
  sku: `SKU${at + 1}`,
  unit: 'UN',
  price: 1 + (at % 5000) / 100,
}))

const now = () => new Date().toISOString()
const config = {
  company: { id: 1, name: 'Mercado', cnpj: '', pix_key: '', pix_city: '' },
  payment_types: [{ id: 1, name: 'Dinheiro', kind: 'cash', is_cash: true, due_days: 0 }],
  user: { id: 1, name: 'Ana', role: 'owner' },
}

/** Answers of the sync interface by the end of their path. */
const ANSWERS: Readonly<Record<string, (body: { sales?: unknown[] }, isFirst: boolean) => object>> = {
  login: () => ({ data: { token: 't', user: { id: 1, name: 'Ana', company_id: 1 } } }),
  tills: () => ({ id: 1, number: 1, name: 'Caixa', last_number: 0, last_hash: null }),
  config: () => ({ data: config }),
  status: () => ({ server_time: now() }),
  products: (_, isFirst) => ({ data: isFirst ? products : [], deleted: [], sync_timestamp: now() }),
  customers: () => ({ data: [], deleted: [], sync_timestamp: now() }),
  sales: ({ sales = [] }) => ({ results: sales.map(() => ({ status: 'created' })) }),
}

async function answer(call: IncomingMessage, reply: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(call.url ?? '/', 'http://till')
  const chunks: Buffer[] = []
  for await (const chunk of call) chunks.push(chunk as Buffer)
  const made = ANSWERS[pathname.split('/').at(-1) ?? '']
  if (pathname.startsWith('/api/') && made) {
    const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : {}
    reply.setHeader('Content-Type', 'application/json')
    return void reply.end(JSON.stringify(made(body, !searchParams.has('last_sync'))))
  }
  const file = pathname === '/caixa' ? 'index.html' : pathname.slice('/caixa/'.length)
  const kinds = { js: 'text/javascript', css: 'text/css', html: 'text/html', svg: 'image/svg+xml', png: 'image/png' }
  reply.setHeader(
    'Content-Type',
    kinds[file.slice(file.lastIndexOf('.') + 1) as keyof typeof kinds] ?? 'application/json',
  )
  reply.setHeader('Service-Worker-Allowed', '/caixa')
  reply.end(readFileSync(join(FOLDER, file)))
}

const percentile = (values: readonly number[], share: number) =>
  values.toSorted((one, other) => one - other)[Math.min(Math.ceil(values.length * share), values.length) - 1] ?? 0

/** Milliseconds from an act in the page until an element is there. */
const timed = (act: string, selector: string) => `new Promise((resolve) => {
  const begun = performance.now()
  const seen = () => document.querySelector(${JSON.stringify(selector)}) && (watcher.disconnect(), resolve(performance.now() - begun))
  const watcher = new MutationObserver(seen)
  watcher.observe(document, { childList: true, subtree: true })
  ${act}
})`

/** Milliseconds since the navigation until the search is on the screen. */
const USABLE = `new MutationObserver((_, watcher) => {
  if (document.querySelector('.search input')) { watcher.disconnect(); globalThis.usable = performance.now() }
}).observe(document, { childList: true, subtree: true })`

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

/** Processor time of the page's main thread so far, in ms: it does not grow with what else the machine does. */
async function processorOf(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0)
  }
}

async function sellOften(page: Page): Promise<{ times: number[]; processor: number[] }> {
  const times: number[] = []
  const processor: number[] = []
  const used = await processorOf(page)
  for (let sale = 0; sale < SALES; sale++) {
    for (const code of [1, 2, 3]) {
      await page.getByLabel('Buscar').fill(products[sale * 3 + code]?.barcode ?? '')
      await page.keyboard.press('Enter')
    }
    await button(page, 'Receber').click()
    await button(page, 'Dinheiro').click()
    const before = await used()
    times.push(await page.evaluate<number>(timed(`document.querySelector('form .button.main').click()`, '.receipt')))
    processor.push((await used()) - before)
    await button(page, 'Nova venda').click()
  }
  return { times, processor }
}

async function search(page: Page): Promise<number[]> {
  const times: number[] = []
  for (let at = 0; at < SEARCHES; at++) {
    const text = at % 2 === 0 ? `${WORDS[at % 10]} ${at * 397}` : `nada disto ${at}`
    const act = `const field = document.querySelector('.search input'); field.value = ${JSON.stringify(text)}; field.dispatchEvent(new Event('input', { bubbles: true }))`
    times.push(await page.evaluate<number>(timed(act, '.found')))
    await page.getByLabel('Buscar').fill('')
    await page.locator('.found').waitFor({ state: 'detached' })
  }
  return times
}

async function scan(page: Page): Promise<number> {
  const begun = performance.now()
  for (let at = 0; at < SCANS; at++) {
    await page.keyboard.type(products[at * 7]?.barcode ?? '')
    await page.keyboard.press('Enter')
  }
  await page
    .locator('.lines ol > li')
    .nth(SCANS - 1)
    .waitFor()
  return (SCANS * 60_000) / (performance.now() - begun)
}

async function measure(url: string, setGone: (isGone: boolean) => void): Promise<Line[]> {
  const browser = await openKilledBrowser()
  try {
    const page = browser.page()
    await page.goto(`${url}/caixa`)
    await page.getByLabel('E-mail').fill('ana@loja.example')
    await page.getByLabel('Senha').fill('senha')
    await button(page, 'Entrar').click()
    await page.getByLabel('Buscar').waitFor({ timeout: 120_000 })
    await page.evaluate('navigator.serviceWorker.ready.then(() => {})')
    const sales = await sellOften(page)
    const searches = await search(page)
    const scans = await scan(page)
    const starts: number[] = []
    const processor: number[] = []
    setGone(true)
    for (let start = 0; start < STARTS; start++) {
      await browser.kill()
      await browser.page().addInitScript(USABLE)
      const used = await processorOf(browser.page())
      const before = await used()
      await browser.page().goto(`${url}/caixa`)
      await browser.page().getByLabel('Buscar').waitFor()
      processor.push((await used()) - before)
      starts.push(await browser.page().evaluate<number>('globalThis.usable'))
    }
    const files = readdirSync(join(FOLDER, 'files')).filter((name) => name.endsWith('.js'))
    const scripts = [join(FOLDER, 'worker.js'), ...files.map((name) => join(FOLDER, 'files', name))]
    const bytes = scripts.reduce((sum, file) => sum + gzipSync(readFileSync(file), { level: 9 }).length, 0)
    return [
      bounded({ name: 'till-finish-p95', value: percentile(sales.times, 0.95), unit: 'ms' }, 60),
      bounded({ name: 'till-finish-p95-processor', value: percentile(sales.processor, 0.95), unit: 'ms' }, 60),
      bounded({ name: 'till-search-p95', value: percentile(searches, 0.95), unit: 'ms' }, 50),
      bounded({ name: 'till-scan', value: 60_000 / scans, unit: 'ms an item' }, 1000),
      bounded({ name: 'till-start-offline', value: percentile(starts, 0.5), unit: 'ms' }, 1000),
      bounded({ name: 'till-start-offline-processor', value: percentile(processor, 0.5), unit: 'ms' }, 1000),
      bounded({ name: 'till-script', value: bytes / 1024, unit: 'KB' }, 70),
    ]
  } finally {
    await browser.close()
  }
}

let isGone = false
const server = createServer((call, reply) => {
  if (isGone) return void call.destroy()
  void answer(call, reply).catch(() => call.destroy())
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
try {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const lines = await measure(url, (next) => {
    isGone = next
  })
  console.log(reportOf(lines))
} finally {
  server.closeAllConnections()
  server.close()
}
