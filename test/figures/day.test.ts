import { expect } from 'chai'
import { dateInZone } from '#domain/instant.ts'
import { type Counter, openCounter, upload } from '../support/offline-sales.ts'
import { panelUser, textIn, usePanelUser } from '../support/panel.ts'
import { openTill, type TestTill } from '../support/till.ts'
import { figuresIn } from './parse.ts'

describe('figures of the day', () => {
  const { api, company, user } = usePanelUser('manager')
  const today = dateInZone(new Date().toISOString(), 'America/Sao_Paulo')
  let till: TestTill
  let counter: Counter

  beforeEach(async () => {
    till = await openTill(api.url, company)
    counter = await openCounter(company)
  })

  const page = async (path: string) => (await user.get(`/painel${path}`)).html
  const figures = async (path: string) => figuresIn(await page(path))
  const ofDay = `sold_from=${today}&sold_to=${today}`
  const back = (saleId: number, items: object[], refunds: object[]) =>
    company.post(
      `/sales/${saleId}/returns`,
      { reason: 'troca', items, refunds },
      { 'idempotency-key': `volta-${saleId}` },
    )

  it('show a drawer with float, supplies, bleeds and count as its session does [FIG-802]', async () => {
    await upload(till, [counter.sale('a', { cash_session_id: 'g', created_at: new Date().toISOString() })])
    const at = new Date().toISOString()
    const movements = [
      { kind: 'opened', amount: 70 },
      { kind: 'in', amount: 20 },
      { kind: 'out', amount: 30 },
      { kind: 'closed', counted: { cash: 65.5 } },
    ].map((movement) => ({ offline_id: `m-${movement.kind}`, session_id: 'g', at, ...movement }))
    await till.post('/sync/cash', { movements })
    const closing = await page('/caixas/fechamento')
    expect(textIn(closing)).to.include('Abertura R$ 70,00').and.to.include('Esperado na gaveta R$ 70,00')
    expect(textIn(closing)).to.include('Contado R$ 65,50 Diferença −R$ 4,50')
    const [session] = (await company.get('/cash-sessions')).body.data
    const drawer = { [`gaveta/${session.id}.esperado`]: 70, [`gaveta/${session.id}.contado`]: 65.5 }
    expect(figuresIn(closing)).to.include({ ...drawer, [`gaveta/${session.id}.diferenca`]: -4.5, 'total.esperado': 70 })
    expect(await figures(`/caixas/sessoes/${session.id}`)).to.include(drawer)
  })

  it('count a return for the till and seller of its sale, wherever it was made [FIG-803]', async () => {
    const [sale] = (await upload(till, [counter.sale('a', { created_at: new Date().toISOString() })])).results
    const { body } = await back(
      sale.sale_id,
      [{ line: 0, quantity: '1' }],
      [{ payment_type_id: counter.cash, amount: '10.00' }],
    )
    expect(body.data.total).to.equal('10.00')
    const scope = `caixa/user/${till.user.id}`
    const closing = await figures('/caixas/fechamento')
    expect(closing).to.include({ [`${scope}.devolvido`]: 10, [`${scope}.liquido`]: 0 })
    expect(Object.keys(closing).join()).not.to.include('outros')
    expect(await figures('/')).to.include({ [`vendedor/user/${till.user.id}.liquido`]: 0, 'total.itens': 0 })
    expect(await figures(`/vendas?actor=user/${till.user.id}&origin=pdv&${ofDay}`)).to.include({ 'total.liquido': 0 })
    expect(await figures('/caixas')).to.include({ [`${scope}.liquido`]: 0 })
  })

  it('name those who sold, not who recorded the sale, and lead to their sales [FIG-803]', async () => {
    await counter.sell({ seller: { name: 'Ana' } })
    await counter.sell({ seller: { user_id: till.user.id } })
    await upload(till, [counter.sale('a', { created_at: new Date().toISOString() })])
    await counter.sell()
    const { by_seller } = (await company.get(`/finance/summary?from=${today}&to=${today}`)).body.data.sales
    const start = await page('/')
    const shown = figuresIn(start)
    for (const { seller, net } of by_seller) {
      const key = seller === null ? 'none' : seller.user_id === null ? `name/${seller.name}` : `user/${seller.user_id}`
      expect(shown[`vendedor/${key}.liquido`], key).to.equal(Number(net))
      const query = new URLSearchParams({ seller: key, sold_from: today, sold_to: today })
      expect((await figures(`/vendas?${query}`))['total.liquido'], key).to.equal(Number(net))
    }
    expect(by_seller).to.have.length(3)
    expect(textIn(start)).to.include('Ana 1').and.to.include('Sem vendedor 1')
    // A free name is personal data.
    const auditor = await panelUser(api, company, 'auditor')
    expect(textIn((await auditor.get('/painel')).html))
      .to.include('Outro vendedor')
      .and.not.to.include('Ana')
  })

  it('counts products that run out with those out of stock, and variants with their product [FIG-804]', async () => {
    const create = async (fields: object) =>
      (await company.post('/catalog/items', { price: '5.00', ...fields })).body.data
    await create({ name: 'Chá', stock: '1', min_stock: '2' })
    await create({ name: 'Sal', stock: '0' })
    const shirt = await create({ name: 'Camisa', stock: '9' })
    const variant = await create({ name: 'Camisa P', stock: '8', parent_id: shirt.id, variant: { size: 'P' } })
    await counter.sell({
      items: [{ catalog_item_id: variant.id, quantity: '3' }],
      payments: [{ payment_type_id: counter.cash, amount: '15.00' }],
    })
    expect(await figures('/')).to.include({ 'total.acabando': 2, 'total.sem-estoque': 1 })
    expect(await figures('/catalogo/reposicao')).to.include({ 'total.acabando': 2 })
    expect(await figures(`/catalogo/${shirt.id}`)).to.include({ [`item/${shirt.id}.vendido-30-dias`]: 3 })
  })

  it('lists a customer’s purchases by time, and both numbers of the comparison [FIG-804] [OPS-47]', async () => {
    await company.post('/customers', { name: 'Maria', external_id: 'm' })
    const first = await counter.sell({ customer_external_id: 'm' })
    await counter.sell({ customer_external_id: 'm', sold_at: '2026-01-02T12:00:00Z' })
    const html = await page(`/clientes/${first.customer.id}`)
    const listed = [...html.matchAll(/href="\/painel\/vendas\/(\d+)"/g)].map(([, id]) => Number(id))
    expect(listed[0]).to.equal(first.id)
    const { id: other } = await counter.sell({ customer_external_id: 'm' })
    await company.post(`/sales/${other}/cancel`, {})
    await back(first.id, [{ line: 0, quantity: '1' }], [{ payment_type_id: counter.cash, amount: '10.00' }])
    const of = `comprador/${first.customer.id}`
    const bought = await figures(`/clientes/${first.customer.id}`)
    expect(bought).to.include({ [`${of}.concluidas`]: 2, [`${of}.liquido`]: 30 })
    expect((await figures('/vendas?customer=Maria'))['total.liquido']).to.equal(bought[`${of}.liquido`])
  })

  it('compare with nothing while the shop has not been open for the whole earlier period [PANEL-120]', async () => {
    const days = (count: number) => new Date(Date.now() - count * 86_400_000).toISOString()
    await counter.sell({ sold_at: days(31) })
    for (const _ of [1, 2, 3]) await counter.sell({ sold_at: days(1) })
    const shown = textIn(await page('?periodo=30'))
    expect(shown).to.include('Ainda não há um período anterior completo').and.not.to.include('▲')
    await counter.sell({ sold_at: days(60) })
    expect(textIn(await page('?periodo=30'))).to.include('a mais')
  })
})
