import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { createElement } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { isEnvelope } from '#api/contract/generators.ts'
import { Markdown } from '#api/docs/markdown.tsx'
import { docsPage } from '#api/docs/page.tsx'
import { TRIAL, VERIFY } from '#api/docs/verify-webhook.ts'
import { webhooksPage } from '#api/docs/webhooks.tsx'
import { WEBHOOK_EVENTS } from '#events/webhooks.ts'
import { PROBLEM_CODES } from '#http/problems.ts'
import { startApi, type TestApi } from '../support/api.ts'
import { contract, documentedCodes, operations } from '../support/contract.ts'
import { useDatabase } from '../support/database.ts'
import { openWorkplace } from '../support/guide.ts'
import { snippetsOf } from '../support/snippets.ts'

const PAGES = { '/docs': docsPage(contract), '/docs/webhooks': webhooksPage(contract) }
const allIn = (page: string, pattern: RegExp) => [...page.matchAll(pattern)].map(([, found = '']) => found)
const idsOf = (page: string) => allIn(page, / id="([^"]+)"/g)
/** Text as escaped in a page. */
const escaped = (text: string) => renderToString(createElement('p', null, text)).slice(3, -4)

describe('API documentation pages', () => {
  it('show every operation, object and code of the contract [HTTP-14]', () => {
    const page = PAGES['/docs']
    const ids = idsOf(page)
    expect(ids).to.include.members(operations.map(({ id }) => id))
    const objects = Object.keys(contract.components?.schemas ?? {}).filter(
      (name) => !name.startsWith('Error_') && !isEnvelope(name),
    )
    expect(ids).to.include.members(objects.map((name) => `objeto-${name}`))
    const codes = new Set(operations.flatMap(documentedCodes).filter((code) => !code.startsWith('item:')))
    for (const code of PROBLEM_CODES) if (codes.has(code)) expect(page).to.include(`<code>${code}</code>`)
  })

  it('show every webhook event, with headers and body of an example [HTTP-17, KIT-3]', () => {
    const page = PAGES['/docs/webhooks']
    expect(idsOf(page)).to.include.members(WEBHOOK_EVENTS.map((event) => `on_${event.replace('.', '_')}`))
    for (const event of WEBHOOK_EVENTS) {
      expect(page).to.include(`<code>${event}</code>`)
      expect(page).to.include(`X-Service-Event: ${event}\n`)
      expect(page).to.include(`"event": "${event}",`.replaceAll('"', '&quot;'))
    }
  })

  it('have no broken links and no duplicate ids', () => {
    for (const [path, page] of Object.entries(PAGES)) {
      expect(new Set(idsOf(page)).size, path).to.equal(idsOf(page).length)
      for (const href of allIn(page, / href="([^"]*#[^"]*)"/g)) {
        const [other, target] = href.split('#') as [keyof typeof PAGES | '', string]
        expect(idsOf(other ? PAGES[other] : page), href).to.include(target)
      }
    }
  })

  it('run no scripts, and load nothing from other hosts [HTTP-14]', () => {
    for (const page of Object.values(PAGES)) {
      expect(page).to.not.match(/<(script|iframe|object|embed|img|form)\b/i)
      expect(page).to.not.match(/ on\w+=| style=/i)
      const places = new Set(allIn(page, / (?:href|src)="(?!#)([^"#]*)/g))
      expect(['/docs', '/docs/webhooks', '/docs/style.css', '/api/v1/openapi.json']).to.include.members([...places])
    }
  })

  it('are well-formed: every element is closed, in order', () => {
    for (const page of Object.values(PAGES)) {
      const open: string[] = []
      for (const [, slash, name = ''] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*>/g)) {
        if (['meta', 'link'].includes(name)) continue
        if (slash) expect(open.pop(), page.slice(0, 80)).to.equal(name)
        else open.push(name)
      }
      expect(open).to.deep.equal([])
      expect(page).to.match(/^<!doctype html>\n<html lang="pt-BR">/)
      expect(page).to.not.include('[object ')
      expect(page.replace(escaped(VERIFY), '')).to.not.include('undefined')
    }
  })
})

describe('webhook verification example of the API documentation', () => {
  it('equals the tested program of the webhook guide [KIT-3]', () => {
    expect(VERIFY).to.equal(snippetsOf('docs/webhooks.md').find(({ file }) => file === 'verify.ts')?.text)
    for (const text of [VERIFY, TRIAL]) expect(PAGES['/docs/webhooks']).to.include(escaped(text))
  })

  it('verifies signatures made with curl and openssl [KIT-3]', async () => {
    const SECRET = 'whsec_AAAA'
    const folder = await openWorkplace({})
    await folder.write([{ file: 'verify.ts', text: VERIFY, language: 'ts', heading: '' }])
    const { isAuthentic } = await import(pathToFileURL(join(folder.directory, 'verify.ts')).href)
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      response.writeHead(isAuthentic(request.headers, Buffer.concat(chunks), SECRET) ? 204 : 401).end()
    }).listen(0)
    const URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      const { stdout } = await folder.bash(`URL=${URL}; for SECRET in ${SECRET} whsec_other; do\n${TRIAL}done`)
      expect(stdout).to.equal('204\n401\n')
    } finally {
      server.close()
      await folder.close()
    }
  })
})

describe('Markdown of the contract', () => {
  const rendered = (text: string) => renderToString(createElement(Markdown, { text }))

  it('renders paragraphs, lists, code and bold', () => {
    expect(rendered('**Um** `<dois>`\n\n- três\n- quatro')).to.equal(
      '<p><strong>Um</strong> <code>&lt;dois></code></p><ul><li>três</li><li>quatro</li></ul>',
    )
  })

  it('escapes everything else', () => {
    expect(rendered('<b title="x">&')).to.match(/^<p>&lt;b title=&quot;x&quot;>&amp;<\/p>$/)
  })
})

describe('/docs', () => {
  const database = useDatabase()
  let api: TestApi
  before(async () => {
    api = await startApi(database.url)
  })
  after(() => api.close())

  it('needs no key, and has a policy without scripts and other hosts [HTTP-14, KIT-3]', async () => {
    for (const [path, page] of Object.entries(PAGES)) {
      const reply = await fetch(`${api.url}${path}`)
      expect(reply.status).to.equal(200)
      expect(reply.headers.get('content-type')).to.equal('text/html; charset=utf-8')
      expect(await reply.text()).to.equal(page)
      const policy = reply.headers.get('content-security-policy')
      expect(policy).to.include("default-src 'none'").and.to.include("style-src 'self'")
      expect(policy).to.not.match(/script-src|unsafe|https?:/)
    }
  })

  it('supports compression and conditional requests [HTTP-14]', async () => {
    for (const path of [...Object.keys(PAGES), '/docs/style.css']) {
      const plain = await fetch(`${api.url}${path}`, { headers: { 'accept-encoding': 'identity' } })
      const text = await plain.text()
      for (const coding of ['br', 'gzip']) {
        const reply = await fetch(`${api.url}${path}`, { headers: { 'accept-encoding': coding } })
        expect(reply.headers.get('content-encoding')).to.equal(coding)
        expect(Number(reply.headers.get('content-length'))).to.be.below(Buffer.byteLength(text) / 2)
        expect(await reply.text()).to.equal(text)
        expect(reply.headers.get('etag')).to.equal(plain.headers.get('etag'))
      }
      expect(plain.headers.get('cache-control')).to.equal('no-cache')
      const etag = plain.headers.get('etag') ?? ''
      const again = await fetch(`${api.url}${path}`, { headers: { 'if-none-match': etag } })
      expect([again.status, await again.text()]).to.deep.equal([304, ''])
      expect((await fetch(`${api.url}${path}`, { headers: { 'if-none-match': '"other"' } })).status).to.equal(200)
    }
  })

  it('counts toward the limit per address, and refuses other methods [HTTP-14]', async () => {
    const limiting = await startApi(database.url, { perMinute: 4 })
    try {
      const get = async (path: string, method = 'GET') => fetch(`${limiting.url}${path}`, { method })
      const posted = await get('/docs', 'POST')
      expect([posted.status, posted.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD'])
      for (const path of ['/docs', '/docs/webhooks', '/tillbook-verify.mjs'])
        expect((await get(path)).status, path).to.equal(200)
      for (const path of ['/docs', '/docs/style.css', '/tillbook-verify.mjs', '/api/v1/openapi.json']) {
        const refused = await get(path)
        expect([refused.status, refused.headers.get('retry-after') ?? ''].join(' '), path).to.match(/^429 \d+$/)
      }
    } finally {
      await limiting.close()
    }
  })

  it('serves its style sheet', async () => {
    const reply = await fetch(`${api.url}/docs/style.css`)
    expect(reply.status).to.equal(200)
    expect(reply.headers.get('content-type')).to.equal('text/css; charset=utf-8')
    expect(await reply.text()).to.not.match(/@import|url\(/)
  })
})
