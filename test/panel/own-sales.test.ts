import { expect } from 'chai'
import { adjustRole, updateUser } from '#commands/user-commands.ts'
import { ROLE_PRESETS } from '#domain/rights.ts'
import { PANEL_ROUTES } from '#panel/routes.ts'
import { type Counter, openCounter } from '../support/offline-sales.ts'
import { type PanelUser, panelUser, textIn } from '../support/panel.ts'
import { openTill } from '../support/till.ts'
import { useCompany } from '../support/use-api.ts'

/** Amounts that no other record has: of an own sale of today, and of sales that a clerk does not see. */
const OWN = '431.17'
const OF_OTHER = '877.31'
const OF_OWN_YESTERDAY = '653.29'
const shown = (amount: string) => amount.replace('.', ',')

describe('panel: own sales of today', () => {
  const { api, company } = useCompany()
  let clerk: PanelUser
  let manager: PanelUser
  let counter: Counter
  let customer: number
  let own: number
  let others: number[]

  before(async () => {
    clerk = await panelUser(api, company, 'clerk')
    manager = await panelUser(api, company, 'manager')
    counter = await openCounter(company)
    customer = (await company.post('/customers', { name: 'Maria' })).body.data.id
    const sell = async (amount: string, user_id: number, fields = {}) =>
      (
        await counter.sell({
          customer_id: customer,
          seller: { user_id },
          items: [{ catalog_item_id: counter.product, quantity: '1', unit_price: amount }],
          payments: [{ payment_type_id: counter.cash, amount }],
          ...fields,
        })
      ).id as number
    own = await sell(OWN, clerk.id)
    const yesterday = new Date(Date.now() - 86_400_000).toISOString()
    others = [await sell(OF_OTHER, manager.id), await sell(OF_OWN_YESTERDAY, clerk.id, { sold_at: yesterday })]
  })

  const page = async (user: PanelUser, path: string) => textIn((await user.get(`/painel${path}`)).html)
  const hidden = [OF_OTHER, OF_OWN_YESTERDAY].map(shown)

  it('are all that a clerk sees, on every page, in the past too [ROLE-105]', async () => {
    const ids: Readonly<Record<string, number>> = {
      '/clientes': customer,
      '/catalogo': counter.product,
      '/vendas': own,
    }
    const { rows } = await api.core.pool.query('select revision from ops.ledgers where company_id = $1', [company.id])
    const [{ revision }] = rows
    const pages = PANEL_ROUTES.filter((route) => 'show' in route || 'table' in route)
    for (const route of pages) {
      const [section = ''] = /^\/\w+/.exec(route.path) ?? []
      if (route.path.includes(':') && !(section in ids)) continue
      const path = route.path.replace(':id', String(ids[section]))
      const isPast = 'asOf' in route && route.asOf
      for (const query of ['', ...(path === '/' ? ['?periodo=30dias'] : []), ...(isPast ? [`?em=${revision}`] : [])]) {
        const { html, status } = await clerk.get(`/painel${path}${query}`)
        expect(status, path + query).to.be.below(500)
        for (const amount of hidden) expect(html.includes(amount), `${amount} on ${path}${query}`).to.equal(false)
        for (const id of others) expect(html, path + query).not.to.include(`/vendas/${id}"`)
      }
    }
  })

  it('are in the list, on the start page and in the closing, and their sums are of them only [ROLE-105]', async () => {
    for (const path of ['', '/vendas', '/caixas/fechamento', `/vendas/${own}`, `/clientes/${customer}`])
      expect(await page(clerk, path), path).to.include(shown(OWN))
    expect(await page(clerk, '')).to.match(/Vendas de hoje R\$ 431,17 .*Número de vendas 1 /)
    expect(await page(manager, '')).to.include('1.308,48')
  })

  it('are the only ones with a page, a receipt, its file, a form and a search result [ROLE-105]', async () => {
    for (const id of others) {
      for (const path of ['', '/recibo', '/recibo/arquivo', '/cancelar', '/documento-fiscal'])
        expect((await clerk.get(`/painel/vendas/${id}${path}`)).status, path).to.equal(404)
      expect(await page(clerk, `/busca?q=${id}`)).not.to.include(`Venda ${id}`)
      expect((await manager.get(`/painel/vendas/${id}`)).status).to.equal(200)
    }
    for (const path of ['', '/recibo', '/recibo/arquivo'])
      expect((await clerk.get(`/painel/vendas/${own}${path}`)).status, path).to.equal(200)
  })

  it('own sales do not mix with sums that need all sales [ROLE-105]', async () => {
    const fields = { name: 'Azeite', price: '9.00', stock: '1', min_stock: '5' }
    const item = (await company.post('/catalog/items', fields)).body.data.id
    for (const path of ['/catalogo/reposicao', `/catalogo/${item}`]) {
      expect(await page(manager, path), path).to.include('Vendido em 30 dias')
      expect(await page(clerk, path), path)
        .to.include('Azeite')
        .and.not.include('Vendido em 30 dias')
    }
    const till = await openTill(api.url, company)
    const movement = (kind: string, amount: number | null, more = {}) => ({
      ...{ offline_id: kind, session_id: 'gaveta-1', kind, amount, at: new Date().toISOString() },
      ...more,
    })
    await till.post('/sync/cash', {
      movements: [movement('opened', 90), movement('closed', null, { counted: { cash: 10 } })],
    })
    expect(await page(manager, '')).to.match(/caixa fechado em .* com diferença/)
    expect(await page(clerk, '')).not.to.include('com diferença')
    expect(await page(manager, '/caixas')).to.include('Caixas abertos agora')
    expect(await page(clerk, '/caixas')).not.to.include('Caixas abertos agora')
    expect((await clerk.get('/painel/caixas/fechamento')).html).not.to.include('/caixas/sessoes')
  })

  it('have an inventory without the expected stock, which sales of others change [ROLE-105]', async () => {
    const path = '/catalogo/inventarios'
    const { to } = await clerk.submit(`/painel${path}/novo`, { name: 'Prateleira' }, `/painel${path}`)
    const inventory = String(to).replace('/painel', '').replace(/\?.*/, '')
    expect(
      (await clerk.submit(`/painel${inventory}`, { lines: 'nada 1', mode: 'add' }, `/painel${inventory}/lista`)).status,
    ).to.equal(422)
    expect(await page(clerk, inventory))
      .to.include('Nada contado ainda')
      .and.not.include('Esperado')
  })

  it('own sales are joined by all once the role has the permission [ROLE-110]', async () => {
    const { granted } = ROLE_PRESETS.clerk
    const adjust = (permissions: typeof granted) =>
      company.run(adjustRole, {
        role: 'clerk',
        permissions: [...permissions],
        return_limit: '100.00',
        discount_limit: '100.00',
      })
    await adjust([...granted, 'see_all_sales', 'export'])
    expect(await page(clerk, '/vendas?linhas=200'))
      .to.include(shown(OF_OTHER))
      .and.include(shown(OF_OWN_YESTERDAY))
    expect((await clerk.get('/painel/vendas.csv')).status).to.equal(200)
    await adjust(granted)
    expect(await page(clerk, '/vendas')).not.to.include(shown(OF_OTHER))
    expect((await clerk.get('/painel/vendas.csv')).status).to.equal(403)
  })

  it('are no limit for a user who gets another role [ROLE-105]', async () => {
    await company.run(updateUser, { id: clerk.id, role: 'manager' })
    expect(await page(clerk, '/vendas')).to.include(shown(OF_OTHER))
    await company.run(updateUser, { id: clerk.id, role: 'clerk' })
  })
})
