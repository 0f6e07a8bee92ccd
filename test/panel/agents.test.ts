import { expect } from 'chai'
import { SCOPES } from '#domain/rights.ts'
import { callTool } from '../support/agent.ts'
import { problemsIn, textIn, usePanelUser } from '../support/panel.ts'

const PAGE = '/painel/integracoes/agentes'

describe('page for agents’ keys', () => {
  const { api, user } = usePanelUser()

  it('is linked from Integrações, ticks what only reads, and demands an end [AGENT-1204]', async () => {
    expect((await user.get('/painel/integracoes')).html).to.include(`href="${PAGE}"`)
    const { html } = await user.get(PAGE)
    const ticked = [...html.matchAll(/value="(\w+:\w+)" checked/g)].map(([, scope]) => scope)
    expect(ticked).to.deep.equal(SCOPES.filter((scope) => scope.endsWith(':read')))
    const endless = await user.submit(PAGE, { name: 'Agente', scopes: 'sales:read' })
    expect(endless.status).to.equal(422)
    expect(problemsIn(endless.html).join()).to.include('Vale até')
  })

  it('makes a key with limits, which calls tools [AGENT-1203, AGENT-1204]', async () => {
    const limits = { max_amount_per_call: '50,00', max_amount_per_day: '1.000,00' }
    const fields = {
      name: 'Agente',
      scopes: ['sales:read', 'finance:write'],
      expires_at: '2099-01-01T10:00',
      ...limits,
    }
    const { html } = await user.submit(PAGE, fields)
    const [key = ''] = /tb_live_[\w-]{43}/.exec(html) ?? []
    const me = (await callTool(api, key, 'getMe', {})).structuredContent.data.key
    expect(me).to.include({ max_amount_per_call: '50.00', max_amount_per_day: '1000.00' })
    const shown = textIn((await user.get(`/painel/integracoes/chaves/${me.id}`)).html)
    expect(shown).to.include('Limite por chamada').and.to.include('50,00')
  })
})

describe('Ver o que muda', () => {
  const { company, user } = usePanelUser()

  it('shows the new price in the form itself, and changes nothing [AGENT-1205]', async () => {
    const { id } = (await company.post('/catalog/items', { name: 'Café', type: 'product', price: '9.90' })).body.data
    const page = `/painel/catalogo/${id}/editar`
    expect((await user.get(page)).html).to.include('Ver o que muda')
    const typed = { name: 'Café', type: 'product', price: '12,50' }
    const tried = await user.submit(page, { ...typed, _ver: '1' })
    expect(tried.status).to.equal(200)
    expect(textIn(tried.html)).to.include('O que muda').and.to.include('12,50')
    expect(tried.html).to.include('value="12,50"')
    expect((await company.get(`/catalog/items/${id}`)).body.data.price).to.equal('9.90')
    expect((await user.submit(page, typed)).to).to.include(String(id))
    expect((await company.get(`/catalog/items/${id}`)).body.data.price).to.equal('12.50')
  })

  it('shows refusals as the form does [AGENT-1205]', async () => {
    const { id } = (await company.post('/catalog/items', { name: 'Café', type: 'product', price: '9.90' })).body.data
    const { status, html } = await user.submit(`/painel/catalogo/${id}/editar`, {
      name: 'Café',
      type: 'product',
      price: 'x',
      _ver: '1',
    })
    expect(status).to.equal(422)
    expect(html).to.not.include('O que muda')
  })
})
