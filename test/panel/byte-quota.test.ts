import { expect } from 'chai'
import { hiddenFields, usePanelUser } from '../support/panel.ts'

const MEBIBYTE = 1_048_576

describe('panel: bytes of a day', () => {
  const { api, company, user } = usePanelUser('owner', {}, { bytesPerDay: MEBIBYTE })

  const left = async () => Number((await company.get('/me')).headers.get('x-ratelimit-bytes-remaining'))
  const SENT = 300_000

  async function send(path: string, page = path, duplex = false) {
    const { _csrf = '', _key = '' } = hiddenFields((await user.get(page)).html, path)
    const form = new FormData()
    form.set('_csrf', _csrf)
    form.set('_key', _key)
    form.set('file', new Blob(['x'.repeat(SENT)]), 'arquivo')
    const request = new Request('http://localhost', { method: 'POST', body: form })
    const headers = { cookie: user.cookie(), 'content-type': request.headers.get('content-type') ?? '' }
    const init = { method: 'POST', headers, redirect: 'manual' } as const
    if (!duplex) return fetch(`${api.url}${path}`, { ...init, body: await request.arrayBuffer() })
    return fetch(`${api.url}${path}`, { ...init, body: request.body, duplex: 'half' } as RequestInit)
  }

  it('count files that are sent, and refuse those beyond them; small forms are taken [RATE-740]', async () => {
    const { id } = (await company.post('/catalog/items', { name: 'Mel', price: '1.00' })).body.data
    let before = await left()
    for (const [path, page] of [
      [`/painel/catalogo/${id}/imagem`, `/painel/catalogo/${id}`],
      ['/painel/clientes/importar', undefined],
      ['/painel/configuracoes/logotipo', '/painel/configuracoes'],
    ] as const) {
      expect((await send(path, page)).status, path)
        .to.be.below(500)
        .and.not.equal(429)
      const after = await left()
      expect(before - after, path).to.be.within(SENT, SENT + 2_000)
      before = after
    }
    expect((await send('/painel/clientes/importar')).status).to.equal(429)
    expect((await send('/painel/clientes/importar', undefined, true)).status, 'without a size').to.equal(429)
    expect(await left()).to.equal(before)
    const created = await user.submit('/painel/clientes/novo', { name: 'Ana' }, '/painel/clientes')
    expect(created.status).to.equal(303)
  })
})
