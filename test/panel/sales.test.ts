import { expect } from 'chai'
import { type Counter, openCounter } from '../support/offline-sales.ts'
import { panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'

describe('panel: sales', () => {
  const { api, company, user } = usePanelUser('manager')
  let counter: Counter

  beforeEach(async () => {
    counter = await openCounter(company)
  })

  const numbers = async (search: string): Promise<number[]> => {
    const { html } = await user.get(`/painel/vendas${search}`)
    return [...html.matchAll(/href="\/painel\/vendas\/(\d+)"/g)].map(([, id]) => Number(id))
  }

  it('lists the newest sales first, fifty a page by default [PANEL-142]', async () => {
    const ids: number[] = []
    for (let n = 0; n < 52; n++)
      ids.unshift((await counter.sell({ items: [{ description: 'Bala', quantity: '1', unit_price: '20.00' }] })).id)
    const { html } = await user.get('/painel/vendas')
    expect(await numbers('')).to.deep.equal(ids.slice(0, 50))
    const next = /href="\/painel\/vendas([^"]+)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(await numbers(next)).to.deep.equal(ids.slice(50))
    expect(await numbers('?linhas=25')).to.deep.equal(ids.slice(0, 25))
    expect(await numbers('?linhas=100&ordem=numero')).to.deep.equal(ids.toReversed())
    expect(Buffer.byteLength((await user.get('/painel/vendas?linhas=100')).html)).to.be.below(60_000)
  })

  it('filters sales by number, code, state, origin, days of the company and customer name [PANEL-16]', async () => {
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
      [`?payment_type_id=${counter.cash}`]: all,
      [`?payment_type_id=${counter.account}`]: [],
      '?sold_from=2026-03-11&ordem=quando': [early.id, deleted.id, counterSale.id],
      '?status=&customer=+': all,
    }
    for (const [search, ids] of Object.entries(found)) expect(await numbers(search), search).to.deep.equal(ids)
    expect(textIn((await user.get('/painel/vendas')).html)).to.match(/Maria da Silva cash Concluída R\$ 20,00 API/)
  })

  it('counts and totals the filtered sales, cancelled ones separately, with links to common filters', async () => {
    await counter.sell({ sold_at: '2026-03-11T12:00:00Z' })
    const { id } = await counter.sell({ sold_at: '2026-03-10T12:00:00Z' })
    await company.post(`/sales/${id}/cancel`)
    const sums = async (search: string) => textIn((await user.get(`/painel/vendas${search}`)).html)
    expect(await sums('')).to.include('2 vendas, R$ 40,00 − 1 cancelada, R$ 20,00 = R$ 20,00')
    expect(await sums('?sold_from=2026-03-11'))
      .to.include('1 venda, R$ 20,00')
      .and.not.include('cancelada,')
    expect(await sums('?origin=pdv')).to.include('0 vendas, R$ 0,00')
    const { html } = await user.get('/painel/vendas?status=completed')
    const [, today = ''] = /class="chip" href="([^"]+)">Hoje</.exec(html) ?? []
    const query = new URLSearchParams(today.replaceAll('&amp;', '&').split('?')[1])
    expect(query.get('sold_from')).to.equal(query.get('sold_to'))
    expect(query.get('status')).to.equal('completed')
  })

  it('filters by user and by item, in the list, its totals, its file and earlier revisions', async () => {
    await company.post('/customers', { name: 'Maria da Silva', external_id: 'm' })
    const note = `{"catalog_item_id":${counter.product},`
    const line = { description: note, quantity: '1', unit_price: '20.00' }
    const other = await counter.sell({ items: [line] })
    const sold = await counter.sell({ customer_external_id: 'm' })
    const till = await counter.record(counter.sale('a'))
    const { rows } = await api.core.pool.query('select id, actor from sales where company_id = $1', [company.id])
    const actors = new Map(rows.map(({ id, actor }) => [id, actor ?? 'system']))
    const [key, person] = [actors.get(sold.id), actors.get(till.id)]
    const revision = (await company.get('/me')).headers.get('x-ledger-revision')
    const later = await counter.sell()
    const found: Record<string, number[]> = {
      [`?actor=${key}`]: [later.id, sold.id, other.id],
      [`?actor=${person}&origin=pdv`]: [till.id],
      '?actor=user/999999': [],
      [`?item=${counter.product}`]: [later.id, till.id, sold.id],
      [`?item=${counter.product}&actor=${key}&em=${revision}`]: [sold.id],
      '?item=999999': [],
    }
    for (const [search, ids] of Object.entries(found))
      expect((await numbers(search)).toSorted(), search).to.deep.equal(ids.toSorted())
    const { html } = await user.get(`/painel/vendas?item=${counter.product}`)
    expect(textIn(html)).to.include('3 vendas, R$ 50,00 Deste item: 5, R$ 50,00')
    expect((await user.get(`/painel/vendas.csv?item=${counter.product}`)).html.split('\r\n')).to.have.lengthOf(5)
    const auditor = await panelUser(api, company, 'auditor')
    const withheld = await auditor.get(`/painel/vendas?item=${counter.product}`)
    expect(textIn(withheld.html)).to.include('3 vendas, R$ 50,00')
    expect((await user.get('/painel/vendas?actor=x&item=x')).html).to.include('não é ninguém')
  })

  it('filters by the name or code of a product, with its sums, and offers those that a text may mean', async () => {
    const tea = (await company.post('/catalog/items', { name: 'Chá 100', price: '5.00', sku: 'CHA-1' })).body.data
    const both = await counter.sell({
      items: [
        { catalog_item_id: counter.product, quantity: '1' },
        { catalog_item_id: tea.id, quantity: '2' },
      ],
    })
    const coffee = await counter.sell()
    await company.call('DELETE', `/catalog/items/${tea.id}`)
    expect(await numbers('?product=cafe')).to.deep.equal([coffee.id, both.id])
    expect(await numbers('?product=ch%C3%A1')).to.deep.equal([both.id])
    const shown = async (search: string) => (await user.get(`/painel/vendas${search}`)).html
    expect(textIn(await shown('?product=cafe'))).to.include('2 vendas, R$ 40,00 Café 100: 3, R$ 30,00')
    await company.post('/catalog/items', { name: 'Café forte', price: '5.00', barcode: '7891234567895' })
    const several = await shown('?product=cafe&status=completed')
    expect(problemsIn(several).join()).to.include('Produto ou serviço: há mais de um')
    expect(several).to.include(`href="/painel/vendas?status=completed&amp;item=${counter.product}"`)
    expect(textIn(several)).to.include(`Café 100 · nº ${counter.product} Café forte · 7891234567895`)
    expect(await numbers('?product=7891234567895')).to.deep.equal([])
    expect(problemsIn(await shown('?product=bolo')).join()).to.include('não há produto ou serviço')
    expect((await user.get('/painel/vendas.csv?product=cafe')).status).to.equal(422)
  })

  it('leads from a day to the days beside it, and shows who sold', async () => {
    await counter.sell({ seller: { name: 'Ana Vendedora' }, sold_at: '2026-03-11T12:00:00Z' })
    const html = (await user.get('/painel/vendas?sold_from=2026-03-11&sold_to=2026-03-11&origin=api')).html
    const day = (text: string, of: string) =>
      `href="/painel/vendas?origin=api&amp;sold_from=${of}&amp;sold_to=${of}"${text}`
    expect(html)
      .to.include(day('>‹ 10/03/2026', '2026-03-10'))
      .and.include(day(' aria-current="true">11/03/2026', '2026-03-11'))
      .and.include(day('>12/03/2026 ›', '2026-03-12'))
    expect(textIn(html)).to.include('Ana Vendedora')
    const today = textIn((await user.get('/painel/vendas')).html)
    expect(today).to.match(/‹ \d\d\/\d\d\/\d{4} \d\d\/\d\d\/\d{4} (?!.*›)/)
    expect(textIn((await user.get('/painel/vendas?sold_from=2026-03-10&sold_to=2026-03-11')).html)).not.to.include('‹')
  })

  it('downloads a line for each item of the filtered sales, of a filtered product its own', async () => {
    await counter.sell({
      items: [
        { catalog_item_id: counter.product, quantity: '1.5', discount: '1.00' },
        { description: '=Bala', quantity: '2', unit_price: '3.00' },
      ],
      discount: '2.00',
      payments: [{ payment_type_id: counter.cash, amount: '18.00' }],
    })
    const lines = async (search: string) => (await user.get(`/painel/vendas/itens.csv${search}`)).html.split('\r\n')
    const [heads, coffee, sweet, end] = await lines('')
    expect(heads).to.match(/^\uFEFF?Venda;Código externo da venda;Quando;/)
    expect(coffee).to.include(`;${counter.product};;Café 100;1,500;0,000;10,00;1,00;1,40;14,00;12,60;`)
    expect(sweet).to.include(";;;'=Bala;2,000;0,000;3,00;0,00;0,60;6,00;5,40;")
    expect(end).to.equal('')
    expect(await lines(`?item=${counter.product}`)).to.deep.equal([heads, coffee, ''])
    expect(await lines('?product=cafe')).to.deep.equal([heads, coffee, ''])
    expect((await user.get('/painel/vendas')).html).to.include('href="/painel/vendas/itens.csv"')
  })

  it('downloads the filtered sales as CSV, also as of a revision [PANEL-143] [PANEL-144]', async () => {
    await company.post('/customers', { name: '=HYPERLINK("http://x")', external_id: 'm' })
    await counter.sell({ customer_external_id: 'm', sold_at: '2026-03-11T12:00:00Z', external_id: 'a;"b' })
    const revision = (await company.get('/me')).headers.get('x-ledger-revision')
    await counter.sell({ sold_at: '2026-03-11T13:00:00Z' })
    await counter.sell({ sold_at: '2026-03-12T12:00:00Z' })
    const lines = async (search: string) => {
      const { status, html, headers } = await user.get(`/painel/vendas.csv?sold_to=2026-03-11${search}`)
      expect(status).to.equal(200)
      expect(headers.get('content-disposition')).to.match(/^attachment; filename="vendas(-\d+)?\.csv"$/)
      return html.split('\r\n')
    }
    const [heads, newest, first, end] = await lines('')
    expect(heads).to.match(/^\uFEFF?Número;Código externo;Quando;/)
    expect(newest).to.match(/;11\/03\/2026 10:00:00;Concluída;;/)
    expect(first).to.include(';"a;""b";').and.include(`;"'=HYPERLINK(""http://x"")";`).and.include(';20,00;')
    expect(end).to.equal('')
    expect(await lines(`&em=${revision}`)).to.deep.equal([heads, first, ''])
    expect((await user.get('/painel/vendas.csv?sold_to=nunca')).status).to.equal(422)
  })

  it('has the discounts of items and of whole sales in its file [SALE-30] [PANEL-143]', async () => {
    await counter.record(
      counter.sale('pdv-1', {
        items: [{ product_id: counter.product, quantity: 3, price: 10, total: 28 }],
        total: 27,
        amount_received: 27,
        payments: [{ payment_type_id: counter.cash, amount: 27, status: 'completed' }],
      }),
    )
    const [heads, first] = (await user.get('/painel/vendas.csv')).html.split('\r\n')
    expect(heads).to.include(';Desconto dos itens;Subtotal;Desconto;Entrega;Total;')
    expect(first).to.include(';2,00;28,00;1,00;0,00;27,00;')
  })

  it('tells beside a filter what is wrong with it', async () => {
    await counter.sell()
    expect(problemsIn((await user.get('/painel/vendas?sold_from=2026-02-30')).html)).to.deep.equal([
      'De: informe uma data como 21/11/2026',
    ])
    const { status, html } = await user.get('/painel/vendas?id=abc&status=lost&cursor=x')
    expect(status).to.equal(200)
    expect(problemsIn(html)).to.include('Número: deve ser um número inteiro positivo')
    expect(problemsIn(html).join()).to.include('Situação: ')
    expect(textIn(html)).to.include('Nenhuma venda encontrada.')
    expect((await user.get('/painel/vendas?cursor=quebrado')).html).to.include('não é um cursor desta lista')
  })

  it('shows no sale of another company, and keeps the chosen revision while filtering', async () => {
    const { id } = await counter.sell()
    const revision = (await company.get('/me')).headers.get('x-ledger-revision')
    const after = await counter.sell()
    const other = await panelUser(api, await api.company())
    expect(textIn((await other.get('/painel/vendas')).html)).to.include('Nenhuma venda encontrada.')
    expect(await numbers(`?em=${revision}`)).to.deep.equal([id])
    expect(await numbers(`?em=${revision}&id=${after.id}`)).to.deep.equal([])
    expect(await numbers(`?em=${revision}&origin=api`)).to.deep.equal([id])
    expect((await user.get(`/painel/vendas?em=${revision}`)).html).to.include(
      `<input type="hidden" name="em" value="${revision}"/>`,
    )
  })
})
