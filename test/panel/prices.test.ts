import { expect } from 'chai'
import { moveTestClock } from '#commands/company-commands.ts'
import { ReceiveGoodsInput, receiveGoods } from '#commands/receive-goods.ts'
import { adjustRole } from '#commands/role-commands.ts'
import { applyDuePrices } from '#service/due-prices.ts'
import { panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'
import { openTill } from '../support/till.ts'

const PATH = '/painel/catalogo/precos'

describe('panel: prices of many items', () => {
  const { api, company, user } = usePanelUser('owner', { test: true })

  const item = async (fields: object) =>
    (await company.post('/catalog/items', { price: '10.00', ...fields })).body.data.id as number
  const priceOf = async (id: number) => (await company.get(`/catalog/items/${id}`)).body.data.price as string
  const query = (fields: Record<string, string>) => `${PATH}?${new URLSearchParams(fields)}`
  const ticksIn = (html: string) =>
    [...html.matchAll(/name="item" value="([^"]+)" checked/g)].map(([, token]) => token as string)
  const change = async (fields: Record<string, string>, more: Record<string, string | string[]> = {}) => {
    const page = query(fields)
    const ticks = ticksIn((await user.get(page)).html)
    return user.submit(page, { item: ticks, starts_at: '', ...more }, PATH)
  }
  const act = (to: string | null) => (to ?? '').replace(/\?.*/, '')

  async function shop() {
    const category = (await company.post('/catalog/categories', { name: 'Mercearia' })).body.data.id as number
    const coffee = await item({ name: 'Café', price: '18.90', cost: '12.00', category_id: category })
    const tea = await item({ name: 'Chá', price: '10.00', category_id: category })
    const soap = await item({ name: 'Sabão', price: '5.00', cost: '6.00' })
    return { category: String(category), coffee, tea, soap }
  }

  it('shows prices before and after with margins, and what would have been earned [ITEM-1262] [ITEM-1264]', async () => {
    const { category, coffee } = await shop()
    const cash = await company.paymentType('cash')
    const items = [{ catalog_item_id: coffee, quantity: '3' }]
    const sold = await company.post('/sales', { items, payments: [{ payment_type_id: cash, amount: '56.70' }] })
    expect(sold.status, sold.text).to.equal(201)
    const { html } = await user.get(query({ category_id: category, change: '+5 %', ending: '90' }))
    const text = textIn(html)
    for (const shown of ['R$ 18,90', 'R$ 19,90', '36,51% → 39,70%', 'R$ 10,90', '+R$ 3,00'])
      expect(text).to.include(shown)
    expect(text).not.to.include('Sabão')
    const byCost = textIn((await user.get(query({ change: 'custo × 1,4', ending: '' }))).html)
    expect(byCost).to.include('Sem custo cadastrado, ficam de fora: Chá.').and.include('R$ 16,80')
    expect(textIn((await user.get(query({ q: 'sabão', change: '+5%', ending: '' }))).html)).to.include(
      'R$ 5,25: abaixo do custo',
    )
    for (const [typed, problem] of [
      ['0 %', '0% não muda nenhum preço'],
      ['-100%', 'o percentual deve ser maior que −100%'],
      ['custo × 0', 'o fator deve ser maior que 0'],
      ['dobro', 'escreva como +5 %'],
    ] as const) {
      const refused = await user.get(query({ change: typed, ending: '' }))
      expect([refused.status, problemsIn(refused.html).join()]).to.satisfy(
        ([status, told]: [number, string]) => status === 422 && told.includes(problem),
      )
    }
  })

  it('changes the ticked items, also for tills, and is undone [ITEM-1262] [ITEM-1266]', async () => {
    const { category, coffee, tea, soap } = await shop()
    const till = await openTill(api.url, company)
    const known = (await till.get('/sync/products')).body.data as { id: number; updated_at: string }[]
    const { status, to } = await change({ category_id: category, change: '+5 %', ending: '90' })
    expect(status).to.equal(303)
    expect([await priceOf(coffee), await priceOf(tea), await priceOf(soap)]).to.deep.equal(['19.90', '10.90', '5.00'])
    const products = (await till.get('/sync/products')).body.data as { id: number; price: number; updated_at: string }[]
    expect(products.find(({ id }) => id === coffee)?.price).to.equal(19.9)
    expect(products.find(({ id }) => id === coffee)?.updated_at).not.to.equal(
      known.find(({ id }) => id === coffee)?.updated_at,
    )
    const path = act(to)
    expect(textIn((await user.get(path)).html))
      .to.include('+5%, final ,90')
      .and.include('Feita')
    expect(textIn((await user.get(`/painel/catalogo/${coffee}`)).html)).to.include(
      'Item alterado, na alteração de preços',
    )
    await company.call('PATCH', `/catalog/items/${tea}`, { price: '11.50' })
    const undone = await user.submit(path, {}, `${path}/desfazer`)
    expect(undone.status).to.equal(303)
    expect([await priceOf(coffee), await priceOf(tea)]).to.deep.equal(['18.90', '11.50'])
    expect(textIn((await user.get(path)).html)).to.include('porque mudou depois ou foi desativado: Chá.')
  })

  it('leaves items alone that are not ticked, and refuses a table that is out of date [ITEM-1263]', async () => {
    const { coffee, tea } = await shop()
    const page = query({ change: '+10%', ending: '' })
    const ticks = ticksIn((await user.get(page)).html)
    expect((await user.submit(page, { starts_at: '' }, PATH)).status).to.equal(422)
    await company.call('PATCH', `/catalog/items/${coffee}`, { price: '20.00' })
    const stale = await user.submit(page, { item: ticks, starts_at: '' }, PATH)
    expect(stale.status).to.equal(422)
    expect(textIn(stale.html)).to.include('mudaram desde que a tabela foi mostrada: Café').and.include('R$ 22,00')
    expect(await priceOf(tea)).to.equal('10.00')
    const only = ticks.filter((token) => token.startsWith(`${tea}:`))
    expect((await user.submit(page, { item: only, starts_at: '' }, PATH)).status).to.equal(303)
    expect([await priceOf(coffee), await priceOf(tea)]).to.deep.equal(['20.00', '11.00'])
  })

  it('applies scheduled prices once at their moment, also by two processes [ITEM-1265]', async () => {
    const { coffee, tea } = await shop()
    const fields = { change: '+10%', ending: '' }
    const { to } = await change(fields, { starts_at: '2099-12-01T08:00' })
    expect(to).to.equal(null)
    const tomorrow = new Date(Date.now() + 24 * 3600 * 1000).toISOString().slice(0, 16)
    const first = act((await change(fields, { starts_at: tomorrow })).to)
    const second = act((await change({ q: 'chá', ...fields }, { starts_at: tomorrow })).to)
    expect(textIn((await user.get(PATH)).html)).to.include('Agendada')
    expect((await user.submit(second, {}, `${second}/cancelar`)).status).to.equal(303)
    const errors: unknown[] = []
    const run = () => applyDuePrices({ ...api.core, onError: (error) => errors.push(error) })
    await run()
    expect(await priceOf(coffee)).to.equal('18.90')
    await company.run(moveTestClock, { advance_days: 2 })
    await Promise.all([run(), run()])
    expect([await priceOf(coffee), await priceOf(tea)]).to.deep.equal(['20.79', '11.00'])
    expect(errors).to.deep.equal([])
    const late = await user.submit(first, {}, `${first}/desfazer`)
    expect(late.status).to.equal(303)
    expect(await priceOf(coffee)).to.equal('18.90')
  })

  it('shows no cost or margin to a role without the right, which cannot price by cost [ITEM-1264]', async () => {
    await shop()
    const permissions = ['edit_catalog', 'change_price'] as const
    const limits = { return_limit: '0.00', discount_limit: '0.00' }
    await company.run(adjustRole, { role: 'clerk', permissions: [...permissions], ...limits })
    const clerk = await panelUser(api, company, 'clerk')
    const text = textIn((await clerk.get(query({ change: '+5 %', ending: '' }))).html)
    expect(text).to.include('R$ 19,85')
    for (const hidden of ['Margem', 'abaixo do custo', 'Abaixo do custo', 'custo ×', 'Nos últimos 30 dias'])
      expect(text).not.to.include(hidden)
    const refused = await clerk.get(query({ change: 'custo × 1,4', ending: '' }))
    expect(problemsIn(refused.html).join()).to.include('seu perfil não vê custos')
    const forged = await clerk.submit(
      query({ change: '+5 %', ending: '' }),
      { change: 'custo × 1', item: '1:18.90:12.00', starts_at: '' },
      PATH,
    )
    expect(forged.status).to.equal(403)
  })

  it('prints labels with barcode, price and price of a kilogram [ITEM-1267]', async () => {
    const coffee = await item({ name: 'Café 500 g', price: '18.90', barcode: '7891000100103' })
    await item({ name: 'Queijo', price: '59.90', unit: 'KG', gtin: '96385074' })
    const labels = async (fields: Record<string, string>) => {
      const { html } = await user.get(`/painel/catalogo/etiquetas?${new URLSearchParams({ formato: 'a4', ...fields })}`)
      return [...html.matchAll(/<svg width="66mm".*?<\/svg>/gs)].map(([svg]) => textIn(svg))
    }
    const [label, ...others] = await labels({ item: String(coffee) })
    expect(label)
      .to.include('Café 500 g')
      .and.include('R$ 18,90')
      .and.include('R$ 37,80 o kg')
      .and.match(/Loja [\w-]+/)
      .and.include('7891000100103')
    expect(others).to.deep.equal([])
    expect(await labels({ q: 'queijo', copias: '3' })).to.have.length(3)
    expect((await labels({ q: 'queijo' }))[0])
      .to.include('R$ 59,90 o kg')
      .and.include('96385074')
    const starts_at = new Date(Date.now() + 24 * 3600 * 1000).toISOString().slice(0, 16)
    const scheduled = act((await change({ q: 'café', change: '+10%', ending: '' }, { starts_at })).to)
    const [next] = await labels({ alteracao: scheduled.split('/').at(-1) as string })
    expect(next).to.include('R$ 20,79').and.include('R$ 41,58 o kg')
    for (const copias of ['0', '51', 'x'])
      expect((await user.get(`/painel/catalogo/etiquetas?formato=a4&q=queijo&copias=${copias}`)).status).to.equal(422)
  })

  it('chooses the items that a supplier has delivered [ITEM-1269]', async () => {
    const { coffee } = await shop()
    const supplier = (await company.post('/suppliers', { name: 'Torrefação' })).body.data.id as number
    expect(textIn((await user.get(PATH)).html)).not.to.include('Torrefação')
    const lines = [{ catalog_item_id: coffee, quantity: '1', factor: '1', cost: '12.00' }]
    await company.run(
      receiveGoods,
      ReceiveGoodsInput.parse({ supplier: { id: supplier }, lines, new_items: [], bills: [] }),
    )
    expect(textIn((await user.get(PATH)).html)).to.include('Torrefação')
    const { html } = await user.get(query({ supplier_id: String(supplier), change: '+5 %', ending: '' }))
    expect(ticksIn(html)).to.deep.equal([`${coffee}:18.90:19.85`])
  })
})
