import { expect } from 'chai'
import type { Locator, Page } from 'playwright-core'
import { createStore } from '#commands/store-commands.ts'
import { createNfeXml } from '#demo/companies/demo-seed.ts'
import { expectNoSidewaysScrolling, expectReadableFigures } from '../support/browser/widths.ts'
import { describeInBrowser, usePanel } from '../support/browser.ts'
import { enter } from '../support/till-app.ts'

const SIZES = [
  { width: 390, height: 844 },
  { width: 1280, height: 800 },
] as const

/** Of a person at a page: each press of a link, a button, a choice, or a field that has not the focus yet. */
interface Hands {
  press(target: Locator): Promise<void>
  /** Opens a list of choices and takes one. */
  choose(target: Locator, label: string | RegExp): Promise<void>
  type(target: Locator, text: string): Promise<void>
}

interface Told {
  readonly job: string
  readonly width: number
  readonly clicks: number
  readonly goal: number
  readonly typed: number
  readonly seconds: number
}

const told: Told[] = []

async function timed(page: Page, job: string, goal: number, work: (hands: Hands) => Promise<void>): Promise<void> {
  let [clicks, typed] = [0, 0]
  const began = performance.now()
  await work({
    async press(target) {
      clicks += 1
      await target.click()
    },
    async choose(target, label) {
      clicks += 2
      const texts = await target.locator('option').allTextContents()
      const found = texts.find((text) => (typeof label === 'string' ? text === label : label.test(text)))
      await target.selectOption({ label: found ?? String(label) })
    },
    async type(target, text) {
      typed += 1
      clicks += (await target.and(page.locator(':focus')).count()) === 0 ? 1 : 0
      await target.fill(text)
    },
  })
  const seconds = (performance.now() - began) / 1000
  const width = page.viewportSize()?.width ?? 0
  told.push({ job, width, clicks, goal, typed, seconds })
  if (page.url().includes('/painel')) {
    await expectNoSidewaysScrolling(page)
    if (width < 640) await expectReadableFigures(page)
  }
  expect(clicks, `clicks of ${job} at ${width} px`).to.be.at.most(goal)
}

const link = (page: Page, name: string | RegExp) =>
  page.getByRole('link', { name, ...(typeof name === 'string' && { exact: true }) }).first()
const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, ...(typeof name === 'string' && { exact: true }) }).first()
const title = (page: Page, name: string | RegExp) => page.getByRole('heading', { name, level: 1 }).waitFor()

/** By the menu, which a phone has behind a button; what its bar has is one press. */
async function goTo(page: Page, { press }: Hands, section: string, inBar?: string): Promise<void> {
  const isPhone = (page.viewportSize()?.width ?? 0) < 1024
  if (!isPhone) return press(page.locator('nav.menu').getByRole('link', { name: section }))
  if (inBar !== undefined) return press(page.locator('nav.bar').getByRole('link', { name: inBar }))
  await press(page.locator('nav.bar').getByRole('link', { name: 'Menu' }))
  await press(page.locator('nav.menu').getByRole('link', { name: section }))
}

for (const viewport of SIZES)
  describeInBrowser(`the jobs of an owner, at ${viewport.width} px`, () => {
    const panel = usePanel()
    let page: Page

    before('log in', async () => {
      page = await panel.openAs(panel.owner, '/painel/', { viewport, kept: true })
      page.setDefaultTimeout(9_000)
    })
    const start = () => page.goto('/painel/')
    const job = (name: string, goal: number, work: (hands: Hands) => Promise<void>) => timed(page, name, goal, work)

    it('begins: kind of shop, ways of paying, categories [PANEL-1364]', async () => {
      await start()
      await job('choose the kind of shop', 3, async ({ press }) => {
        await press(link(page, 'Dizer o que a loja vende'))
        await press(link(page, 'Mercearia ou mercado'))
        await press(button(page, 'Usar estas'))
        await page.getByRole('status').waitFor()
      })
    })

    it('makes a first product [PANEL-1364]', async () => {
      await start()
      await job('first product', 8, async (hands) => {
        await goTo(page, hands, 'Catálogo', 'Catálogo')
        await hands.press(link(page, 'Novo produto ou serviço'))
        await hands.type(page.getByLabel('Nome'), 'Café torrado 500 g')
        await hands.type(page.getByLabel('Preço de venda (R$)'), '18,90')
        await hands.choose(page.getByLabel('Categoria'), 'Mercearia')
        await hands.type(page.getByLabel('Estoque inicial'), '20')
        await hands.press(button(page, 'Salvar'))
        await title(page, 'Café torrado 500 g')
      })
    })

    it('opens a drawer in 4 clicks [PANEL-1364]', async () => {
      await start()
      await job('open a drawer', 4, async (hands) => {
        await goTo(page, hands, 'Caixas')
        await hands.press(link(page, 'Abrir gaveta'))
        await hands.type(page.getByLabel('Troco inicial (R$)'), '100,00')
        await hands.press(button(page, 'Abrir gaveta'))
        await title(page, /^Gaveta de /)
      })
    })

    it('makes a first sale at the till [PANEL-1364]', async () => {
      const till = await panel.open('/painel/entrar', { viewport })
      await enter(till, panel.owner)
      await timed(till, 'first sale', 3, async ({ press, type }) => {
        await type(till.getByLabel('Buscar'), 'cafe')
        await till.getByLabel('Buscar').press('Enter')
        await press(button(till, 'Receber'))
        await press(button(till, 'Dinheiro'))
        await press(button(till, 'Finalizar'))
        await button(till, 'Nova venda').waitFor()
      })
    })

    it('makes an order with a link to pay it [PANEL-1364]', async () => {
      const store = { alias: 'loja', commission_percentage: '0', sandbox: true, access_token: 'TEST-token' }
      await panel.company.run(createStore, store)
      await start()
      await job('order with link', 8, async (hands) => {
        await goTo(page, hands, 'Loja online')
        await hands.press(link(page, 'Novo pedido'))
        await hands.type(page.getByLabel('Item', { exact: true }), 'café')
        await hands.press(page.getByRole('radio', { name: /Café torrado/ }))
        await hands.type(page.getByLabel(/^Cliente/), 'Maria da Silva')
        await hands.type(page.getByLabel('Telefone (WhatsApp)'), '81987654321')
        await hands.press(button(page, 'Criar pedido e link'))
        await page.getByRole('link', { name: 'Enviar por WhatsApp' }).waitFor()
      })
    })

    it('shows the month in 3 clicks [PANEL-1364]', async () => {
      await start()
      await job('month for the accountant', 3, async (hands) => {
        await goTo(page, hands, 'Fechamento do mês')
        await title(page, /^Fechamento de /)
      })
    })

    it('changes the prices of a category in 8 clicks [PANEL-1364]', async () => {
      await start()
      await job('prices of a category', 8, async (hands) => {
        await goTo(page, hands, 'Catálogo', 'Catálogo')
        await hands.press(page.getByText('Mais ações'))
        await hands.press(link(page, 'Alterar preços'))
        await hands.choose(page.getByLabel('Categoria'), 'Mercearia')
        await hands.type(page.getByLabel(/^Novo preço/), '+5 %')
        await hands.press(button(page, 'Ver preços'))
        await hands.press(button(page, 'Alterar preços'))
        await title(page, /^Alteração de preços/)
      })
    })

    it('receives goods by the file of an NF-e [PANEL-1364]', async () => {
      const lines = [{ cProd: '7', xProd: 'BISCOITO AGUA E SAL 400 G', qCom: '24', vProd: '100.00' }]
      const { xml } = createNfeXml({ buyer: '11222333000181', lines, bills: [['2026-02-10', '100.00']], number: 1 })
      await start()
      await job('goods by NF-e', 7, async (hands) => {
        await goTo(page, hands, 'Catálogo', 'Catálogo')
        await hands.press(page.getByText('Mais ações'))
        await hands.press(link(page, 'Entrada por NF-e'))
        await page
          .getByLabel('XML da NF-e')
          .setInputFiles({ name: 'nota.xml', mimeType: 'text/xml', buffer: Buffer.from(xml) })
        await hands.press(button(page, /Conferir|Enviar|Ler/))
        await title(page, /NF-e/)
        await hands.type(page.getByLabel('Preço de venda (R$)').first(), '6,90')
        await hands.press(button(page, /Registrar|Dar entrada/))
        await title(page, /^Entrada /)
      })
    })

    it('receives a debt [PANEL-1364]', async () => {
      const { id: customer_id } = (await panel.company.post('/customers', { name: 'João Pereira' })).body.data
      const debt = { description: 'Compra fiado', amount: '50.00', due_date: '2099-01-10', customer_id }
      expect((await panel.company.post('/finance/receivables', debt)).status).to.equal(201)
      await start()
      await job('receive a debt', 7, async (hands) => {
        await goTo(page, hands, 'Contas a receber', 'A receber')
        await hands.press(link(page, 'Compra fiado'))
        await hands.press(link(page, 'Receber'))
        await hands.choose(page.getByLabel('Forma de pagamento'), 'Pix')
        await hands.press(button(page, /^Receber/))
        await page.getByRole('status').waitFor()
      })
    })
  })

after('tell clicks and seconds', () => {
  for (const { job, width, clicks, goal, typed, seconds } of told)
    console.log(
      `${job}, ${width} px: ${clicks} clicks (at most ${goal}), ${typed} fields typed, ${seconds.toFixed(1)} s`,
    )
})
