import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import express, { type Response } from 'express'
import type { Page } from 'playwright-core'
import { h } from 'preact'
import { createAddressLimit } from '#access/login-limits.ts'
import { V1_ROUTES } from '#api/api-v1.ts'
import { createContract } from '#api/contract/contract-document.ts'
import { serveDocs } from '#api/docs/docs-site.ts'
import { setItemPicture } from '#commands/catalog-commands.ts'
import { createStore } from '#commands/store-commands.ts'
import { createCompress } from '#http/answers.ts'
import { plainDocument } from '#panel/layout.tsx'
import { asset, serveAssets } from '#panel/panel-assets.ts'
import { pagePolicy } from '#panel/panel-cookies.ts'
import { check } from '../support/browser/accessibility.ts'
import { tabThrough } from '../support/browser/keyboard.ts'
import { useApp } from '../support/browser/small-app.ts'
import { atBothWidths, expectNoSidewaysScrolling, NARROW, WIDE } from '../support/browser/widths.ts'
import { describeInBrowser, useBrowser, usePanel } from '../support/browser.ts'
import { until } from '../support/wait.ts'

/** Page with the head of panel pages. */
const pageOf = (title: string, html: string) =>
  plainDocument({ title, body: h('div', { dangerouslySetInnerHTML: { __html: html } }) }, null)

const FIRST = `
<a href="/seguinte" hx-boost="true">Seguinte</a>
<button hx-get="/parte" hx-target="#parte">Buscar</button>
<button hx-get="/parte" hx-on:htmx:before-request="document.title = 'mudado'" hx-target="#parte">Avaliar</button>
<input id="cor" aria-label="Cor" value="#0B5FA5">
<span data-color="cor" hidden><input type="color" aria-label="Escolher"><svg><rect></rect></svg><button type="button">Amostra</button></span>
<form data-picture="20000"><input type="file" aria-label="Imagem"><p class="error" hidden></p><button>Enviar</button></form>
<input aria-label="Errado" aria-invalid="true" value="x">
<div id="parte"></div>
<details class="more"><summary>Mais ações</summary><div><a href="/excluir">Excluir</a></div></details>
<input id="busca" aria-label="Procurar"><ul class="found"><li><a href="/um">Um</a></li><li><a href="/dois">Dois</a></li></ul>
<div data-live="/ao-vivo" data-since="4" data-company="1" data-worker="${asset('live-worker.js')}">
  <div id="vivo" hx-get="/vivo" hx-trigger="mudou from:body" hx-swap="outerHTML"><a href="/antes">Antes</a><a href="/alvo">Alvo</a></div>
</div>`

/** All pages are served with the content security policy of the panel. */
function pages() {
  const app = express()
  const streams: Response[] = []
  app.use('/painel/assets', serveAssets())
  app.use(pagePolicy)
  app.get('/', (_request, response) => void response.send(pageOf('Primeira', FIRST)))
  app.get('/seguinte', (_request, response) => void response.send(pageOf('Segunda', '<p>conteúdo</p>')))
  app.get('/parte', (_request, response) => {
    response.send('<p>veio</p><script src="/de-fora.js"></script><script>document.title = "mudado"</script>')
  })
  app.get('/vivo', (_request, response) => {
    response.send('<div id="vivo"><a href="/novo">Novo</a><a href="/antes">Antes</a><a href="/alvo">Alvo</a></div>')
  })
  app.get('/ao-vivo', (_request, response) => {
    response.type('text/event-stream').flushHeaders()
    streams.push(response)
    response.on('close', () => streams.splice(streams.indexOf(response), 1))
  })
  return { app, streams }
}

describeInBrowser('panel scripts under the content security policy', () => {
  const { app, streams } = pages()
  const browser = useBrowser(useApp(app))

  it('join the typed colour and the picker, and show a sample of it', async () => {
    const page = await browser.open('/')
    const [typed, picked] = [page.getByLabel('Cor', { exact: true }), page.getByLabel('Escolher')]
    expect(await picked.inputValue()).to.equal('#0b5fa5')
    await picked.fill('#cc3300')
    expect(await typed.inputValue()).to.equal('#cc3300')
    expect(await page.locator('rect').getAttribute('fill')).to.equal('#cc3300')
    await typed.fill('')
    expect(await page.locator('rect').getAttribute('fill')).to.equal('none')
  })

  it('convert a picture to WebP before it is sent, or say that they cannot', async () => {
    const page = await browser.open('/')
    const field = page.getByLabel('Imagem')
    const chosen = () =>
      field.evaluate(({ files }: HTMLInputElement) => files?.[0] && `${files[0].name} ${files[0].type}`)
    const png = await page.screenshot()
    await field.setInputFiles({ name: 'foto.png', mimeType: 'image/png', buffer: png })
    await until(async () => (await chosen()) === 'imagem.webp image/webp')
    expect(await field.evaluate(({ files }: HTMLInputElement) => files?.[0]?.size)).to.be.within(100, 20_000)
    await field.setInputFiles({ name: 'foto.heic', mimeType: 'image/heic', buffer: Buffer.from('....ftypheic') })
    await page.getByText('Este navegador não abre esta imagem').waitFor()
    expect(await chosen()).to.equal(undefined)
  })

  it('close an open menu by Escape, and return the focus to its button', async () => {
    const page = await browser.open('/')
    await page.getByText('Mais ações').click()
    await page.getByRole('link', { name: 'Excluir' }).focus()
    await page.keyboard.press('Escape')
    expect(await page.getByRole('link', { name: 'Excluir' }).isVisible()).to.equal(false)
    expect(await page.evaluate('document.activeElement.textContent')).to.equal('Mais ações')
  })

  it('loads page fragments without running their scripts [PANEL-13]', async () => {
    const page = await browser.open('/')
    await page.getByRole('button', { name: 'Buscar' }).click()
    await page.getByText('veio').waitFor()
    expect(await page.locator('#parte script').count()).to.equal(0)
    expect(await page.title()).to.equal('Primeira · Tillbook')
    // Checks that no other field style overrides the red border.
    const border = await page.evaluate("getComputedStyle(document.querySelector('[aria-invalid]')).borderColor")
    expect(border).to.equal('rgb(163, 22, 33)')
    const focused = () => page.evaluate('document.activeElement.id || document.activeElement.textContent')
    for (const [key = '', at] of [
      ['/', 'busca'],
      ['ArrowDown', 'Um'],
      ['ArrowDown', 'Dois'],
      ['ArrowUp', 'Um'],
    ]) {
      await page.keyboard.press(key)
      expect(await focused()).to.equal(at)
    }
  })

  // Seven tabs: a browser opens six connections per host, so a stream per tab would leave none for the last one.
  it('share one live stream between all tabs, and keep the focus on updates [PANEL-103] [PANEL-112]', async () => {
    const context = await browser.context()
    const tabs = await Promise.all(Array.from({ length: 7 }, () => context.newPage()))
    for (const tab of tabs) await tab.goto('/')
    const stream = await until(() => streams[0])
    await tabs[6]?.getByRole('link', { name: 'Alvo' }).focus()
    stream.write('event: mudou\ndata: 5\n\n')
    for (const tab of tabs) await tab.getByRole('link', { name: 'Novo' }).waitFor()
    expect(streams).to.have.length(1)
    expect(await tabs[6]?.evaluate('document.activeElement.textContent')).to.equal('Alvo')
    for (const tab of tabs) await tab.goto('/seguinte')
    await until(() => streams.length === 0)
  })

  it('open a live stream per visible page without shared workers [PANEL-103]', async () => {
    const context = await browser.context()
    await context.addInitScript('delete window.SharedWorker')
    const page = await context.newPage()
    await page.goto('/')
    const stream = await until(() => streams[0])
    stream.write('event: mudou\ndata: 5\n\n')
    await page.getByRole('link', { name: 'Novo' }).waitFor()
  })

  it('navigate forward and back without storing pages in the browser', async () => {
    const page = await browser.open('/')
    await page.getByRole('link', { name: 'Seguinte' }).click()
    await page.getByRole('heading', { name: 'Segunda' }).waitFor()
    expect(new URL(page.url()).pathname).to.equal('/seguinte')
    await page.goBack()
    await page.getByRole('heading', { name: 'Primeira' }).waitFor()
    const kept = await page.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')
    expect(kept).to.not.match(/Primeira|Segunda|conteúdo|Seguinte/)
  })

  it('evaluate no code from page attributes [PANEL-13]', async () => {
    const page = await browser.open('/', { mayDo: /htmx:evalDisallowedError/ })
    await page.getByRole('button', { name: 'Avaliar' }).click()
    await page.getByText('veio').waitFor()
    expect(await page.title()).to.equal('Primeira · Tillbook')
  })
})

describeInBrowser('API documentation in a browser', () => {
  const panel = usePanel()

  it('fits both widths, and requests nothing from other hosts [HTTP-14]', async () => {
    for (const path of [
      '/',
      '/docs',
      '/docs/recursos/vendas',
      '/docs/guias/pos-sync',
      '/docs/eventos/vendas',
      '/docs/settings',
    ]) {
      const page = await panel.open(path)
      await page.locator('h1').waitFor()
      await atBothWidths(page, () => expectNoSidewaysScrolling(page))
    }
  })

  it('finds an operation while one types, and works without scripts [HTTP-50]', async () => {
    const page = await panel.open('/docs')
    const links = page.locator('.operations li:visible')
    const all = await links.count()
    await page.getByRole('searchbox').fill('insufficient_stock')
    await page.getByText('resultado').waitFor()
    expect(await links.count()).to.be.within(1, 5)
    await page.getByRole('searchbox').fill('')
    expect(await links.count()).to.equal(all)
  })
})

/** A sample: all operations have the same layout, and checking all would take half a minute. */
describeInBrowser('API documentation of a resource in a browser', () => {
  const routes = V1_ROUTES.filter(({ path }) => /^\/(?:cash-sessions|sales\/:id$)/.test(path))
  const published = () => [
    { contract: createContract(routes), path: '/api/v1/openapi.json', credential: 'KEY' } as const,
  ]
  const addresses = createAddressLimit({ perMinute: 1_000 })
  const options = { addresses, compress: createCompress(), publicUrl: 'http://localhost:3000' }
  const app = express().use('/docs', serveDocs({ contracts: published, references: [] }, options))
  const browser = useBrowser(useApp(app))

  it('is accessible on a phone and on a desktop', async () => {
    for (const path of ['/docs', '/docs/recursos/sessoes-de-caixa', '/docs/guias/webhooks'])
      await check(await browser.open(path))
  })

  it('is reachable by keyboard', async () => {
    const stops = await tabThrough(await browser.open('/docs'))
    expect(stops.slice(0, 3)).to.deep.equal(['a "Ir para o conteúdo"', 'a "Documentação"', 'a "Guias"'])
  })
})

/** Stands in for what browsers of this machine have not: the next of the looks that a test prepared, and a canvas. */
const WITH_CAMERA = `
  globalThis.BarcodeDetector = class {
    async detect() {
      const [code, ...looks] = JSON.parse(sessionStorage.looks ?? '[]')
      sessionStorage.looks = JSON.stringify(looks)
      return code ? [{ rawValue: code }] : []
    }
  }
  navigator.mediaDevices.getUserMedia = async () => {
    const canvas = document.createElement('canvas')
    canvas.getContext('2d').fillRect(0, 0, 9, 9)
    return canvas.captureStream(9)
  }`

describeInBrowser('codes by camera', () => {
  const panel = usePanel()
  const allows = (page: Page) => page.evaluate<boolean>(`document.featurePolicy.allowsFeature('camera')`)
  const CODE = '7891000315507'
  const show = (page: Page, looks: readonly (string | null)[]) =>
    page.evaluate(`sessionStorage.looks = '${JSON.stringify(looks)}'`)
  const buttons = (page: Page) => page.getByRole('button', { name: 'Ler com a câmera' })

  before('a product', async () => {
    const item = { name: 'Café torrado', price: '18.90', barcode: CODE, stock: '3', unit: 'UN' }
    expect((await panel.company.post('/catalog/items', item)).status).to.equal(201)
    await panel.company.run(createStore, {
      alias: 'loja',
      commission_percentage: '0',
      sandbox: true,
      access_token: 'T',
    })
  })

  it('are offered where the browser reads them, on the pages that may use the camera only [PANEL-1362]', async () => {
    const { id } = (await panel.company.post('/stock/inventories', { name: 'Novembro' })).body.data
    const fields = ['/busca', '/loja/pedidos/novo', '/catalogo/entradas/novo', `/catalogo/inventarios/${id}`]
    const page = await panel.openAs(panel.owner, '/painel/')
    expect(await allows(page)).to.equal(false)
    expect(await page.getByRole('link', { name: 'Ler com a câmera' }).count()).to.equal(0)
    for (const path of fields) {
      await page.goto(`/painel${path}`)
      expect([await allows(page), await buttons(page).count()], path).to.deep.equal([true, 0])
    }
    await page.addInitScript(WITH_CAMERA)
    for (const path of fields) {
      await page.goto(`/painel${path}`)
      await buttons(page).first().waitFor()
    }
    await check(page)
  })

  it('find a product, fill the field of an order, and count one product after the other [PANEL-1362]', async () => {
    const { id } = (await panel.company.post('/stock/inventories', { name: 'Dezembro' })).body.data
    const page = await panel.openAs(panel.owner, '/painel/', { viewport: NARROW })
    await page.addInitScript(WITH_CAMERA)
    await page.goto('/painel/')
    await expectNoSidewaysScrolling(page)
    await show(page, [null, CODE])
    await page.getByRole('link', { name: 'Ler com a câmera' }).click()
    await page.getByRole('link', { name: 'Café torrado' }).waitFor()
    await page.goto('/painel/loja/pedidos/novo')
    await show(page, [CODE])
    await buttons(page).first().click()
    await page.getByRole('radio', { name: /Café torrado/ }).waitFor()
    await page.goto(`/painel/catalogo/inventarios/${id}`)
    // Twice past the camera: what stays in sight is one.
    await show(page, [CODE, CODE, CODE, null, CODE])
    await buttons(page).click()
    await page.getByText('total 2 UN.').waitFor()
    expect(await page.evaluate('sessionStorage.looks')).to.equal('[]')
  })

  it('say that the camera is not allowed, and leave the field to be typed into [PANEL-1362]', async () => {
    const page = await panel.openAs(panel.owner, '/painel/')
    await page.addInitScript(`${WITH_CAMERA}; navigator.mediaDevices.getUserMedia = () => Promise.reject(new Error())`)
    await page.goto('/painel/busca')
    await buttons(page).click()
    await page.getByRole('alert').getByText('Não foi possível usar a câmera').waitFor()
    await page.getByRole('button', { name: 'Fechar' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('searchbox').first().fill('café')
  })
})

describeInBrowser('pages as wide as a phone, and as a desk', () => {
  const panel = usePanel()
  const widthOf = async (page: Page, selector: string) =>
    (await page.locator(selector).first().boundingBox())?.width ?? 0

  it('have the form of an import as wide as the cards beside it', async () => {
    const page = await panel.openAs(panel.owner, '/painel/catalogo/importar')
    await page.setViewportSize(WIDE)
    expect(await widthOf(page, 'main > .form')).to.equal(await widthOf(page, 'main > .card'))
  })

  it('say what each of several numbers of a row is on a phone, where no column does', async () => {
    const card = await panel.company.paymentType('card')
    const terms = { acquirer_rate: '3.00', settles_in_days: 1 }
    await panel.company.call('PATCH', `/sales/payment-types/${card}`, terms)
    const items = [{ description: 'Bolo', quantity: '1', unit_price: '1234.56' }]
    const payments = [{ payment_type_id: card, amount: '1234.56' }]
    expect((await panel.company.post('/sales', { items, payments })).status).to.equal(201)
    const page = await panel.openAs(panel.owner, '/painel/contas-a-receber/operadoras')
    const shown = () =>
      page.evaluate<string[]>(
        `[...document.querySelectorAll('.list td.number')].map((cell) => getComputedStyle(cell, '::before').content)`,
      )
    await page.setViewportSize(WIDE)
    expect(new Set(await shown())).to.deep.equal(new Set(['none']))
    await page.setViewportSize(NARROW)
    for (const head of ['Valor', 'Taxa', 'A receber']) expect((await shown()).join()).to.include(head)
  })

  it('show a product with all it can have within 2,500 px of a phone [PANEL-1361]', async () => {
    const { company } = panel
    const taxes = { ncm: '09012100', cest: '1709600', cfop: '5102', csosn: '102', barcode: '7891000315507', sku: 'CAF' }
    const item = { name: 'Café torrado', price: '1234.50', cost: '871.93', unit: 'UN', stock: '900', min_stock: '6' }
    const { id } = (await company.post('/catalog/items', { ...item, ...taxes })).body.data
    const content = await readFile(new URL('../../docs/images/vendas-360-light.webp', import.meta.url))
    await company.run(setItemPicture, { id, content })
    for (const size of ['250 g', '500 g', '1 kg'])
      for (const color of ['Grão', 'Moído', 'Fino', 'Extra'])
        await company.post('/catalog/items', {
          ...item,
          name: `${size} ${color}`,
          parent_id: id,
          variant: { size, color },
        })
    for (let n = 0; n < 40; n++) {
      await company.post('/stock/movements', { catalog_item_id: id, kind: 'loss', quantity: '1.5', reason: 'Quebra' })
      await company.call('PATCH', `/catalog/items/${id}`, { price: `${1235 + n}.50` })
    }
    const page = await panel.openAs(panel.owner, `/painel/catalogo/${id}`, { viewport: { width: 390, height: 844 } })
    await page.getByRole('img', { name: 'Imagem de Café torrado' }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollHeight')).to.be.at.most(2_500)
    const cell = page.getByRole('link', { name: '500 g / Moído: 900 UN R$ 1.234,50' })
    expect(new URL((await cell.getAttribute('href')) ?? '', page.url()).pathname).to.match(/catalogo\/\d+$/)
    await check(page)
  })

  it('break no sum of the start page in two lines', async () => {
    const account = { description: 'Aluguel', amount: '123456.78', due_date: '2099-01-01' }
    await panel.company.post('/finance/payables', account)
    await panel.company.post('/finance/receivables', account)
    const page = await panel.openAs(panel.owner, '/painel', { viewport: NARROW })
    const lines = await page.evaluate<number[]>(
      `[...document.querySelectorAll('.card .stat .figure')].map((figure) =>
        Math.round(figure.getBoundingClientRect().height / Number.parseFloat(getComputedStyle(figure).lineHeight)))`,
    )
    expect(lines.length).to.be.at.least(2)
    expect(new Set(lines)).to.deep.equal(new Set([1]))
  })
})
