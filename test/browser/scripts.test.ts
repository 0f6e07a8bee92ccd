import { expect } from 'chai'
import express, { type Response } from 'express'
import { ASSETS_PATH, asset, serveAssets } from '../../src/http/panel/assets.ts'
import { HTMX_CONFIG, PANEL_POLICY } from '../../src/http/panel/policy.ts'
import { useApp } from '../support/browser/small-app.ts'
import { describeInBrowser, useBrowser } from '../support/browser.ts'
import { until } from '../support/wait.ts'

/** A page with the head of the panel's pages. */
const pageOf = (title: string, body: string) => `<!doctype html>
<html lang="pt-BR">
<head>
<meta charset="utf-8">
<title>${title}</title>
<meta name="htmx-config" content='${HTMX_CONFIG}'>
<link rel="stylesheet" href="${asset('panel.css')}">
<script src="${asset('htmx.js')}" defer></script>
<script src="${asset('sse.js')}" defer></script>
<script src="${asset('panel.js')}" defer></script>
</head>
<body><main><h1>${title}</h1><p id="falha" role="alert"></p>${body}</main></body>
</html>`

const FIRST = `
<a href="/seguinte" hx-boost="true">Seguinte</a>
<button hx-get="/parte" hx-target="#parte">Buscar</button>
<button hx-get="/ausente" hx-target="#parte">Falhar</button>
<button hx-get="/parte" hx-on:htmx:before-request="document.title = 'mudado'" hx-target="#parte">Avaliar</button>
<div id="parte"></div>
<form action="/nota" method="post" hx-post="/nota" hx-target="this" hx-swap="outerHTML">
<label>Nota <input name="nota"></label> <button>Guardar</button>
</form>
<div hx-ext="sse" sse-connect="/ao-vivo"><p sse-swap="vendas">nenhuma venda</p></div>`

/** Every answer has the policy of the panel. */
function pages() {
  const app = express()
  const streams: Response[] = []
  app.use((_request, response, next) => {
    response.setHeader('Content-Security-Policy', PANEL_POLICY)
    next()
  })
  app.use(ASSETS_PATH, serveAssets())
  app.get('/', (_request, response) => void response.send(pageOf('Primeira', FIRST)))
  app.get('/seguinte', (_request, response) => void response.send(pageOf('Segunda', '<p>conteúdo</p>')))
  app.get('/parte', (_request, response) => {
    response.send('<p>veio</p><script src="/de-fora.js"></script><script>document.title = "mudado"</script>')
  })
  app.post('/nota', (_request, response) => {
    response.status(422).send('<form><p>Escreva uma nota.</p></form>')
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

  it('fetch a part of a page, and run no script that it brings', async () => {
    const page = await browser.open('/')
    await page.getByRole('button', { name: 'Buscar' }).click()
    await page.getByText('veio').waitFor()
    expect(await page.locator('#parte script').count()).to.equal(0)
    expect(await page.title()).to.equal('Primeira')
  })

  it('put a refused form back with what is wrong in it', async () => {
    const page = await browser.open('/')
    await page.getByRole('button', { name: 'Guardar' }).click()
    await page.getByText('Escreva uma nota.').waitFor()
    expect(await page.locator('#falha').textContent()).to.equal('')
  })

  it('leave the page as it is when a call fails, and say so until the next', async () => {
    const page = await browser.open('/')
    await page.getByRole('button', { name: 'Falhar' }).click()
    await page.getByRole('alert').getByText('Não foi possível concluir. Tente de novo.').waitFor()
    expect(await page.locator('#parte').innerHTML()).to.equal('')
    await page.getByRole('button', { name: 'Buscar' }).click()
    await page.getByText('veio').waitFor()
    expect(await page.locator('#falha').textContent()).to.equal('')
  })

  it('say so when there is no answer', async () => {
    const page = await browser.open('/', { mayDo: /ERR_INTERNET_DISCONNECTED|htmx:(afterRequest|sendError)/ })
    await page.context().setOffline(true)
    await page.getByRole('button', { name: 'Buscar' }).click()
    await page.getByRole('alert').getByText('O servidor não respondeu.').waitFor()
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

  it('evaluate nothing that stands in a page', async () => {
    const page = await browser.open('/', { mayDo: /htmx:evalDisallowedError/ })
    await page.getByRole('button', { name: 'Avaliar' }).click()
    await page.getByText('veio').waitFor()
    expect(await page.title()).to.equal('Primeira')
  })
})
