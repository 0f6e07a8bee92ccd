import { expect } from 'chai'
import { listLoginCounters } from '#access/login-limits.ts'
import { adjustRole } from '#commands/role-commands.ts'
import type { Permission } from '#domain/rights.ts'
import { BEFORE } from '#panel/forms/panel-form.ts'
import type { Json } from '../support/api.ts'
import { importFile } from '../support/import-file.ts'
import { type Counter, openCounter } from '../support/offline-sales.ts'
import { hiddenFields, type PanelUser, panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'
import { createTestUser } from '../support/till.ts'
import { useCompany } from '../support/use-api.ts'

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
    const items = [{ description: 'Bala', quantity: '1', unit_price: '20.00' }]
    const sold = await Promise.all(Array.from({ length: 52 }, () => counter.sell({ items })))
    const ids = sold.map(({ id }): number => id).sort((a, b) => b - a)
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
    expect(textIn((await other.get('/painel/vendas')).html)).to.include('Nenhuma venda ainda')
    expect(await numbers(`?em=${revision}`)).to.deep.equal([id])
    expect(await numbers(`?em=${revision}&id=${after.id}`)).to.deep.equal([])
    expect(await numbers(`?em=${revision}&origin=api`)).to.deep.equal([id])
    expect((await user.get(`/painel/vendas?em=${revision}`)).html).to.include(
      `<input type="hidden" name="em" value="${revision}"/>`,
    )
  })
})

const PIN = '480263'

describe('panel: an approval on the spot', () => {
  const { api, company } = useCompany()
  let clerk: PanelUser
  let otherClerk: PanelUser
  let manager: PanelUser
  let counter: Counter

  before(async () => {
    clerk = await panelUser(api, company, 'clerk')
    otherClerk = await panelUser(api, company, 'clerk')
    manager = await panelUser(api, company, 'manager')
    counter = await openCounter(company)
    const permissions = ['sell', 'edit_catalog'] as const
    await company.run(adjustRole, {
      role: 'clerk',
      permissions: [...permissions],
      return_limit: '0.00',
      discount_limit: '0.00',
    })
    expect((await setPin(manager, PIN)).status).to.equal(303)
    expect((await setPin(otherClerk, PIN)).status).to.equal(303)
  })

  const setPin = (user: PanelUser, pin: string, current_password = user.password) =>
    user.submit('/painel/conta/pin', { current_password, pin, repeated: pin })
  const sell = async (): Promise<number> => (await counter.sell({ seller: { user_id: clerk.id } })).id
  const cancel = (id: number, fields: Record<string, string>) =>
    clerk.submit(`/painel/vendas/${id}/cancelar`, { reason: 'Engano', ...fields })
  const by = ({ email }: PanelUser, approver_secret: string) => ({ approver_email: email, approver_secret })
  const statusOf = async (id: number) => (await company.get(`/sales/${id}`)).body.data.status

  async function lastEvent() {
    const { rows } = await api.core.pool.query(
      'select envelope::text from ledger.events where stream = $1 order by revision desc limit 1',
      [`company-${company.id}`],
    )
    return JSON.parse(rows[0].envelope)
  }

  it('is offered to a user who may not do it, and without one nothing happens [ROLE-120]', async () => {
    const id = await sell()
    expect(textIn((await clerk.get(`/painel/vendas/${id}/cancelar`)).html)).to.include('Autorização')
    expect(textIn((await manager.get(`/painel/vendas/${id}/cancelar`)).html)).not.to.include('Autorização')
    const { status, html } = await cancel(id, {})
    expect([status, problemsIn(html)]).to.deep.equal([
      403,
      ['Seu perfil de acesso não permite cancelar as próprias vendas. Peça autorização a um responsável.'],
    ])
    expect(await statusOf(id)).to.equal('completed')
  })

  for (const way of ['PIN', 'password'] as const)
    it(`is given by ${way}, and the event names the approver beside the actor [ROLE-120]`, async () => {
      const id = await sell()
      const { status } = await cancel(id, by(manager, way === 'PIN' ? PIN : manager.password))
      expect([status, await statusOf(id)]).to.deep.equal([303, 'cancelled'])
      const { actor, data } = await lastEvent()
      expect([actor, data.approved_by]).to.deep.equal([`user/${clerk.id}`, manager.id])
      expect(textIn((await manager.get(`/painel/vendas/${id}`)).html)).to.include(
        `autorizada pelo usuário ${manager.id}`,
      )
    })

  it('is refused if the approver may not do it either, or is the user [ROLE-120]', async () => {
    const id = await sell()
    expect((await cancel(id, by(otherClerk, PIN))).status).to.equal(403)
    expect((await cancel(id, by(clerk, clerk.password))).status).to.equal(403)
    expect(await statusOf(id)).to.equal('completed')
  })

  it('is refused to persons of other companies [ROLE-120]', async () => {
    const id = await sell()
    const stranger = await panelUser(api, await api.company())
    const { status, html } = await cancel(id, by(stranger, stranger.password))
    expect([status, html.includes('e-mail, PIN ou senha incorretos')]).to.deep.equal([422, true])
    expect(await statusOf(id)).to.equal('completed')
  })

  it('leaves a sale without the approver in its event if the user may cancel it [ROLE-120]', async () => {
    const id = await sell()
    await manager.submit(`/painel/vendas/${id}/cancelar`, { reason: 'Engano' })
    expect((await lastEvent()).data).not.to.have.property('approved_by')
  })

  it('allows a price that the user may not change; other fields need none [ROLE-123]', async () => {
    const path = `/painel/catalogo/${counter.product}/editar`
    const edit = async (fields: Record<string, string>) => {
      const form = hiddenFields((await clerk.get(path)).html, path)
      return clerk.post(path, { ...form, ...JSON.parse(form[BEFORE] ?? ''), ...fields })
    }
    const price = async () => (await company.get(`/catalog/items/${counter.product}`)).body.data.price
    expect((await edit({ price: '9,00' })).status).to.equal(403)
    expect(await price()).to.equal('10.00')
    expect((await edit({ unit: 'CX' })).status).to.equal(303)
    expect((await edit({ price: '9,00', ...by(manager, PIN) })).status).to.equal(303)
    expect([await price(), (await lastEvent()).data.approved_by]).to.deep.equal(['9.00', manager.id])
  })

  it('allows a new item under a barcode of another one, which is a change of price [ROLE-782]', async () => {
    const item = (await company.post('/catalog/items', { name: 'Vinho', price: '90.00', barcode: '7891000100103' }))
      .body
    expect((await clerk.submit(`/painel/catalogo/${item.data.id}/excluir`, {})).status).to.equal(303)
    const create = (fields: Record<string, string>) => {
      const item = { type: 'product', name: 'Vinho', price: '9,00', barcode: '7891000100103', unit: 'UN' }
      return clerk.submit('/painel/catalogo/novo', { ...item, ...fields }, '/painel/catalogo')
    }
    expect(textIn((await clerk.get('/painel/catalogo/novo')).html)).to.include('Autorização')
    const refused = await create({})
    expect([refused.status, textIn(refused.html).includes('Autorização')]).to.deep.equal([403, true])
    expect((await create(by(manager, PIN))).status).to.equal(303)
    expect((await lastEvent()).data).to.include({ barcode: '7891000100103', approved_by: manager.id })
  })

  it('allows an item to come back under a barcode of another one [ROLE-782]', async () => {
    const made = async (name: string) =>
      (await company.post('/catalog/items', { name, price: '9.00', barcode: '7891000100110' })).body.data.id
    const remove = (id: number) => company.call('DELETE', `/catalog/items/${id}`)
    const id = await made('Suco')
    await remove(id)
    await remove(await made('Refresco'))
    const list = '/painel/catalogo?state=inactive'
    const again = (fields: Record<string, string>) => clerk.submit(list, fields, `/painel/catalogo/${id}/reativar`)
    const refused = await again({})
    expect([refused.status, textIn(refused.html).includes('Autorização')]).to.deep.equal([403, true])
    expect((await again(by(manager, PIN))).status).to.equal(303)
    expect((await lastEvent()).data).to.include({ id, approved_by: manager.id })
  })

  describe('of a return', () => {
    const allow = (...permissions: Permission[]) =>
      company.run(adjustRole, { role: 'clerk', permissions, return_limit: '15.00', discount_limit: '0.00' })
    const sellTwo = async (): Promise<number> => {
      const items = [{ catalog_item_id: counter.product, quantity: '2', unit_price: '10.00' }]
      const payments = [{ payment_type_id: counter.cash, amount: '20.00' }]
      return (await counter.sell({ seller: { user_id: clerk.id }, items, payments })).id
    }
    const form = (id: number) => `/painel/vendas/${id}/devolver`
    const giveBack = (id: number, quantity: string, approval: Record<string, string> = {}) =>
      clerk.submit(form(id), { q0: quantity, reason: 'Defeito', payment_type_id: `${counter.cash}`, ...approval })
    const summed = async (id: number, quantity: string) =>
      textIn((await clerk.submit(form(id), { q0: quantity, calcular: 's' })).html)
    const totals = async (id: number) =>
      (await company.get(`/sales/${id}/returns`)).body.data.map(({ total }: { total: string }) => total)

    before(() => allow('sell', 'edit_catalog', 'return_goods'))
    after(() => allow('sell', 'edit_catalog'))

    it('is not needed up to the limit of the role [ROLE-103]', async () => {
      const id = await sellTwo()
      expect(await summed(id, '1')).not.to.include('Autorização')
      expect((await giveBack(id, '1')).status).to.equal(303)
      const { type, data } = await lastEvent()
      expect([type, data.approved_by, await totals(id)]).to.deep.equal(['SaleReturned', undefined, ['10.00']])
    })

    it('is needed above the limit, and is recorded in the event [ROLE-103] [ROLE-120]', async () => {
      const id = await sellTwo()
      expect(await summed(id, '2')).to.include('Autorização')
      expect((await giveBack(id, '2')).status).to.equal(403)
      expect((await giveBack(id, '2', by(otherClerk, PIN))).status).to.equal(403)
      expect(await totals(id)).to.deep.equal([])
      expect((await giveBack(id, '2', by(manager, PIN))).status).to.equal(303)
      const { type, actor, data } = await lastEvent()
      expect([type, actor, data.approved_by]).to.deep.equal(['SaleReturned', `user/${clerk.id}`, manager.id])
      expect(await totals(id)).to.deep.equal(['20.00'])
    })

    it('is needed for any amount by a user who may take nothing back [ROLE-120]', async () => {
      await allow('sell', 'edit_catalog')
      const id = await sellTwo()
      expect((await giveBack(id, '1')).status).to.equal(403)
      expect((await giveBack(id, '1', by(manager, PIN))).status).to.equal(303)
      expect(await totals(id)).to.deep.equal(['10.00'])
    })
  })

  describe('that fails', () => {
    const asked = async (user: PanelUser, fields: Record<string, string>) => {
      const { id } = await counter.sell({ seller: { user_id: user.id } })
      return (await user.submit(`/painel/vendas/${id}/cancelar`, { reason: 'Engano', ...fields })).html
    }
    const WRONG = 'e-mail, PIN ou senha incorretos'
    const LIMITED = /muitas tentativas: aguarde \d+ segundos/

    it('five times a minute is refused to who asks, in all sessions; secrets are not shown again [ROLE-121]', async () => {
      const asking = await panelUser(api, company, 'clerk')
      const approver = await panelUser(api, company, 'manager')
      await setPin(approver, PIN)
      for (let n = 0; n < 5; n++)
        expect(await asked(asking, by(approver, '999998')))
          .to.include(WRONG)
          .and.not.include('999998')
      expect(await asked(asking, by(approver, PIN))).to.match(LIMITED)
      await asking.logIn()
      expect(await asked(asking, by(approver, PIN))).to.match(LIMITED)
      expect(await asked(otherClerk, by(approver, '999998'))).to.include(WRONG)
    })

    it('leaves the prompts of the approver alone, and compares no password of other companies [ROLE-720]', async () => {
      const asking = await panelUser(api, company, 'clerk')
      const approver = await panelUser(api, company, 'manager')
      const stranger = await panelUser(api, await api.company())
      for (const secret of [approver.password, PIN]) expect(await asked(asking, by(stranger, secret))).to.include(WRONG)
      for (let n = 0; n < 3; n++) expect(await asked(asking, by(approver, 'senha errada'))).to.include(WRONG)
      expect(await asked(asking, by(approver, approver.password))).to.match(LIMITED)
      expect((await setPin(approver, '480263')).status).to.equal(303)
      const countersOfAccount = ({ email }: PanelUser) =>
        listLoginCounters({ email, address: '127.0.0.1', proof: 'inside' }).slice(0, 3)
      const { rows } = await api.core.pool.query('select hour_count from ops.login_failures where key = any($1)', [
        [approver, stranger].flatMap(countersOfAccount).map(({ key }) => key),
      ])
      expect(rows.filter(({ hour_count }) => hour_count > 0)).to.deep.equal([])
    })
  })

  it('needs a PIN of six digits, set with the password and in no event [ROLE-122]', async () => {
    for (const pin of ['12345', '1234567', '111111', '123456', '987654', 'abcdef'])
      expect((await setPin(clerk, pin)).status, pin).to.equal(422)
    expect((await setPin(clerk, PIN, 'uma senha errada')).status).to.equal(422)
    expect((await setPin(clerk, '730518')).status).to.equal(303)
    const event = await lastEvent()
    expect([event.type, event.data]).to.deep.equal(['UserPinChanged', { id: clerk.id }])
    const hash = 'select pin_hash from ops.user_pins where company_id = $1 and user_id = $2'
    const { rows } = await api.core.pool.query(hash, [company.id, clerk.id])
    expect(rows[0].pin_hash).to.match(/^\$argon2id\$/)
  })
})

const TAXES = {
  origin: '2',
  cfop: '5.102',
  csosn: '102',
  pis_cst: '49',
  cofins_cst: '49',
  ibs_cbs_cst: '000',
  ibs_cbs_class: '000001',
}

describe('panel: fiscal fields', () => {
  const { api, company, user } = usePanelUser('owner')

  const items = async (): Promise<Json[]> => (await company.get('/catalog/items')).body.data
  const pathOf = (to: string | null) => (to ?? '').replace(/\?.*/, '')

  it('of an item are folded in its form, and shown on its page', async () => {
    const { html } = await user.get('/painel/catalogo/novo')
    const folded = /<details class="fold"><summary>Dados fiscais<\/summary>.*?<\/details>/s.exec(html)?.[0] ?? ''
    for (const field of Object.keys(TAXES)) expect(folded).to.include(`name="${field}"`)
    expect(folded).not.to.include('name="price"')
    const form = { type: 'product', name: 'Café', price: '10', ...TAXES }
    const { status, to } = await user.submit('/painel/catalogo/novo', form, '/painel/catalogo')
    expect(status).to.equal(303)
    expect((await items())[0]).to.include({ ...TAXES, cfop: '5102', icms_cst: null })
    const shown = textIn((await user.get(pathOf(to))).html)
    for (const text of ['Origem da mercadoria 2 – Importada, comprada no mercado interno', 'CFOP 5102', 'CSOSN 102'])
      expect(shown).to.include(text)
    expect(shown).not.to.include('CST do ICMS')
  })

  it('of an item are refused at their field, unfolded [ITEM-21]', async () => {
    const form = { type: 'product', name: 'Café', price: '10', csosn: '102' }
    for (const [wrong, label] of [
      [{ pis_cst: '1' }, 'CST do PIS: '],
      [{ icms_cst: '00' }, 'CSOSN: '],
    ] as const) {
      const { status, html } = await user.submit('/painel/catalogo/novo', { ...form, ...wrong }, '/painel/catalogo')
      expect(status).to.equal(422)
      expect(problemsIn(html).join()).to.include(label)
      expect(html).to.match(/<details class="fold" open>/)
    }
    expect(await items()).to.deep.equal([])
  })

  it('of items are imported with leading zeros that a spreadsheet left out', async () => {
    const file = 'SKU;Nome;Preço;Origem;CFOP;CST;CST PIS;cClassTrib\nA1;Café;18,90;0 - Nacional;5102;0;1;1'
    const { done } = await importFile({ api, user }, '/catalogo/importar', file)
    expect(done).to.match(/Criados 1 .*Com erro 0/)
    const [item] = await items()
    expect(item).to.include({ origin: '0', cfop: '5102', icms_cst: '00', pis_cst: '01', ibs_cbs_class: '000001' })
  })

  it('of customers are recorded, shown, exported and imported as equal', async () => {
    const form = { name: 'Padaria', state_registration: '110.042.490.114', ie_indicator: '1' }
    const { status, to } = await user.submit('/painel/clientes/novo', form, '/painel/clientes')
    expect(status).to.equal(303)
    const shown = textIn((await user.get(pathOf(to))).html)
    expect(shown).to.include('Inscrição estadual 110042490114 Contribuinte do ICMS 1 – Contribuinte do ICMS')
    const file = Buffer.from((await user.get('/painel/clientes.csv')).html)
    const { done } = await importFile({ api, user }, '/clientes/importar', file)
    expect(done).to.match(/Iguais 1 .*Com erro 0/)
    const { data } = (await company.get('/customers')).body
    expect(data[0]).to.include({ state_registration: '110042490114', ie_indicator: '1' })
  })
})

describe('panel: details of a sale', () => {
  const { company, user } = usePanelUser('owner')
  let counter: Counter
  let sale: Json
  let seller: { readonly name: string }

  beforeEach('sell with discounts, a card, a Pix and a seller', async () => {
    counter = await openCounter(company)
    const [card, pix] = [await company.paymentType('card'), await company.paymentType('pix')]
    const clerk = await createTestUser(company)
    seller = clerk
    sale = await counter.sell({
      items: [{ catalog_item_id: counter.product, quantity: '2', discount: '1.00' }],
      discount: '4.00',
      seller: { user_id: clerk.id },
      payments: [
        {
          payment_type_id: card,
          amount: '10.00',
          card: { brand: 'elo', nsu: '4711', installments: 2, acquirer_cnpj: '01027058000191', integrated: true },
        },
        { payment_type_id: pix, amount: '5.00', end_to_end_id: 'E0003816620190726' },
      ],
    })
  })

  it('are on its page: seller, share of the discount, card and Pix [SALE-24] [SALE-25]', async () => {
    const shown = textIn((await user.get(`/painel/vendas/${sale.id}`)).html)
    for (const text of [
      `Vendedor ${seller.name}`,
      'Total Rateio do desconto Café 100 2 R$ 10,00 R$ 1,00 R$ 19,00 R$ 4,00',
      'Subtotal R$ 19,00 Desconto R$ 4,00 Total R$ 15,00',
      'Elo · 2× · NSU 4711 · credenciadora 01.027.058/0001-91 · TEF',
      'Pix E0003816620190726',
    ])
      expect(shown).to.include(text)
  })

  it('leave no empty columns on the page of a plain sale', async () => {
    const plain = await counter.sell()
    const shown = textIn((await user.get(`/painel/vendas/${plain.id}`)).html)
    expect(shown).not.to.include('Rateio do desconto').and.not.include('Dados Valor')
  })

  it('are in the file of the sales [SALE-25]', async () => {
    const [heads = '', line = ''] = (await user.get('/painel/vendas.csv')).html.replace(/^\uFEFF/, '').split('\r\n')
    const cells = line.split(';')
    const cell = (head: string) => cells[heads.split(';').indexOf(head)]
    expect(cell('Vendedor')).to.equal(seller.name)
    expect(cell('Bandeira do cartão')).to.equal('Elo')
    expect(cell('NSU')).to.equal('4711')
    expect(cell('Parcelas')).to.equal('2')
    expect(cell('CNPJ da credenciadora')).to.equal('01.027.058/0001-91')
    expect(cell('Identificador do Pix')).to.equal('E0003816620190726')
    expect(cell('Desconto')).to.equal('4,00')
  })
})
