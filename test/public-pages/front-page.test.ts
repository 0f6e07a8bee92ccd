import { expect } from 'chai'
import { startApi } from '../support/api.ts'
import { textIn } from '../support/panel.ts'
import { useApi } from '../support/use-api.ts'

describe('front page', () => {
  const api = useApi({ settings: { SEED_DEMO: 'false' } })
  const get = (path: string, init: RequestInit = {}) => fetch(api.url + path, init)

  it('explains the service to who has only its address, in 60 KB without scripts [PANEL-1305]', async () => {
    const answer = await get('/')
    const html = await answer.text()
    expect(answer.headers.get('content-security-policy')).to.include("default-src 'none'").and.not.include('unsafe')
    expect(html).not.to.match(/<script|style=|onclick/)
    const files = [...html.matchAll(/(?:href|src)="(\/sobre\/[^"]+)"/g)].map(([, path = '']) => path)
    const answers = await Promise.all(files.map((path) => get(path)))
    expect(answers.map(({ status }) => status)).to.deep.equal(files.map(() => 200))
    const pictures = answers.filter(({ headers }) => headers.get('content-type') === 'image/webp')
    expect(pictures).to.have.length(3)
    const styles = answers.filter((one) => !pictures.includes(one))
    const sizes = await Promise.all(styles.map(async (one) => (await one.text()).length))
    expect(sizes.reduce((sum, size) => sum + size, html.length)).to.be.below(61_440)
    expect(textIn(html)).to.include('Entrar no painel').and.not.to.include('demonstração')
    for (const to of ['/painel', '/caixa', '/conferir', '/docs', '/docs/guias'])
      expect((await get(to, { redirect: 'manual' })).status, to).to.be.below(400)
  })

  it('answers all alike, and offers the demonstration where there is one [PANEL-1305]', async () => {
    const machine = await get('/', { headers: { accept: 'application/json' } })
    expect(machine.headers.get('content-type')).to.include('text/html')
    expect((await get('/', { method: 'POST' })).status).to.equal(405)
    const demo = await startApi(api.databaseUrl, { settings: { SEED_DEMO: 'true' } })
    try {
      expect(textIn(await (await fetch(demo.url)).text())).to.include('lojas de demonstração')
    } finally {
      await demo.close()
    }
  })
})
