import { expect } from 'chai'
import { createElement } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { Markdown } from '#api/docs/markdown.tsx'
import { docsPage } from '#api/docs/page.tsx'
import { WEBHOOK_EVENTS } from '#events/webhooks.ts'
import { PROBLEM_CODES } from '#http/problems.ts'
import { startApi, type TestApi } from '../support/api.ts'
import { contract, documentedCodes, operations } from '../support/contract.ts'
import { useDatabase } from '../support/database.ts'

const page = docsPage(contract)
const all = (pattern: RegExp) => [...page.matchAll(pattern)].map(([, found = '']) => found)

describe('the contract as a page', () => {
  it('shows every operation, event, object and code of the contract [HTTP-14, HTTP-17]', () => {
    const ids = all(/ id="([^"]+)"/g)
    expect(ids).to.include.members(operations.map(({ id }) => id))
    const objects = Object.keys(contract.components?.schemas ?? {}).filter((name) => !name.startsWith('Error_'))
    expect(ids).to.include.members(objects.map((name) => `objeto-${name}`))
    for (const event of WEBHOOK_EVENTS) {
      expect(ids).to.include(`on_${event.replace('.', '_')}`)
      expect(page).to.include(`<code>${event}</code>`)
    }
    expect(new Set(ids).size, 'ids are unique').to.equal(ids.length)
    const codes = new Set(operations.flatMap(documentedCodes).filter((code) => !code.startsWith('item:')))
    for (const code of PROBLEM_CODES) if (codes.has(code)) expect(page).to.include(`<code>${code}</code>`)
  })

  it('has no link that leads nowhere', () => {
    const ids = new Set(all(/ id="([^"]+)"/g))
    for (const target of all(/ href="#([^"]*)"/g)) expect(ids, `#${target}`).to.include(target)
  })

  it('runs nothing and loads nothing from elsewhere [HTTP-14]', () => {
    expect(page).to.not.match(/<(script|iframe|object|embed|img|form)\b/i)
    expect(page).to.not.match(/ on\w+=| style=/i)
    expect(all(/ (?:href|src)="(?!#)([^"]*)"/g)).to.have.members(['/docs/style.css', '/api/v1/openapi.json'])
  })

  it('is well-formed: every element that is opened is closed, in order', () => {
    const open: string[] = []
    for (const [, slash, name = ''] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*>/g)) {
      if (['meta', 'link'].includes(name)) continue
      if (slash) expect(open.pop(), page.slice(0, 80)).to.equal(name)
      else open.push(name)
    }
    expect(open).to.deep.equal([])
    expect(page).to.match(/^<!doctype html>\n<html lang="pt-BR">/)
    expect(page).to.not.include('[object ')
    expect(page).to.not.include('undefined')
  })
})

describe('texts of the contract', () => {
  const rendered = (text: string) => renderToString(createElement(Markdown, { text }))

  it('are paragraphs, lists, code and bold', () => {
    expect(rendered('**Um** `<dois>`\n\n- três\n- quatro')).to.equal(
      '<p><strong>Um</strong> <code>&lt;dois></code></p><ul><li>três</li><li>quatro</li></ul>',
    )
  })

  it('are escaped: nothing else in them is markup', () => {
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

  it('is served without a key, under a policy that lets nothing run or leave [HTTP-14]', async () => {
    const reply = await fetch(`${api.url}/docs`)
    expect(reply.status).to.equal(200)
    expect(reply.headers.get('content-type')).to.equal('text/html; charset=utf-8')
    expect(await reply.text()).to.equal(page)
    const policy = reply.headers.get('content-security-policy')
    expect(policy).to.include("default-src 'none'").and.to.include("style-src 'self'")
    expect(policy).to.not.match(/script-src|unsafe|https?:/)
  })

  it('has its style sheet beside it', async () => {
    const reply = await fetch(`${api.url}/docs/style.css`)
    expect(reply.status).to.equal(200)
    expect(reply.headers.get('content-type')).to.equal('text/css; charset=utf-8')
    expect(await reply.text()).to.not.match(/@import|url\(/)
  })
})
