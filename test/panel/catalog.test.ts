import { expect } from 'chai'
import { FOREIGN_IDS } from '../support/api.ts'
import { offlineSaleOf, openCounter, upload } from '../support/offline-sales.ts'
import { HOSTILE, hiddenFields, problemsIn, textIn, usePanelUser } from '../support/panel.ts'
import { openTill } from '../support/till.ts'

const PATH = '/painel/catalogo'

describe('panel: catalog', () => {
  const { api, company, user } = usePanelUser('owner')

  const create = (fields: Record<string, string>) =>
    user.submit(`${PATH}/novo`, { type: 'product', price: '1', ...fields }, PATH)
  const pathOf = (to: string | null) => (to ?? '').replace(/\?.*/, '')
  const inApi = async (path: string) => (await company.get(path.replace(PATH, '/catalog/items'))).body.data
  const item = async (fields: object) => (await company.post('/catalog/items', { price: '1.00', ...fields })).body.data
  const category = async (name: string) => (await company.post('/catalog/categories', { name })).body.data.id as number
  const list = async (query = '') => textIn((await user.get(`${PATH}${query}`)).html.split('id="lista"')[1] ?? '')

  it('creates an item from Brazilian notation, with category and stock', async () => {
    const category_id = await category('Bebidas')
    const fields = {
      name: 'Café',
      price: '1.234,5',
      cost: 'R$ 900',
      unit: 'KG',
      barcode: '789',
      sku: 'CF',
      gtin: '7891234567895',
      ncm: '0901.21.00',
      cest: '17.096.00',
      stock: '1.500',
    }
    const { status, to } = await create({ ...fields, category_id: String(category_id) })
    expect(status).to.equal(303)
    const path = pathOf(to)
    expect(await inApi(path)).to.deep.include({
      ...{ name: 'Café', type: 'product', price: '1234.50', cost: '900.00', unit: 'KG', barcode: '789', sku: 'CF' },
      ...{ gtin: '7891234567895', ncm: '09012100', cest: '1709600' },
      ...{ category_id, category_name: 'Bebidas', stock: '1500.000' },
    })
    const shown = textIn((await user.get(to ?? '')).html)
    for (const text of [
      'Cadastro criado.',
      'R$ 1.234,50',
      'R$ 900,00',
      '1.500 KG',
      '09012100',
      'Bebidas',
      'Item criado',
      'Painel',
    ])
      expect(shown).to.include(text)
  })

  it('lists deactivated items, and reactivates them unless their barcode is taken', async () => {
    const category_id = await category('Bebidas')
    const { id } = await item({ name: 'Café', barcode: '789', category_id, stock: '3' })
    await company.call('DELETE', `/catalog/items/${id}`)
    await company.call('DELETE', `/catalog/categories/${category_id}`)
    expect(await list()).to.include('Nenhum item encontrado.')
    expect(await list('?state=inactive&q=café'))
      .to.include('1 item')
      .and.include('Reativar')
    const other = await item({ name: 'Chá', barcode: '789' })
    const again = () => user.submit(`${PATH}?state=inactive`, {}, `${PATH}/${id}/reativar`)
    expect((await again()).status).to.equal(409)
    await company.call('DELETE', `/catalog/items/${other.id}`)
    expect((await again()).to).to.equal(`${PATH}/${id}?feito=item-reativado`)
    expect(await inApi(`${PATH}/${id}`)).to.deep.include({ barcode: '789', category_id: null, stock: '3.000' })
    expect((await company.post(`/catalog/items/${id}/reactivate`)).status).to.equal(200)
  })

  it('creates one item for repeated submissions [PANEL-10]', async () => {
    const { html } = await user.get(`${PATH}/novo`)
    const form = { ...hiddenFields(html, PATH), name: 'Café', type: 'product', price: '1' }
    expect((await user.post(PATH, form)).to).to.equal((await user.post(PATH, form)).to)
    expect((await company.get('/catalog/items')).body.data).to.have.length(1)
  })

  it('names invalid or taken fields, and changes nothing [PANEL-12]', async () => {
    const { status, html } = await create({ name: '', price: '1,234', stock: '-1' })
    expect(status).to.equal(422)
    expect(problemsIn(html)).to.deep.equal([
      'Confira os campos indicados.',
      'Nome: preencha este campo',
      'Preço de venda (R$): informe um valor válido, por exemplo 1.234,50',
      'Estoque inicial: informe uma quantidade válida, por exemplo 1,5',
    ])
    expect(html).to.include('value="1,234"')
    expect(problemsIn((await create({ name: 'Frete', type: 'service', stock: '1' })).html)).to.include(
      'Estoque inicial: um serviço não tem estoque',
    )
    await item({ name: 'Chá', barcode: '789' })
    const taken = await create({ name: 'Café', barcode: '789' })
    expect(taken.status).to.equal(409)
    expect(problemsIn(taken.html)).to.include('Código de barras: já existe um cadastro com este valor')
    expect((await company.get('/catalog/items')).body.data).to.have.length(1)
  })

  it('changes the fields of an item, but never its stock, which concurrent sales change', async () => {
    const { id } = await item({ name: 'Café', stock: '5', category_id: await category('Bebidas') })
    const edit = `${PATH}/${id}/editar`
    const { html } = await user.get(edit)
    expect(html).not.to.include('name="stock"')
    await company.call('PATCH', `/catalog/items/${id}`, { stock_adjustment: '-2' })
    const form = { ...hiddenFields(html, edit), name: 'Café forte', type: 'product', price: '2,5', category_id: '' }
    expect((await user.post(edit, { ...form, stock: '5' })).to).to.equal(`${PATH}/${id}?feito=alterado`)
    const changed = await inApi(`${PATH}/${id}`)
    expect(changed).to.deep.include({ name: 'Café forte', price: '2.50', category_id: null, stock: '3.000' })
  })

  it('deactivates after confirmation, once', async () => {
    const { id } = await item({ name: 'Café' })
    const at = `${PATH}/${id}/excluir`
    const { html } = await user.get(at)
    expect(textIn(html)).to.include('Desativar Café').and.to.include('deixa de aparecer')
    for (let n = 0; n < 2; n++)
      expect((await user.post(at, hiddenFields(html, at))).to).to.equal(`${PATH}?feito=item-desativado`)
    expect((await user.get(`${PATH}/${id}`)).status).to.equal(404)
    expect(await list()).to.include('Nenhum item encontrado.')
  })

  it('lists by name, with pages', async () => {
    for (let n = 0; n < 52; n++) await item({ name: `Item ${99 - n}` })
    const first = (await user.get(PATH)).html
    expect(textIn(first)).to.match(/Item 48 .*Item 49 .*Item 97 /)
    const next = /href="([^"]+)" rel="next"/.exec(first)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(textIn((await user.get(next)).html))
      .to.match(/Item 98 .*Item 99 /)
      .and.not.to.include('Item 97')
  })

  it('filters items by name, code, category, type and missing stock', async () => {
    const category_id = await category('Bebidas')
    await item({ name: 'Café', barcode: '789', category_id, stock: '0' })
    await item({ name: 'Chá', sku: 'CH', stock: '2.5', unit: 'KG' })
    const { id } = await item({ name: 'Leite', external_id: 'L-1', stock: '1' })
    await item({ name: 'Frete', type: 'service' })
    const all = ['Café', 'Chá', 'Leite', 'Frete']
    const found = async (query: string) => {
      const text = await list(query)
      return all.filter((name) => text.includes(name))
    }
    expect(await found('?q=C')).to.deep.equal(['Café', 'Chá'])
    expect(await found('?q=789')).to.deep.equal(['Café'])
    expect(await found('?q=ch')).to.deep.equal(['Chá'])
    expect(await found('?q=l-1')).to.deep.equal(['Leite'])
    expect(await found(`?category_id=${category_id}&type=product`)).to.deep.equal(['Café'])
    expect(await found('?type=service')).to.deep.equal(['Frete'])
    await oversell(id)
    expect(await found('?out_of_stock=on')).to.deep.equal(['Café', 'Leite'])
    for (const text of ['Sem estoque', '2,5 KG', 'Negativo: −1', 'Não controla estoque'])
      expect(await list()).to.include(text)
  })

  /** An offline till sells more than is in stock. */
  async function oversell(id: number) {
    const till = await openTill(api.url, company)
    const payments = [{ payment_type_id: await company.paymentType('cash'), amount: 2, status: 'completed' }]
    const items = [{ product_id: id, quantity: 2, price: 1, total: 2 }]
    await upload(till, [offlineSaleOf({ total: 2, amount_received: 2, items, payments })])
  }

  it('records receipts, withdrawals and counts of stock as events of their own', async () => {
    const { id } = await item({ name: 'Café', stock: '5' })
    const move = (movement: string, quantity: string, reason = '') =>
      user.submit(`${PATH}/${id}`, { movement, quantity, reason }, `${PATH}/${id}/estoque`)
    const stock = async () => (await inApi(`${PATH}/${id}`)).stock
    expect((await move('in', '1.000,5')).to).to.equal(`${PATH}/${id}?feito=estoque`)
    expect(await stock()).to.equal('1005.500')
    await move('out', '1.000')
    expect(await stock()).to.equal('5.500')
    await move('count', '7')
    expect(await stock()).to.equal('7.000')
    await move('loss', '2', 'Quebra')
    expect(await stock()).to.equal('5.000')
    await move('untrack', '')
    expect(await stock()).to.equal(null)
    const untracked = (await user.get(`${PATH}/${id}`)).html
    expect(textIn(untracked)).to.include('Não controla estoque').and.not.to.include('Entrada Saída')
    await move('count', '0')
    expect(await stock()).to.equal('0.000')
    const last = textIn((await user.get(`${PATH}/${id}`)).html)
    for (const text of ['Inventário', '+5 5', 'Entrada', '+1.000,5 1.005,5', 'Saída', '−1.000 5,5', 'Perda', '−2 5'])
      expect(last).to.include(text)
    const { body } = await company.get(`/catalog/items/${id}/movements`)
    expect(body.data.map(({ kind }: { kind: string }) => kind)).to.deep.equal([
      'count',
      'purchase',
      'adjustment',
      'count',
      'loss',
      'count',
      'count',
    ])
  })

  it('shows the stock history sale by sale, beyond the entries of the row', async () => {
    const counter = await openCounter(company, '500')
    await Promise.all(Array.from({ length: 66 }, () => counter.sell()))
    const at = `${PATH}/${counter.product}`
    const sold = (html: string) =>
      [...html.matchAll(/href="\/painel\/vendas\/(\d+)">Venda/g)].map(([, id]) => Number(id))
    const pages: number[][] = []
    for (let to = at; to !== ''; ) {
      const { html } = await user.get(to)
      pages.push(sold(html))
      to = /href="([^"#]+estoque=[^"#]+)#movimentacao" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? ''
      if (to === '') expect(textIn(html)).to.include('−2 498').and.to.include('+500 500')
    }
    expect(pages.flat()).to.deep.equal(Array.from({ length: 66 }, (_, n) => 66 - n))
    expect(pages.length).to.be.above(1)
  })

  it('records the cost and the document of a purchase, and shows them to owners', async () => {
    const { id } = await item({ name: 'Café', stock: '5', cost: '1.00' })
    const at = `${PATH}/${id}`
    const fields = { movement: 'in', quantity: '2', unit_cost: '3,25', document: 'NF 4711', reason: 'Reposição' }
    expect((await user.submit(at, fields, `${at}/estoque`)).to).to.equal(`${at}?feito=estoque`)
    expect(await inApi(at)).to.include({ stock: '7.000', cost: '3.25' })
    const text = textIn((await user.get(at)).html)
    for (const shown of ['NF 4711: Reposição', 'R$ 3,25', '+2 7']) expect(text).to.include(shown)
    const wrong = await user.submit(at, { ...fields, movement: 'loss' }, `${at}/estoque`)
    expect(problemsIn(wrong.html)).to.include('Custo unitário (R$): só vale para uma entrada')
    expect((await inApi(at)).stock).to.equal('7.000')
  })

  it('lists all movements, filtered, with their items, as a page and as a file', async () => {
    const [coffee, tea] = [await item({ name: 'Café', stock: '5' }), await item({ name: 'Chá', stock: '3' })]
    await company.post('/stock/movements', { catalog_item_id: tea.id, kind: 'loss', quantity: '1', reason: 'molhou' })
    const page = textIn((await user.get(`${PATH}/movimentacao`)).html)
    expect(page).to.match(/Chá .*Perda .*molhou .*−1 2.*Chá .*Inventário .*\+3 3.*Café .*\+5 5/)
    const losses = textIn((await user.get(`${PATH}/movimentacao?kind=loss`)).html)
    expect(losses).to.include('molhou').and.not.to.include('+3')
    const file = (await user.get(`${PATH}/movimentacao.csv?catalog_item_id=${tea.id}`)).html
    expect(file).to.include('Perda').and.to.include('Chá').and.not.to.include('Café')
    expect(file.trim().split('\n')).to.have.length(3)
    expect(coffee.id).not.to.equal(tea.id)
  })

  it('refuses invalid stock movements, and leaves the stock unchanged', async () => {
    const { id } = await item({ name: 'Café', stock: '5' })
    const at = `${PATH}/${id}`
    const move = (fields: Record<string, string>) => user.submit(at, fields, `${at}/estoque`)
    const short = await move({ movement: 'out', quantity: '5,001' })
    expect(short.status).to.equal(422)
    expect(problemsIn(short.html)).to.deep.equal(['Estoque insuficiente: nada foi registrado. Há 5.'])
    expect(short.html).to.include('value="5,001"')
    const problems = async (fields: Record<string, string>) => problemsIn((await move(fields)).html).slice(1)
    expect(await problems({ movement: 'in', quantity: '' })).to.deep.equal(['Quantidade: preencha este campo'])
    expect(await problems({ movement: 'in', quantity: '0' })).to.deep.equal(['Quantidade: deve ser maior que zero'])
    expect(await problems({ movement: 'count', quantity: '-1' })).to.have.length(1)
    expect(await problems({ movement: 'perdido', quantity: '1' })).to.have.length(1)
    expect(await problems({ movement: 'in', quantity: '999999999' })).to.deep.equal([
      'Quantidade: o estoque resultante é grande demais',
    ])
    expect((await inApi(at)).stock).to.equal('5.000')
  })

  it('moves stock once for repeated submissions [PANEL-10]', async () => {
    const { id } = await item({ name: 'Café', stock: '5' })
    const to = `${PATH}/${id}/estoque`
    const form = { ...hiddenFields((await user.get(`${PATH}/${id}`)).html, to), movement: 'in', quantity: '2' }
    for (let n = 0; n < 2; n++) expect((await user.post(to, form)).status).to.equal(303)
    expect((await inApi(`${PATH}/${id}`)).stock).to.equal('7.000')
  })

  it('offers no stock form for a service', async () => {
    const { id } = await item({ name: 'Frete', type: 'service' })
    const { html } = await user.get(`${PATH}/${id}`)
    expect(html).not.to.include('/estoque"')
    const key = hiddenFields((await user.get(`${PATH}/${id}/editar`)).html, `${PATH}/${id}/editar`)
    const forced = await user.post(`${PATH}/${id}/estoque`, { ...key, movement: 'count', quantity: '1' })
    expect(forced.status).to.equal(422)
  })

  it('shows an item at an earlier revision with its stock, without actions', async () => {
    const { id } = await item({ name: 'Café', stock: '5' })
    const { headers } = await company.get('/me')
    await company.call('PATCH', `/catalog/items/${id}`, { name: 'Chá', stock: '9' })
    const at = `em=${headers.get('x-ledger-revision')}`
    const { html } = await user.get(`${PATH}/${id}?${at}`)
    expect(textIn(html)).to.match(/Café .*Estoque 5 /)
    expect(html).not.to.include('/estoque"').and.not.to.include('/editar')
    expect(textIn((await user.get(`${PATH}?${at}&name=caf`)).html))
      .to.include('Café')
      .and.not.to.include('Chá')
  })

  it('escapes markup in every field', async () => {
    const category_id = await category(HOSTILE.slice(0, 80))
    const { id } = await item({ name: HOSTILE, sku: HOSTILE.slice(0, 60), unit: '<b>"\'', category_id, stock: '0' })
    const asked = encodeURIComponent(HOSTILE)
    const pages = [
      PATH,
      `${PATH}/${id}`,
      `${PATH}/${id}/editar`,
      `${PATH}/categorias`,
      `${PATH}/categorias/${category_id}`,
    ]
    for (const page of [...pages, `${PATH}?q=${asked}&category_id=${asked}`]) {
      const { html, status } = await user.get(page)
      expect(status, page).to.equal(200)
      expect(html, page).to.include('&lt;script>')
      expect(html, page).not.to.include('<script>alert').and.not.to.include('<img').and.not.to.include('<b>')
    }
  })

  it('tolerates arbitrary filter values', async () => {
    await item({ name: 'Café' })
    for (const query of [
      '?name=%02',
      '?category_id=0',
      '?category_id=9e99',
      '?type=x',
      '?cursor=x',
      `?name=${'x'.repeat(300)}`,
    ])
      expect((await user.get(`${PATH}${query}`)).status, query).to.equal(200)
    expect(await list('?category_id=abc')).to.include('Nenhum item encontrado.')
  })

  it('responds alike for records of another company and missing ones', async () => {
    const other = await api.company({ idsFrom: FOREIGN_IDS })
    const { id } = (await other.post('/catalog/items', { name: 'De outra', price: '1.00', stock: '1' })).body.data
    for (const page of [`${PATH}/${id}`, `${PATH}/${id}/editar`, `${PATH}/${id}/excluir`])
      expect((await user.get(page)).status, page).to.equal(404)
    const own = (await item({ name: 'Meu' })).id
    const key = hiddenFields((await user.get(`${PATH}/${own}/excluir`)).html, `${PATH}/${own}/excluir`)
    for (const page of ['excluir', 'editar', 'estoque'])
      expect((await user.post(`${PATH}/${id}/${page}`, { ...key, movement: 'count', quantity: '9' })).status).to.equal(
        404,
      )
    expect((await other.get(`/catalog/items/${id}`)).body.data).to.include({ stock: '1.000', name: 'De outra' })
    const foreign = (await other.post('/catalog/categories', { name: 'Alheia' })).body.data.id
    expect((await user.get(`${PATH}/categorias/${foreign}`)).status).to.equal(404)
    expect(problemsIn((await create({ name: 'Café', category_id: String(foreign) })).html)).to.include(
      'Categoria: categoria não encontrada',
    )
  })

  describe('categories', () => {
    const AT = `${PATH}/categorias`

    it('are created, listed by name, and linked to their items', async () => {
      await category('Doces')
      const { to } = await user.submit(`${AT}/novo`, { name: 'Bebidas', external_id: 'B' }, AT)
      const shown = (await user.get(to ?? '')).html
      for (const text of ['Cadastro criado.', 'Bebidas', 'Categoria criada']) expect(textIn(shown)).to.include(text)
      const id = /categorias\/(\d+)/.exec(to ?? '')?.[1]
      expect(shown).to.include(`href="${PATH}?category_id=${id}"`)
      expect(textIn((await user.get(AT)).html)).to.match(/Bebidas B Doces/)
      expect(textIn((await user.get(`${AT}?name=doc`)).html))
        .to.include('Doces')
        .and.not.to.include('Bebidas')
    })

    it('are renamed, and deleted after confirmation, which leaves their items without one [ITEM-8]', async () => {
      const id = await category('Bebidas')
      await item({ name: 'Café', category_id: id })
      await user.submit(`${AT}/${id}/editar`, { name: 'Sucos' })
      expect(await list())
        .to.include('Sucos')
        .and.not.to.include('Bebidas')
      await user.submit(`${AT}/${id}/excluir`, {})
      expect((await user.get(`${AT}/${id}`)).status).to.equal(404)
      expect(await list())
        .to.include('Café')
        .and.not.to.include('Sucos')
    })

    it('require unique names', async () => {
      await category('Doces')
      const { status, html } = await user.submit(`${AT}/novo`, { name: ' doces ' }, AT)
      expect(status).to.equal(409)
      expect(problemsIn(html)).to.include('Nome: já existe um cadastro com este valor')
    })
  })
})
