import { expect } from 'chai'
import { startApi, type TestApi, type TestCompany } from '../../support/api.ts'
import { useDatabase } from '../../support/database.ts'
import { hiddenFields, type PanelUser, panelUser, problemsIn, textIn } from '../../support/panel.ts'

const HOSTILE = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`
const PATH = '/painel/catalogo'

describe('panel: catalog', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let user: PanelUser

  before(async () => {
    api = await startApi(database.url)
  })
  beforeEach(async () => {
    company = await api.company()
    user = await panelUser(api, company, 'clerk')
  })
  after(() => api.close())

  const create = (fields: Record<string, string>) =>
    user.submit(`${PATH}/novo`, { type: 'product', price: '1', ...fields }, PATH)
  const pathOf = (to: string | null) => (to ?? '').replace(/\?.*/, '')
  const inApi = async (path: string) => (await company.get(path.replace(PATH, '/catalog/items'))).body.data
  const item = async (fields: object) => (await company.post('/catalog/items', { price: '1.00', ...fields })).body.data
  const category = async (name: string) => (await company.post('/catalog/categories', { name })).body.data.id as number
  const list = async (query = '') => textIn((await user.get(`${PATH}${query}`)).html.split('id="lista"')[1] ?? '')

  it('creates what is typed as people type it, with its category and its stock', async () => {
    const category_id = await category('Bebidas')
    const fields = { name: 'Café', price: '1.234,5', cost: 'R$ 900', unit: 'KG', barcode: '789', sku: 'CF', stock: '1.500' }
    const { status, to } = await create({ ...fields, category_id: String(category_id) })
    expect(status).to.equal(303)
    const path = pathOf(to)
    expect(await inApi(path)).to.deep.include({
      ...{ name: 'Café', type: 'product', price: '1234.50', cost: '900.00', unit: 'KG', barcode: '789', sku: 'CF' },
      ...{ category_id, category_name: 'Bebidas', stock: '1500.000' },
    })
    const shown = textIn((await user.get(to ?? '')).html)
    for (const text of ['Cadastro criado.', 'R$ 1.234,50', 'R$ 900,00', '1.500 KG', 'Bebidas', 'Item criado', 'Ponto de venda'])
      expect(shown).to.include(text)
  })

  it('creates one item, however often the button is pressed', async () => {
    const { html } = await user.get(`${PATH}/novo`)
    const form = { ...hiddenFields(html, PATH), name: 'Café', type: 'product', price: '1' }
    expect((await user.post(PATH, form)).to).to.equal((await user.post(PATH, form)).to)
    expect((await company.get('/catalog/items')).body.data).to.have.length(1)
  })

  it('names the fields that are wrong, or taken, and changes nothing', async () => {
    const { status, html } = await create({ name: '', price: '1,234', stock: '-1' })
    expect(status).to.equal(422)
    expect(problemsIn(html)).to.deep.equal([
      'Confira os campos indicados.',
      'Nome: é obrigatório',
      'Preço de venda (R$): deve ser um valor em texto com exatamente duas casas decimais, como "10.00"',
      'Estoque inicial: deve ser uma quantidade em texto com até três casas decimais, como "1.500"',
    ])
    expect(html).to.include('value="1,234"')
    expect(problemsIn((await create({ name: 'Frete', type: 'service', stock: '1' })).html)).to.include(
      'Estoque inicial: um serviço não tem estoque',
    )
    await item({ name: 'Chá', barcode: '789' })
    const taken = await create({ name: 'Café', barcode: '789' })
    expect(taken.status).to.equal(409)
    expect(problemsIn(taken.html)).to.include('Código de barras: já é usado por outro registro')
    expect((await company.get('/catalog/items')).body.data).to.have.length(1)
  })

  it('changes the fields of an item, and never its stock, which sales change meanwhile', async () => {
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

  it('deactivates after asking, once', async () => {
    const { id } = await item({ name: 'Café' })
    const at = `${PATH}/${id}/excluir`
    const { html } = await user.get(at)
    expect(textIn(html)).to.include('Desativar: Café').and.to.include('deixa de aparecer')
    for (let n = 0; n < 2; n++) expect((await user.post(at, hiddenFields(html, at))).to).to.equal(`${PATH}?feito=desativado`)
    expect((await user.get(`${PATH}/${id}`)).status).to.equal(404)
    expect(await list()).to.include('Nenhum item encontrado.')
  })

  it('lists by name, with pages', async () => {
    for (let n = 0; n < 52; n++) await item({ name: `Item ${99 - n}` })
    const first = (await user.get(PATH)).html
    expect(textIn(first)).to.match(/Item 48 .*Item 49 .*Item 97 /)
    const next = /href="([^"]+)" rel="next"/.exec(first)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(textIn((await user.get(next)).html)).to.match(/Item 98 .*Item 99 /).and.not.to.include('Item 97')
  })

  it('finds items by name, code, category and type, and what is out of stock', async () => {
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
    expect(await found('?name=C')).to.deep.equal(['Café', 'Chá'])
    expect(await found('?code=789')).to.deep.equal(['Café'])
    expect(await found('?code=CH')).to.deep.equal(['Chá'])
    expect(await found('?code=L-1')).to.deep.equal(['Leite'])
    expect(await found(`?category_id=${category_id}&type=product`)).to.deep.equal(['Café'])
    expect(await found('?type=service')).to.deep.equal(['Frete'])
    const till = await company.paymentType('cash')
    await company.run((await import('../../../commands/sales/record-offline-sale.ts')).recordOfflineSale, oversold(id, till), 'pdv')
    expect(await found('?out_of_stock=on')).to.deep.equal(['Café', 'Leite'])
    for (const text of ['Sem estoque', '2,5 KG', 'Negativo: −1', 'Sem controle']) expect(await list()).to.include(text)
  })
})

function oversold(_id: number, _till: number): never {
  throw new Error('to do')
}
