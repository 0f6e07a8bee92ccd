import { expect } from 'chai'
import express, { type Response } from 'express'
import { h } from 'preact'
import { serveAssets } from '#panel/assets.ts'
import { pagePolicy } from '#panel/guard.ts'
import { plainDocument } from '#panel/layout.tsx'
import { useApp } from '../support/browser/small-app.ts'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { until } from '../support/wait.ts'

/** A page with the head of the panel's pages. */
const pageOf = (title: string, html: string) =>
  plainDocument({ title, body: h('div', { dangerouslySetInnerHTML: { __html: html } }) })

const FIRST = `
<a href="/seguinte" hx-boost="true">Seguinte</a>
<button hx-get="/parte" hx-target="#parte">Buscar</button>
<button hx-get="/parte" hx-on:htmx:before-request="document.title = 'mudado'" hx-target="#parte">Avaliar</button>
<div id="parte"></div>
<div hx-ext="sse" sse-connect="/ao-vivo"><p sse-swap="vendas">nenhuma venda</p></div>`

/** Every page has the policy of the panel. */
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
  app.get('/ao-vivo', (_request, response) => {
    response.type('text/event-stream').flushHeaders()
    streams.push(response)
  })
  return { app, streams }
}

describeInBrowser("the scripts of the panel, within the panel's policy", () => {
  const { app, streams } = pages()
  const browser = useBrowser(useApp(app))

  it('fetch a part of a page, and run no script that it brings [PANEL-13]', async () => {
    const page = await browser.open('/')
    await page.getByRole('button', { name: 'Buscar' }).click()
    await page.getByText('veio').waitFor()
    expect(await page.locator('#parte script').count()).to.equal(0)
    expect(await page.title()).to.equal('Primeira · Tillbook')
  })

  it('show what the server sends', async () => {
    const earlier = streams.length
    const page = await browser.open('/')
    await page.getByText('nenhuma venda').waitFor()
    const stream = await until(() => streams[earlier])
    stream.write('event: vendas\ndata: <b>3 vendas</b>\n\n')
    await page.getByText('3 vendas').waitFor()
  })

  it('go on to a page and back, keeping nothing of it in the browser', async () => {
    const page = await browser.open('/')
    await page.getByRole('link', { name: 'Seguinte' }).click()
    await page.getByRole('heading', { name: 'Segunda' }).waitFor()
    expect(new URL(page.url()).pathname).to.equal('/seguinte')
    await page.goBack()
    await page.getByRole('heading', { name: 'Primeira' }).waitFor()
    const kept = await page.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')
    expect(kept).to.not.match(/Primeira|Segunda|conteúdo|Seguinte/)
  })

  it('evaluate nothing that stands in a page [PANEL-13]', async () => {
    const page = await browser.open('/', { mayDo: /htmx:evalDisallowedError/ })
    await page.getByRole('button', { name: 'Avaliar' }).click()
    await page.getByText('veio').waitFor()
    expect(await page.title()).to.equal('Primeira · Tillbook')
  })
})
