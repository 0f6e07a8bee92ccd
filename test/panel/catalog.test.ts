import { expect } from 'chai'
import { adjustRole } from '#commands/role-commands.ts'
import { offlineSaleOf, openCounter, upload } from '../support/offline-sales.ts'
import { HOSTILE, hiddenFields, panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'
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
    expect(await list()).to.include('Nenhum item ainda')
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
    expect(await list()).to.include('Nenhum item ainda')
  })

  it('lists by name, with pages', async () => {
    const items = Array.from({ length: 52 }, (_, n) => ({
      external_id: `i${n}`,
      name: `Item ${99 - n}`,
      price: '1.00',
    }))
    await company.post('/catalog/items/batch', { items })
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
    const { id } = await item({ name: 'Café', stock: '5', unit: 'UN' })
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
    const last = textIn((await user.get(`${PATH}/movimentacao?catalog_item_id=${id}`)).html)
    for (const text of [
      'Inventário',
      '+5 UN 5 UN',
      'Entrada',
      '+1.000,5 UN 1.005,5 UN',
      '−1.000 UN 5,5 UN',
      'Perda',
      '−2 UN 5 UN',
    ])
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
      if (to === '') expect(textIn(html)).to.include('+500 500')
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
  })
})

describe('panel: stock', () => {
  const { api, company, user } = usePanelUser('owner')

  const item = async (fields: object) => {
    const reply = await company.post('/catalog/items', { price: '10.00', ...fields })
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data
  }
  const textOf = async (path: string) => textIn((await user.get(path)).html)

  it('lists what runs out, with its minimum and the days that it lasts, as a page and a file', async () => {
    const milk = await item({ name: 'Leite', unit: 'UN', stock: '16', min_stock: '10' })
    await item({ name: 'Mel', stock: '9', min_stock: '5' })
    await company.post('/sales', {
      items: [{ catalog_item_id: milk.id, quantity: '10' }],
      payments: [{ payment_type_id: await company.paymentType('cash'), amount: '100.00' }],
    })
    const page = await textOf(`${PATH}/reposicao`)
    expect(page)
      .to.match(/1 produto acabando.*Leite 6 UN 10 UN 10 UN 18 dias/)
      .and.not.to.include('Mel')
    expect(await textOf(`${PATH}/reposicao?q=mel`)).to.include('Nenhum produto acabando.')
    expect((await user.get(`${PATH}/reposicao.csv`)).html).to.match(/Leite;;UN;6,000;10,000;10,000;18/)
    expect(await textOf(`${PATH}/${milk.id}`)).to.include('O estoque dura 18 dias')
    expect(await textOf(`${PATH}?low_stock=on`))
      .to.include('Leite')
      .and.not.to.include('Mel')
    expect(await textOf('/painel')).to.include('1 produto acabando')
  })

  it('shows a typed document as text, also to those who see their own sales only [STOCK-740]', async () => {
    const { id } = await item({ name: 'Leite', stock: '9' })
    for (const document of ['sale/x', 'sale/5', 'return/9999999999999999999999', 'order/7', 'inventory/1'])
      for (const kind of ['purchase', 'count'])
        await company.post('/stock/movements', { catalog_item_id: id, kind, quantity: '1', document })
    for (const role of ['clerk', 'owner'] as const) {
      const reader = await panelUser(api, company, role)
      for (const [path, typed] of [
        [`${PATH}/${id}`, 'inventory/1'],
        [`${PATH}/movimentacao`, 'sale/5'],
      ] as const) {
        const { status, html } = await reader.get(path)
        expect(status, `${role} ${path}`).to.equal(200)
        expect(textIn(html)).to.include(typed).and.include('order/7')
        expect(html).not.to.match(/href="[^"]*\/(?:vendas|pedidos|inventarios)\/[0-9]/)
      }
    }
    const { data } = (await company.get(`/catalog/items/${id}/movements`)).body
    expect(data.at(-1)).to.include({ document: 'inventory/1', record: null })
  })

  it('takes a minimum in the form of an item', async () => {
    const fields = { type: 'product', name: 'Chá', price: '1', min_stock: '2,5' }
    const { to } = await user.submit(`${PATH}/novo`, fields, PATH)
    const { body } = await company.get((to ?? '').replace(PATH, '/catalog/items').replace(/\?.*/, ''))
    expect(body.data.min_stock).to.equal('2.500')
  })

  it('demands the reason of a loss, and shows it', async () => {
    const { id } = await item({ name: 'Copo', stock: '5' })
    const lose = (reason: string) =>
      user.submit(`${PATH}/${id}`, { movement: 'loss', quantity: '1', reason }, `${PATH}/${id}/estoque`)
    expect(problemsIn((await lose('')).html)).to.deep.include('Motivo: informe o motivo da perda')
    expect((await lose('Quebra')).status).to.equal(303)
    expect(await textOf(`${PATH}/${id}`)).to.match(/Perda Quebra .*−1 4/)
  })

  it('marks prices of zero and below cost and fractions of pieces, and hides costs from clerks [PANEL-532]', async () => {
    const free = await item({ name: 'Brinde', price: '0.00' })
    const lossy = await item({ name: 'Isca', price: '6.00', cost: '8.00', unit: 'UN', stock: '1.5' })
    const good = await item({ name: 'Pão', price: '10.00', cost: '6.00' })
    expect(await textOf(`${PATH}/${free.id}`)).to.include('R$ 0,00: preço zerado')
    const shown = await textOf(`${PATH}/${lossy.id}`)
    expect(shown).to.include('R$ 6,00: abaixo do custo').and.include('1,5 UN (não inteira)')
    const worst = await item({ name: 'Erro', price: '0.01', cost: '9999999999.99' })
    expect(await textOf(`${PATH}/${worst.id}`)).to.include('(-99.999.999.999.800,00%)')
    expect(await textOf(`${PATH}/${good.id}`)).to.include('Margem R$ 4,00 (40,00%)')
    expect(await textOf(`${PATH}/${good.id}/editar`)).to.include('Margem: R$ 4,00 (40,00%)')
    const clerk = await panelUser(api, company, 'clerk')
    for (const path of [PATH, `${PATH}/${lossy.id}`]) {
      const seen = textIn((await clerk.get(path)).html)
      expect(seen).to.include('R$ 6,00').and.not.to.include('abaixo do custo').and.not.to.include('Margem')
    }
  })

  const inventory = async () => {
    const { to } = await user.submit(`${PATH}/inventarios/novo`, { name: 'Mercearia' }, `${PATH}/inventarios`)
    return (to ?? '').replace(/\?.*/, '')
  }

  it('counts an inventory by a scanner and by a list, and applies it after a confirmation', async () => {
    const soap = await item({ name: 'Sabão', barcode: '7891234567895', stock: '5' })
    const rice = await item({ name: 'Arroz', external_id: 'ARROZ', unit: 'KG', stock: '20' })
    const at = await inventory()
    const scan = (code: string) => user.submit(at, { code, quantity: '', mode: 'add' }, `${at}/contar`)
    for (let n = 0; n < 3; n++) expect((await scan('7891234567895')).to).to.equal(`${at}?feito=contado`)
    const lines = '7891234567895;1\nARROZ\t18,5'
    expect((await user.submit(at, { lines, mode: 'add' }, `${at}/lista`)).status).to.equal(303)
    const shown = await textOf(at)
    expect(shown)
      .to.match(/Sabão 4 .* 5 −1/)
      .and.to.match(/Arroz 18,5 KG .* 20 KG −1,5 KG/)
    expect((await user.get(`${at}/contagens.csv`)).html).to.match(/Arroz;\d+;KG;18,500;.*;20,000;-1,500/)
    await user.submit(at, { item: String(rice.id) }, `${at}/retirar`)
    expect(await textOf(at)).not.to.include('Arroz')
    const confirmation = `${at}/aplicar`
    expect((await user.submit(confirmation, {}, confirmation)).to).to.equal(`${at}?feito=inventario-aplicado`)
    expect((await company.get(`/catalog/items/${soap.id}`)).body.data.stock).to.equal('4.000')
    expect((await company.get(`/catalog/items/${rice.id}`)).body.data.stock).to.equal('20.000')
    expect(await textOf(`${PATH}/${soap.id}`)).to.match(/Inventário nº \d+ .*−1 4/)
    expect(await textOf(at))
      .to.include('Aplicado ao estoque')
      .and.not.to.include('Contar um produto')
  })

  it('says which codes and lines of a list are wrong, and counts nothing of it', async () => {
    await item({ name: 'Sabão', barcode: '7891234567895', stock: '5' })
    const at = await inventory()
    const wrong = await user.submit(at, { lines: '7891234567895;1\nX;2', mode: 'add' }, `${at}/lista`)
    expect(wrong.status).to.equal(422)
    expect(problemsIn(wrong.html).join()).to.include('X: item não encontrado no catálogo')
    const unread = await user.submit(at, { lines: 'X;dois', mode: 'add' }, `${at}/lista`)
    expect(problemsIn(unread.html).join()).to.include('linha 1: escreva o código e uma quantidade como 1,5')
    const unknown = await user.submit(at, { code: 'X', quantity: '1', mode: 'set' }, `${at}/contar`)
    expect(problemsIn(unknown.html).join()).to.include('item não encontrado no catálogo')
    expect(await textOf(at)).to.include('Nada contado ainda.')
  })

  it('takes a picture of an item, shows it and deletes it; another file is refused', async () => {
    const { id } = await item({ name: 'Café' })
    const path = `${PATH}/${id}`
    const send = async (bytes: Buffer) => {
      const { html } = await user.get(path)
      const form = new FormData()
      for (const [name, value] of Object.entries(hiddenFields(html, `${path}/imagem`))) form.set(name, value)
      form.set('file', new Blob([new Uint8Array(bytes)]), 'foto.webp')
      const body = new Response(form)
      return fetch(`${api.url}${path}/imagem`, {
        method: 'POST',
        redirect: 'manual',
        headers: {
          cookie: user.cookie() ?? '',
          origin: api.url,
          'content-type': body.headers.get('content-type') ?? '',
        },
        body: Buffer.from(await body.arrayBuffer()),
      })
    }
    const webp = Buffer.from('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==', 'base64')
    const wrong = await send(Buffer.from('GIF89a, que não é WebP'))
    expect([wrong.status, textIn(await wrong.text())].join(' '))
      .to.include('422')
      .and.include('A imagem deve ser uma imagem WebP.')
    expect((await send(webp)).status).to.equal(303)
    const url = (await company.get(`/catalog/items/${id}`)).body.data.picture_url
    expect((await user.get(path)).html).to.include(`src="${url}"`)
    await user.submit(path, {}, `${path}/imagem/excluir`)
    expect((await company.get(`/catalog/items/${id}`)).body.data.picture_url).to.equal(null)
  })

  it('creates a variant for every size in every colour, with the product’s cost for every role [ITEM-123]', async () => {
    const { id } = await item({ name: 'Camiseta', price: '49.90', cost: '20.00', unit: 'UN', ncm: '61091000' })
    const path = `${PATH}/${id}`
    const send = (sizes: string, colors: string) => user.submit(path, { sizes, colors }, `${path}/variacoes`)
    const variants = async () => (await company.get(`/catalog/items/${id}/variants`)).body.data
    expect((await send('P, M', 'Azul,Preto')).to).to.equal(`${path}?feito=variacoes`)
    expect(await variants()).to.have.length(4)
    await send('P', 'azul, Verde')
    const found = await variants()
    expect(found.map(({ name }: { name: string }) => name)).to.deep.equal([
      'Camiseta P Azul',
      'Camiseta P Preto',
      'Camiseta M Azul',
      'Camiseta M Preto',
      'Camiseta P Verde',
    ])
    expect(found[0]).to.deep.include({ price: '49.90', cost: '20.00', unit: 'UN', ncm: '61091000', stock: '0.000' })
    expect(await textOf(path)).to.match(/Variações .*Cor P M Azul P \/ Azul: .*M \/ Azul: .*Preto P \/ Preto: /)
    expect(await textOf(`${PATH}/${found[0].id}`))
      .to.include('P / Azul')
      .and.include('Variação de Camiseta ')
    await company.run(adjustRole, {
      role: 'clerk',
      permissions: ['edit_catalog'],
      return_limit: '0.00',
      discount_limit: '0.00',
    })
    const clerk = await panelUser(api, company, 'clerk')
    await clerk.submit(path, { sizes: 'G', colors: '' }, `${path}/variacoes`)
    expect((await variants()).at(-1)).to.include({ name: 'Camiseta G', cost: '20.00' })
    expect(problemsIn((await send('', '')).html).join()).to.include('informe ao menos um tamanho ou uma cor')
    const many = Array.from({ length: 101 }, (_, n) => `T${n}`).join(',')
    expect(problemsIn((await send(many, '')).html).join()).to.include('no máximo 100 variações')
  })
})

describe('panel: stock taking', () => {
  const { company, user } = usePanelUser('manager')

  it('names each count, lists unknown codes, and shows differences with their value before they apply', async () => {
    const item = { name: 'Café', price: '9.00', cost: '6.00', stock: '5', barcode: '7891234567895', unit: 'UN' }
    await company.post('/catalog/items', item)
    const { id } = (await company.post('/stock/inventories', { name: 'Novembro' })).body.data
    const path = `/painel/catalogo/inventarios/${id}`
    const scan = (code: string) => user.submit(path, { code, mode: 'add' }, `${path}/contar`)
    const unknown = await scan('999')
    expect(unknown.status).to.equal(422)
    expect(textIn(unknown.html)).to.include('Códigos fora do catálogo, não contados: 999')
    expect(unknown.html).not.to.match(/<input[^>]*(name="code"[^>]*value="999"|value="999"[^>]*name="code")/)
    for (const _ of [1, 2]) await scan('7891234567895')
    expect(textIn((await user.get(path)).html)).to.include('Última contagem: Café , total 2 UN.')
    const apply = textIn((await user.get(`${path}/aplicar`)).html)
    expect(apply).to.include('1 produto com diferença, −R$ 18,00').and.to.include('Café −3 UN −R$ 18,00')
  })
})
