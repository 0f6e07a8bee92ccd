import { expect } from 'chai'
import { asset } from '#panel/panel-assets.ts'
import { send } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'

describe('panel: static files', () => {
  const api = useApi()

  const TYPES = {
    'base.css': 'text/css; charset=utf-8',
    'panel.css': 'text/css; charset=utf-8',
    'panel.js': 'text/javascript; charset=utf-8',
    'htmx.js': 'text/javascript; charset=utf-8',
    'live-worker.js': 'text/javascript; charset=utf-8',
    'icon.svg': 'image/svg+xml',
    'icons.svg': 'image/svg+xml',
  }

  for (const [name, type] of Object.entries(TYPES) as [keyof typeof TYPES, string][]) {
    it(`serves ${name} with its content type, without a login, as immutable`, async () => {
      const reply = await send(api.url + asset(name), 'GET')
      expect(reply.status).to.equal(200)
      expect(reply.text).to.not.equal('')
      expect(reply.headers.get('content-type')).to.equal(type)
      expect(reply.headers.get('x-content-type-options')).to.equal('nosniff')
      expect(reply.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable')
    })
  }

  it('keeps the style sheets of a page within 25 KB, before compression', async () => {
    const sheets = await Promise.all(
      (['font.css', 'base.css', 'panel.css'] as const).map((name) => send(api.url + asset(name), 'GET')),
    )
    expect(sheets.reduce((sum, { text }) => sum + text.length, 0)).to.be.at.most(25_000)
  })

  it('responds 404 for another hash, another name or a path', async () => {
    const hash = asset('panel.css').split('/').at(-2)
    const others = [`${hash}/panel.js`, 'aaaaaaaaaaaa/panel.css', `${hash}/none.css`, `${hash}/`, 'panel.css']
    for (const path of [...others, `${hash}/..%2f..%2fassets.ts`, `${hash}/__proto__`]) {
      const reply = await send(`${api.url}/painel/assets/${path}`, 'GET')
      expect(reply.text, path).to.not.include('var(--')
      expect(reply.headers.get('cache-control') ?? '', path).to.not.include('immutable')
    }
  })
})
