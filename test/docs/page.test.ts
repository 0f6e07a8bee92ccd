import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { createElement } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { ERROR_COMPONENTS } from '#api/contract/contract-errors.ts'
import { isEnvelope } from '#api/contract/generators.ts'
import { guidePage, guidesPage, referencePage } from '#api/docs/docs-guides.tsx'
import { createSite, docsPage, resourcePage } from '#api/docs/docs-page.tsx'
import { TRIAL, VERIFY, webhooksPage } from '#api/docs/docs-webhooks.tsx'
import { guidesIn, Markdown } from '#api/docs/guides.tsx'
import { WEBHOOK_EVENTS } from '#events/catalogue.ts'
import { PROBLEM_CODES } from '#http/problems.ts'
import { publishedContracts, publishedReferences } from '#service/interfaces.ts'
import { PUBLIC_URL, startApi } from '../support/api.ts'
import { documentedCodes, operations } from '../support/contract.ts'
import { openWorkplace } from '../support/guide.ts'
import { snippetsOf } from '../support/snippets.ts'
import { tillOperations } from '../support/till-contract.ts'
import { useApi } from '../support/use-api.ts'

const SITE = createSite(PUBLIC_URL, publishedContracts(PUBLIC_URL))
const LANGUAGES = [
  ['/docs/guias', 'pt-BR'],
  ['/docs/guides', 'en'],
] as const
const PAGES: Readonly<Record<string, string>> = {
  '/docs': docsPage(SITE),
  '/docs/webhooks': webhooksPage(SITE),
  ...Object.fromEntries(SITE.resources.map((resource) => [resource.page, resourcePage(PUBLIC_URL, resource)])),
  ...Object.fromEntries(
    LANGUAGES.flatMap(([folder, language]) => [
      [folder, guidesPage(language)],
      ...guidesIn(language).map((name) => [`${folder}/${name}`, guidePage(name, language)]),
    ]),
  ),
  ...Object.fromEntries(publishedReferences().map((reference) => [reference.path, referencePage(reference)])),
}
/** Pages about the contracts. */
const REFERENCE = Object.entries(PAGES).filter(([path]) => !/\/(guias|guides)/.test(path))
const page = (path: string): string => PAGES[path] as string
const allIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = '']) => found)
const idsOf = (text: string) => allIn(text, / id="([^"]+)"/g)
/** Text as escaped in a page. */
const escaped = (text: string) => renderToString(createElement('p', null, text)).slice(3, -4)

describe('API documentation pages', () => {
  it('show every operation and object of both contracts, each on the page of its resource [HTTP-50]', () => {
    for (const { contract: published } of SITE.contracts) {
      const ofContract = SITE.resources.filter(({ contract }) => contract === published)
      const ids = ofContract.flatMap((resource) => idsOf(page(resource.page)))
      const wanted = ofContract.flatMap(({ operations }) =>
        operations.map(({ operation }) => operation.operationId ?? ''),
      )
      expect(ids).to.include.members(wanted)
      const objects = Object.keys(published.components?.schemas ?? {}).filter(
        (name) => !/^(Failure|CompanyChoices?)$/.test(name) && !ERROR_COMPONENTS.includes(name) && !isEnvelope(name),
      )
      expect([...ids, ...idsOf(page('/docs/webhooks'))]).to.include.members(objects.map((name) => `objeto-${name}`))
    }
    expect(SITE.resources.flatMap(({ operations }) => operations)).to.have.length(
      operations.length + tillOperations.length,
    )
  })

  it('explain every error code once, and name it with the operations [HTTP-14]', () => {
    const codes = new Set(operations.flatMap(documentedCodes).filter((code) => !code.startsWith('item:')))
    for (const code of PROBLEM_CODES) if (codes.has(code)) expect(page('/docs')).to.include(`<code>${code}</code>`)
    const sales = page('/docs/recursos/vendas')
    expect(sales).to.include('<code>insufficient_stock</code>').and.include('idempotency_key_reuse')
  })

  it('list every operation with a link, its path and words to search for [HTTP-50]', () => {
    for (const { name, page: path, operations: listed } of SITE.resources)
      for (const { operation } of listed)
        expect(page('/docs'), name).to.include(`href="${path}#${operation.operationId}"`)
    expect(page('/docs')).to.include(`<code>${PUBLIC_URL}/api/v1</code>`)
    expect(page('/docs')).to.match(/data-termos="createSale[^"]*payments[^"]*insufficient_stock/)
  })

  it('show every webhook event, with headers and body of an example [KIT-3]', () => {
    const events = page('/docs/webhooks')
    expect(idsOf(events)).to.include.members(WEBHOOK_EVENTS.map((event) => `on_${event.replace('.', '_')}`))
    for (const event of WEBHOOK_EVENTS) {
      expect(events).to.include(`<code>${event}</code>`)
      expect(events).to.include(`X-Service-Event: ${event}\n`)
      expect(events).to.include(`"event": "${event}",`.replaceAll('"', '&quot;'))
    }
  })

  it('have no broken links and no duplicate ids [HTTP-50, HTTP-52]', () => {
    for (const [path, text] of Object.entries(PAGES)) {
      expect(new Set(idsOf(text)).size, path).to.equal(idsOf(text).length)
      for (const href of allIn(text, / href="((?:\/docs|#)[^"]*)"/g)) {
        const [other = '', target] = href.split('#')
        if (['/docs/style.css', '/docs/postman.json'].includes(other)) continue
        const linked = other ? PAGES[other] : text
        expect(linked, `${path} → ${href}`).to.be.a('string')
        if (target) expect(idsOf(linked ?? ''), `${path} → ${href}`).to.include(decodeURIComponent(target))
      }
    }
  })

  it('run at most the search, and load nothing from other hosts [HTTP-14]', () => {
    for (const [path, text] of Object.entries(PAGES)) {
      expect(text.replace('<script src="/docs/busca.js" defer></script>', ''), path).to.not.match(
        /<(script|iframe|object|embed|img|form)\b/i,
      )
      expect(text).to.not.match(/ on\w+=| style=/i)
      const places = new Set(allIn(text, /<(?:link|script)[^>]* (?:href|src)="([^"]*)/g))
      expect(['/favicon.svg', '/docs/style.css', '/docs/busca.js']).to.include.members([...places])
    }
  })

  it('are well-formed: every element is closed, in order', () => {
    for (const [path, text] of Object.entries(PAGES)) {
      const open: string[] = []
      for (const [, slash, name = ''] of text.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*>/g)) {
        if (['meta', 'link', 'input'].includes(name)) continue
        if (slash) expect(open.pop(), path).to.equal(name)
        else open.push(name)
      }
      expect(open, path).to.deep.equal([])
      expect(text).to.match(/^<!doctype html>\n<html lang="(pt-BR|en)">/)
      expect(text).to.not.include('[object ')
    }
    for (const [path, text] of REFERENCE) expect(text.replace(escaped(VERIFY), ''), path).to.not.match(/\bundefined\b/)
  })

  it('are light: at most 60 KB, and 100 KB for the largest references [HTTP-50]', () => {
    for (const [path, text] of Object.entries(PAGES)) {
      const isLarge = /docs$|catalogo|pedidos|vendas|caixas$|docs\/webhooks/.test(path)
      expect(Buffer.byteLength(text), path).to.be.below(isLarge ? 102_400 : 61_440)
    }
  })
})

describe('webhook verification example of the API documentation', () => {
  it('equals the tested program of the webhook guide [KIT-3]', () => {
    expect(VERIFY).to.equal(snippetsOf('docs/webhooks.md').find(({ file }) => file === 'verify.ts')?.text)
    for (const text of [VERIFY, TRIAL]) expect(page('/docs/webhooks')).to.include(escaped(text))
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

/** Runs the search over a page's list, without a browser: the ids of the operations that a text leaves. */
function searchIn(text: string, script: string): (words: string) => string[] {
  const groups = allIn(text, /<section(?: id="[^"]*")? data-grupo[^>]*>([\s\S]*?)<\/section>/g).map((section) => ({
    hidden: false,
    entries: [...section.matchAll(/<li([^>]*)>([\s\S]*?)<\/li>/g)].map(([, attributes = '', inner = '']) => ({
      hidden: false,
      textContent: inner.replace(/<[^>]+>/g, ''),
      dataset: { termos: /data-termos="([^"]*)"/.exec(attributes)?.[1] },
      id: /href="[^"]*#([^"]+)"/.exec(inner)?.[1] ?? null,
    })),
    querySelectorAll() {
      return this.entries
    },
  }))
  let filter = () => {}
  const field = { value: '', addEventListener: (_: string, listener: () => void) => (filter = listener) }
  const form = { hidden: true, querySelector: (name: string) => (name === 'input' ? field : {}) }
  const document = { getElementById: () => form, querySelectorAll: () => groups }
  new Function('document', script)(document)
  return (words) => {
    field.value = words
    filter()
    return groups.flatMap(({ entries }) => entries.flatMap(({ hidden, id }) => (hidden || id === null ? [] : [id])))
  }
}

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
  const api = useApi()

  it('needs no key, and has a policy without scripts and other hosts [HTTP-14, KIT-3]', async () => {
    for (const [path, text] of Object.entries(PAGES)) {
      const reply = await fetch(`${api.url}${path}`)
      expect(reply.status, path).to.equal(200)
      expect(reply.headers.get('content-type')).to.equal('text/html; charset=utf-8')
      expect(await reply.text(), path).to.equal(text)
      const policy = reply.headers.get('content-security-policy')
      expect(policy).to.include("default-src 'none'").and.to.include("style-src 'self'")
      expect(policy).to.not.match(/unsafe|https?:/)
      // Only the first page has a script.
      expect(/script-src ([^;]+)/.exec(policy ?? '')?.[1]).to.equal(path === '/docs' ? "'self'" : undefined)
    }
  })

  it('supports compression and conditional requests [HTTP-14]', async () => {
    for (const path of [
      '/docs',
      '/docs/recursos/vendas',
      '/docs/guias/webhooks',
      '/docs/postman.json',
      '/docs/style.css',
    ]) {
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
    const limiting = await startApi(api.databaseUrl, { perMinute: 4 })
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

  it('responds 404 for a resource and a guide that do not exist [HTTP-50]', async () => {
    for (const path of ['/docs/recursos/nada', '/docs/guias/nada', '/docs/nada'])
      expect((await fetch(`${api.url}${path}`)).status, path).to.equal(404)
  })

  it('begins at /, which links panel, documentation and contracts', async () => {
    const reply = await fetch(`${api.url}/`, { redirect: 'manual' })
    expect([reply.status, reply.headers.get('content-type')]).to.deep.equal([200, 'text/html; charset=utf-8'])
    expect(reply.headers.get('content-security-policy')).to.include("default-src 'none'").and.not.include('script')
    const links = allIn(await reply.text(), /<a href="([^"#]+)"/g)
    expect(links).to.include.members(['/painel', '/docs', '/docs/guias', '/api/v1/openapi.json', '/api/openapi.json'])
    for (const link of links) expect((await fetch(`${api.url}${link}`)).status, link).to.equal(200)
    expect((await fetch(`${api.url}/`, { method: 'POST' })).status).to.equal(405)
    const known = { 'if-none-match': reply.headers.get('etag') ?? '' }
    expect((await fetch(`${api.url}/`, { headers: known })).status).to.equal(304)
  })

  it('searches without a server: a script of the page filters its list [HTTP-50]', async () => {
    const reply = await fetch(`${api.url}/docs/busca.js`)
    expect(reply.headers.get('content-type')).to.equal('text/javascript; charset=utf-8')
    const shown = searchIn(page('/docs'), await reply.text())
    expect(shown('estorno pedido')).to.not.include('createSale')
    expect(shown('insufficient_stock')).to.include('createSale').and.not.include('listSales')
    expect(shown('CONTAS a RECEBER')).to.include('listReceivables')
    expect(shown('')).to.have.length(operations.length + tillOperations.length)
    expect(shown('xyzxyz')).to.deep.equal([])
  })

  it('serves its style sheet', async () => {
    const reply = await fetch(`${api.url}/docs/style.css`)
    expect(reply.status).to.equal(200)
    expect(reply.headers.get('content-type')).to.equal('text/css; charset=utf-8')
    expect(await reply.text()).to.not.match(/@import|url\(/)
  })
})
