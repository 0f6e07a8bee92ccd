import { expect } from 'chai'
import { type Counter, openCounter } from '../support/offline-sales.ts'
import { panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'

describe('panel: sales', () => {
  const { api, company, user } = usePanelUser('clerk')
  let counter: Counter

  beforeEach(async () => {
    counter = await openCounter(company)
  })

  const numbers = async (search: string): Promise<number[]> => {
    const { html } = await user.get(`/painel/vendas${search}`)
    return [...html.matchAll(/href="\/painel\/vendas\/(\d+)"/g)].map(([, id]) => Number(id))
  }

  it('shows the last recorded first, fifty a page', async () => {
    const ids: number[] = []
    for (let n = 0; n < 52; n++)
      ids.unshift((await counter.sell({ items: [{ description: 'Bala', quantity: '1', unit_price: '20.00' }] })).id)
    const { html } = await user.get('/painel/vendas')
    expect(await numbers('')).to.deep.equal(ids.slice(0, 50))
    const next = /href="\/painel\/vendas([^"]+)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(await numbers(next)).to.deep.equal(ids.slice(50))
  })

  it('finds sales by number, code, state, origin, days of the company and the customer’s name [PANEL-16]', async () => {
    await company.post('/customers', { name: 'Maria da Silva', external_id: 'm' })
    const gone = (await company.post('/customers', { name: 'Mario Gone', external_id: 'g' })).body.data
    const late = await counter.sell({ external_id: 'pedido-1', sold_at: '2026-03-11T02:59:59.999Z' })
    const early = await counter.sell({ customer_external_id: 'm', sold_at: '2026-03-11T03:00:00Z' })
    const deleted = await counter.sell({ customer_external_id: 'g', sold_at: '2026-03-12T12:00:00Z' })
    await company.call('DELETE', `/customers/${gone.id}`)
    const counterSale = await counter.record(counter.sale('a', { created_at: '2026-03-13T12:00:00Z' }))
    await company.post(`/sales/${late.id}/cancel`)
    const all = [counterSale.id, deleted.id, early.id, late.id]
    const found: Record<string, number[]> = {
      '': all,
      [`?id=${early.id}`]: [early.id],
      '?external_id=pedido-1': [late.id],
      '?status=cancelled': [late.id],
      '?status=cancelled&sold_to=2026-03-10': [late.id],
      '?status=cancelled&origin=pdv': [],
      '?status=completed': all.slice(0, 3),
      '?origin=pdv': [counterSale.id],
      '?origin=api': all.slice(1),
      '?sold_from=2026-03-10&sold_to=2026-03-10': [late.id],
      '?sold_from=2026-03-11&sold_to=2026-03-12': [deleted.id, early.id],
      '?customer=MARI': [early.id],
      '?customer=da+silva&status=completed': [early.id],
      '?customer=%25': [],
      '?id=999999': [],
      '?status=&customer=+': all,
    }
    for (const [search, ids] of Object.entries(found)) expect(await numbers(search), search).to.deep.equal(ids)
    expect(textIn((await user.get('/painel/vendas')).html)).to.match(/Maria da Silva Concluída R\$ 20,00 API/)
  })

  it('tells beside a filter what is wrong with it', async () => {
    await counter.sell()
    const { status, html } = await user.get('/painel/vendas?id=abc&sold_from=2026-02-30&status=lost&cursor=x')
    expect(status).to.equal(200)
    expect(problemsIn(html)).to.include('Número: deve ser um número inteiro positivo')
    expect(problemsIn(html).join()).to.include('De: deve ser uma data existente').and.to.include('Situação: ')
    expect(textIn(html)).to.include('Nenhuma venda encontrada.')
    expect(problemsIn((await user.get('/painel/vendas?cursor=quebrado')).html)).to.have.length(1)
  })

  it('shows no sale of another company, and keeps to the past while it is filtered', async () => {
    const { id } = await counter.sell()
    const revision = (await company.get('/me')).headers.get('x-ledger-revision')
    const after = await counter.sell()
    const other = await panelUser(api, await api.company())
    expect(textIn((await other.get('/painel/vendas')).html)).to.include('Nenhuma venda encontrada.')
    expect(await numbers(`?em=${revision}`)).to.deep.equal([id])
    expect(await numbers(`?em=${revision}&id=${after.id}`)).to.deep.equal([])
    expect((await user.get(`/painel/vendas?em=${revision}`)).html).to.include(
      `<input type="hidden" name="em" value="${revision}"/>`,
    )
  })
})
