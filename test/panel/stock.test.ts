import { expect } from 'chai'
import { adjustRole } from '#commands/user-commands.ts'
import { hiddenFields, panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'

const PATH = '/painel/catalogo'

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
      for (const path of [`${PATH}/${id}`, `${PATH}/movimentacao`]) {
        const { status, html } = await reader.get(path)
        expect(status, `${role} ${path}`).to.equal(200)
        expect(textIn(html)).to.include('sale/5').and.include('sale/x')
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
      .and.to.match(/Arroz 18,5 KG .* 20 −1,5/)
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
    expect(await textOf(path)).to.match(/Variações .*P \/ Azul .*M \/ Preto/)
    expect(await textOf(`${PATH}/${found[0].id}`))
      .to.include('P / Azul')
      .and.include(`Produto ${id}`)
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
