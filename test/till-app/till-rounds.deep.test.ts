import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { parseScannedReceipt, readReceipt } from '#domain/receipt-code.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { describeInBrowser } from '../support/browser.ts'
import { useDatabase } from '../support/database.ts'
import { type FaultyTillService, openFaultyTillService, type ServiceFault } from '../support/faulty-till-service.ts'
import { type KilledBrowser, openKilledBrowser } from '../support/killed-browser.ts'
import { type PanelUser, panelUser } from '../support/panel.ts'
import { DEPTH, SEED, TITLE } from '../support/random.ts'
import { createTestUser, type TestUser } from '../support/till.ts'
import { enter, pay, settle, take } from '../support/till-app.ts'

const ACTS = ['sell', 'cancel', 'return', 'exchange', 'park', 'mixed'] as const
type Act = (typeof ACTS)[number]

const SERVICE_FAULTS: readonly ServiceFault[] = [
  'gone',
  'lost',
  'answer 401',
  'answer 409',
  'answer 500',
  'answer 503',
  'poison 500',
  'poison 422',
]
const DEVICE_FAULTS = [
  'kill',
  'power cut',
  'copied back',
  'copied back unsent',
  'deleted',
  'clock',
  'two tabs',
  'full',
  'update',
] as const
type Fault = ServiceFault | (typeof DEVICE_FAULTS)[number]

/** A batch plays each fault once, on a device and in a company of its own. */
const FAULTS: readonly Fault[] = ['none', ...SERVICE_FAULTS, ...DEVICE_FAULTS]
/** Faults during which nothing reaches the service, so that it is on the device and on paper alone. */
const UNSENT: readonly Fault[] = ['power cut', 'copied back unsent', 'deleted']

const PRICE_CENTS = 1890
const DAYS_MS = 3 * 86_400_000

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

function shuffled<T>(all: readonly T[], roll: (sides: number) => number): T[] {
  const rest = [...all]
  return all.map(() => rest.splice(roll(rest.length), 1)[0] as T)
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

/** What a device has recorded, from its own database. */
interface Written {
  readonly kind: 'sales' | 'returns' | 'cash'
  readonly state: 'waiting' | 'sent' | 'refused'
  /** What the service said to a refused one. */
  readonly note: string
  readonly offlineId: string
  readonly status: string | null
  /** Cents of a sale, or what a return gave back. */
  readonly cents: number
  readonly till: number
  readonly number: number
}

const READ_RECORDS = `new Promise((resolve, reject) => {
  const opening = indexedDB.open('tillbook-caixa')
  opening.onerror = reject
  opening.onsuccess = () => {
    const all = opening.result.transaction('records').objectStore('records').getAll()
    all.onsuccess = () => {
      opening.result.close()
      resolve(all.result.map(({ kind, element, state, note }) => ({
        kind, state, note, offlineId: element.offline_id, status: element.status ?? null, till: element.till.id,
        number: element.till.number,
        cents: Math.round(100 * (element.total ?? (element.refunds ?? []).reduce((sum, each) => sum + each.amount, 0))),
      })))
    }
  }
})`

/** Copies that take no more writes, as on a full disk. */
const fill = (copies: readonly string[]) => `(() => {
  if (${copies.includes('database')}) IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError') }
  if (${copies.includes('file')}) Worker.prototype.postMessage = function (order) {
    setTimeout(() => this.dispatchEvent(new MessageEvent('message', { data: { id: order.id, error: 'QuotaExceededError' } })))
  }
})()`

/** Follows the clock of the device; the page is loaded anew afterwards. */
const CLOCK = `(() => {
  let skew = 0
  try { skew = Number(localStorage.getItem('skew') ?? 0) } catch {}
  const real = Date.now
  const RealDate = Date
  Date.now = () => real() + skew
  globalThis.Date = class extends RealDate {
    constructor(...parts) { parts.length === 0 ? super(real() + skew) : super(...parts) }
  }
})()`

/** One batch: a company, a device, and what both have to agree on at the end. */
class Batch {
  readonly api: TestApi
  readonly company: TestCompany
  readonly owner: TestUser
  readonly panel: PanelUser
  readonly service: FaultyTillService
  readonly browser: KilledBrowser
  readonly roll: (sides: number) => number
  /** Code of each receipt that was shown, by `offline_id`. */
  readonly printed = new Map<string, { readonly code: string; readonly cents: number }>()
  readonly written = new Map<string, Written>()
  readonly lost = new Set<string>()
  hasUpdate = false

  constructor(parts: Pick<Batch, 'api' | 'company' | 'owner' | 'panel' | 'service' | 'browser' | 'roll'>) {
    this.api = parts.api
    this.company = parts.company
    this.owner = parts.owner
    this.panel = parts.panel
    this.service = parts.service
    this.browser = parts.browser
    this.roll = parts.roll
  }

  get page(): Page {
    return this.browser.page()
  }

  async enter(): Promise<void> {
    await this.page.context().addInitScript(CLOCK)
    await enter(this.page, this.owner, this.service.url)
    await this.page.evaluate('navigator.serviceWorker.ready.then(() => {})')
    // The first load was not the worker's.
    await this.page.reload()
    await settle(this.page)
  }

  async readRecords(): Promise<Written[]> {
    const all = (await this.page.evaluate(READ_RECORDS)) as Written[]
    for (const each of all) this.written.set(keyOf(each), each)
    return all
  }

  /** Notes a receipt as its paper has it. */
  async onReceipt(): Promise<void> {
    const codes = this.page.getByRole('img', { name: 'Código da venda' })
    await codes.first().waitFor()
    const texts = await codes.evaluateAll((all: { getAttribute(name: string): string | null }[]) =>
      all.map((each) => each.getAttribute('data-code')),
    )
    const code = texts.join('\n')
    const scanned = parseScannedReceipt(code)
    const sale = scanned && 'signed' in scanned ? readReceipt(scanned.signed) : null
    if (!sale) throw new Error('the code of a receipt is not readable')
    this.printed.set(sale.offline_id, { code, cents: sale.total })
  }

  /** *Nova venda*, which takes a waiting update. */
  async next(): Promise<void> {
    const loading = this.hasUpdate ? this.page.waitForEvent('load') : null
    this.hasUpdate = false
    await button(this.page, 'Nova venda').click()
    await loading
    await this.page.getByLabel('Buscar').waitFor()
  }

  async finish(act: Act): Promise<void> {
    const { page } = this
    if (act !== 'mixed') return pay(page)
    await button(page, 'Receber').click()
    await button(page, 'pix').click()
    await page.getByLabel('Valor em pix').fill('1,00')
    await button(page, 'Receber').click()
    await button(page, 'cash').click()
    await button(page, 'Finalizar').click()
    await button(page, 'Nova venda').waitFor()
  }

  /** `onShown` is called once the first receipt is on the screen. */
  async play(act: Act, onShown: () => Promise<void>): Promise<void> {
    const { page } = this
    await take(page, `${1 + this.roll(3)}*cafe`)
    if (act === 'park') {
      await button(page, 'Guardar').click()
      await page.getByRole('button', { name: /^Vendas/ }).click()
      await button(page, 'Retomar').first().click()
    }
    await this.finish(act)
    await this.onReceipt()
    await onShown()
    if (act === 'cancel') {
      await button(page, 'Cancelar venda').click()
      await button(page, 'Sim, cancelar venda').click()
      await page.getByText(/Venda \d+ cancelada/).waitFor()
    } else if (act === 'return' || act === 'exchange') await this.bringBack(act)
  }

  async bringBack(act: 'return' | 'exchange'): Promise<void> {
    const { page } = this
    await this.next()
    await button(page, 'Vendas').click()
    const sale = page.getByRole('button', { name: /^Devolver ou trocar venda/ }).first()
    await sale.click()
    await page
      .getByLabel(/restam/)
      .first()
      .fill('1')
    if (act === 'return') {
      await button(page, 'Devolver em cash').click()
      await page.getByText(/Devolva R\$/).waitFor()
      return
    }
    await button(page, 'Trocar por outros itens').click()
    await take(page, 'cafe')
    await button(page, 'Receber').click()
    await button(page, 'Finalizar').click()
    await button(page, 'Nova venda').waitFor()
    await this.onReceipt()
  }

  /** Opens the till again, sees the receipt of a sale that was just recorded, and empties what was not. */
  async recover(): Promise<void> {
    const { page } = this
    if (page.url() === 'about:blank') {
      await page.context().addInitScript(CLOCK)
      await page.goto(`${this.service.url}/caixa`)
    }
    const next = button(page, 'Nova venda')
    const search = page.getByLabel('Buscar')
    await next.or(search).or(page.getByLabel('E-mail')).first().waitFor()
    if (await page.getByLabel('E-mail').isVisible()) return this.enter()
    if (await next.isVisible()) await this.next()
    await search.waitFor()
    const undo = button(page, 'Desfazer a troca')
    if (await undo.isVisible()) await undo.click()
    while (await button(page, 'Desfazer').isEnabled()) await button(page, 'Desfazer').click()
  }

  async round(act: Act, fault: Fault): Promise<void> {
    const isService = SERVICE_FAULTS.includes(fault as ServiceFault)
    this.service.set(UNSENT.includes(fault) ? 'gone' : isService ? (fault as ServiceFault) : 'none')
    if (fault === 'kill') await this.killed(act)
    else if (fault === 'power cut' || fault === 'copied back' || fault === 'copied back unsent')
      await this.copiedBack(act, fault)
    else if (fault === 'deleted') {
      await this.play(act, async () => {})
      await this.lose(() => this.browser.wipe())
    } else if (fault === 'full') await this.full(act)
    else if (fault === 'clock') await this.clock(act)
    else if (fault === 'two tabs') await this.twoTabs(act)
    else if (fault === 'update') await this.update(act)
    else await this.play(act, async () => {})
    this.service.set('none')
    await this.page.reload()
    await this.recover()
    if (fault === 'poison 422') await this.sendAgain()
    await this.takeInFromPaper()
    await settle(this.page)
    await this.readRecords()
  }

  async killed(act: Act): Promise<void> {
    const playing = this.play(act, async () => {}).catch(() => {})
    await Promise.race([playing, new Promise((resolve) => setTimeout(resolve, this.roll(3000)))])
    await this.browser.kill()
    await playing
  }

  /** The profile of an earlier moment: of the shown receipt after a power cut, else of before the act. */
  async copiedBack(act: Act, fault: 'power cut' | 'copied back' | 'copied back unsent'): Promise<void> {
    let snapshot = fault === 'power cut' ? '' : this.browser.snapshot()
    await this.play(act, async () => {
      if (fault === 'power cut') snapshot = this.browser.snapshot()
    })
    if (fault === 'copied back') await settle(this.page)
    const paper = [...this.printed.keys()]
    await this.lose(() => this.browser.restore(snapshot))
    if (fault !== 'power cut') return
    const kept = new Set((await this.readRecords()).map(({ offlineId }) => offlineId))
    expect(
      kept.has(paper.at(act === 'exchange' ? -2 : -1) ?? ''),
      'a power cut took a sale whose receipt was shown',
    ).to.equal(true)
  }

  /** Notes what was on the device alone. */
  async lose(act: () => Promise<void>): Promise<void> {
    const before = await this.readRecords()
    await act()
    this.service.set('none')
    await this.recover()
    const after = new Set((await this.readRecords()).map(keyOf))
    for (const each of before) if (!after.has(keyOf(each)) && each.state !== 'sent') this.lost.add(keyOf(each))
  }

  async full(act: Act): Promise<void> {
    const { page } = this
    const copies = [['database', 'file'], ['database'], ['file']][this.roll(3)] ?? []
    await page.evaluate(fill(copies))
    if (copies.length === 1) return this.play(act, async () => {})
    await take(page, 'cafe')
    await button(page, 'Receber').click()
    await button(page, 'cash').click()
    await button(page, 'Finalizar').click()
    await page.getByText(/Não foi possível gravar neste aparelho/).waitFor()
  }

  async clock(act: Act): Promise<void> {
    const { page } = this
    await page.evaluate(`localStorage.setItem('skew', ${this.roll(2) === 0 ? -DAYS_MS : DAYS_MS})`)
    await page.reload()
    await this.recover()
    await page.getByText(/O relógio deste aparelho está/).waitFor()
    await this.play(act, async () => {})
    await page.evaluate(`localStorage.removeItem('skew')`)
    // The browser is slow to write this down, and profiles are copied.
    await page.goto('about:blank')
    await page.waitForTimeout(1000)
    await page.goto(`${this.service.url}/caixa`)
  }

  async twoTabs(act: Act): Promise<void> {
    const other = await this.page.context().newPage()
    await other.goto(`${this.service.url}/caixa`)
    await other.getByRole('heading', { name: 'O caixa está aberto em outra aba' }).waitFor()
    await this.page.bringToFront()
    await this.play(act, async () => {})
    await other.close()
  }

  async update(act: Act): Promise<void> {
    this.service.publishVersion()
    await take(this.page, 'cafe')
    await this.page.evaluate(
      `navigator.serviceWorker.getRegistration('/caixa').then((found) => found.update()).then(() => {})`,
    )
    await this.page.getByText('Há uma versão nova').waitFor()
    this.hasUpdate = true
    await this.play(act, async () => {})
    if (await button(this.page, 'Nova venda').isVisible()) await this.next()
    this.hasUpdate = false
  }

  async sendAgain(): Promise<void> {
    await button(this.page, 'Vendas').click()
    const again = button(this.page, 'Enviar de novo')
    if (await again.isVisible()) await again.click()
    await button(this.page, 'Voltar').click()
  }

  async salesById(): Promise<Map<string, { readonly total: string; readonly status: string }>> {
    const all = await everyRecord(this.company, '/sales')
    const byId = new Map(all.map((sale) => [sale.offline_id, sale]))
    expect(byId.size, 'a sale is doubled').to.equal(all.length)
    return byId
  }

  /** Shops that lost a device scan its receipts. */
  async takeInFromPaper(): Promise<void> {
    const known = await this.salesById()
    const isLost = (id: string) => [...this.lost].some((key) => key.includes(id))
    for (const [id, { code }] of this.printed) {
      if (known.has(id) || !isLost(id)) continue
      const { status, html } = await this.panel.submit('/painel/caixas/recuperar', { code })
      expect(status, html.slice(0, 2000)).to.be.oneOf([200, 303])
    }
  }

  async expectAgreement(): Promise<void> {
    const sales = await this.salesById()
    const returns = await everyRecord(this.company, '/returns')
    for (const [id, { cents }] of this.printed) expect(sales.get(id)?.total, `sale ${id}`).to.equal(amount(cents))
    for (const each of this.written.values()) {
      if (this.lost.has(keyOf(each))) continue
      const { kind, offlineId, cents, status } = each
      if (kind === 'returns') {
        const found = returns.filter((one) => one.offline_id === offlineId)
        expect(
          found.map(({ total }) => total),
          `return ${offlineId}`,
        ).to.deep.equal([amount(cents)])
      } else expect(sales.get(offlineId)?.total, `sale ${offlineId}`).to.equal(amount(cents))
      if (status === 'cancelled') expect(sales.get(offlineId)?.status).to.equal('cancelled')
    }
    const known = new Set([...this.written.values()].map(({ offlineId }) => offlineId))
    for (const id of sales.keys()) expect(known.has(id), `a sale ${id} that no till made`).to.equal(true)
    await this.expectGaps()
  }

  /** Each number up to the last one came, or is named as missing. */
  async expectGaps(): Promise<void> {
    const { data } = (await this.company.get('/tills')).body
    for (const { id, last_number, missing } of data) {
      const isMissing = (number: number) =>
        missing.some(([from, to]: [number, number]) => from <= number && number <= to)
      const own = [...this.written.values()].filter(({ till }) => till === id)
      const came = new Set(
        own
          .filter(
            (each) =>
              !this.lost.has(keyOf(each)) ||
              (this.printed.has(each.offlineId) && each.status !== 'cancelled' && each.kind === 'sales'),
          )
          .map(({ number }) => number),
      )
      for (let number = 1; number <= last_number; number++)
        expect(isMissing(number), `till ${id}, number ${number} of ${last_number}`).to.equal(!came.has(number))
    }
  }
}

const keyOf = ({ kind, offlineId, status, till, number }: Written) => `${kind} ${offlineId} ${status} ${till}/${number}`
const amount = (cents: number) => (cents / 100).toFixed(2)

interface ApiRecord {
  readonly offline_id: string
  readonly total: string
  readonly status: string
}

async function everyRecord(company: TestCompany, path: string): Promise<ApiRecord[]> {
  const all: ApiRecord[] = []
  for (let cursor = ''; ; ) {
    const { body, status, text } = await company.get(`${path}?limit=100${cursor}`)
    expect(status, text).to.equal(200)
    all.push(...body.data)
    if (!body.meta.next_cursor) return all
    cursor = `&cursor=${body.meta.next_cursor}`
  }
}

describeInBrowser(`rounds of a till with faults (${TITLE})`, () => {
  const database = useDatabase()
  let api: TestApi
  before('start the service', async () => {
    api = await startApi(database.url)
  })
  after('end the service', () => api?.close())

  for (let at = 0; at < DEPTH; at++)
    it(`loses, doubles and changes no sale whose receipt was shown, seed ${SEED + at} [TILL-1110]`, async function () {
      this.timeout(60_000 + FAULTS.length * 30_000)
      const roll = dice(SEED + at)
      const company = await api.company()
      for (const kind of ['cash', 'pix', 'exchange_credit'] as const) await company.paymentType(kind)
      const item = { name: 'Café torrado', price: amount(PRICE_CENTS), stock: '100000' }
      expect((await company.post('/catalog/items', item)).status).to.equal(201)
      const owner = await createTestUser(company, 'owner')
      const panel = await panelUser(api, company)
      const service = await openFaultyTillService(api.url)
      const browser = await openKilledBrowser()
      const batch = new Batch({ api, company, owner, panel, service, browser, roll })
      const played: string[] = []
      try {
        await batch.enter()
        for (const fault of shuffled(FAULTS, roll)) {
          const act = ACTS[roll(ACTS.length)] ?? 'sell'
          played.push(`${act} × ${fault}`)
          await batch.round(act, fault)
        }
        await batch.expectAgreement()
      } catch (error) {
        const screen = await browser
          .page()
          .locator('#caixa')
          .textContent({ timeout: 1000 })
          .catch(() => '')
        const refused = (await batch.readRecords().catch(() => [])).filter(({ state }) => state === 'refused')
        const notes = refused.map((each) => `${keyOf(each)}: ${each.note}`).join('\n')
        throw new Error(`after ${played.join(', ')}: ${error}\n${screen}\n${notes}`, { cause: error })
      } finally {
        await browser.close()
        await service.close()
      }
    })
})
