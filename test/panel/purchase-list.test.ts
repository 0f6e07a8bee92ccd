import { expect } from 'chai'
import { ReceiveGoodsInput, receiveGoods, undoGoodsReceipt } from '#commands/receive-goods.ts'
import { adjustRole } from '#commands/role-commands.ts'
import { figuresIn } from '../figures/parse.ts'
import { plainText } from '../support/import-file.ts'
import { panelUser, usePanelUser } from '../support/panel.ts'

const PATH = '/painel/catalogo/lista-de-compras'

/** Addressee and text of the first message to send. */
function messageIn(html: string): [phone: string, text: string] {
  const [, phone = '', text = ''] = /wa\.me\/(\d*)\?text=([^"]*)/.exec(html) ?? []
  return [phone, decodeURIComponent(text)]
}

describe('panel: list of purchases', () => {
  const { api, company, user } = usePanelUser('owner')

  const create = async (fields: object): Promise<number> =>
    (await company.post('/catalog/items', { price: '5.00', unit: 'UN', ...fields })).body.data.id
  const receive = async (supplier_id: number, catalog_item_id: number) => {
    const lines = [{ catalog_item_id, quantity: '1', factor: '1', cost: '2.50' }]
    const input = ReceiveGoodsInput.parse({ supplier: { id: supplier_id }, new_items: [], bills: [], lines })
    return (await company.run(receiveGoods, input)).id
  }
  const sell = async (catalog_item_id: number, quantity: string) => {
    const total = (Number(quantity) * 5).toFixed(2)
    const sale = { items: [{ catalog_item_id, quantity }], payments: [{ payment_type_id: cash, amount: total }] }
    return (await company.post('/sales', sale)).body.data
  }
  let cash = 0
  beforeEach(async () => {
    cash = await company.paymentType('cash')
  })

  /** Two products of a supplier, one of none, one that lasts, and what is not counted or has variants. */
  async function shop() {
    const supplier = (await company.post('/suppliers', { name: 'Moinho', phone: '11987654321' })).body.data.id
    const rice = await create({ name: 'Arroz', stock: '30', cost: '1.00' })
    const sugar = await create({ name: 'Açúcar', stock: '1', min_stock: '10', unit: null })
    const ham = await create({ name: 'Presunto', stock: '1.5', unit: 'KG', cost: '30.00' })
    const salt = await create({ name: 'Sal', stock: '500', cost: '1.00' })
    await create({ name: 'Sem controle' })
    for (const item of [rice, sugar]) await receive(supplier, item)
    await sell(rice, '24')
    const { id } = await sell(rice, '4')
    const back = {
      items: [{ line: 0, quantity: '1' }],
      refunds: [{ payment_type_id: cash, amount: '5.00' }],
      reason: 'Trocou',
    }
    await company.post(`/sales/${id}/returns`, back, { 'idempotency-key': 'once' })
    await sell(ham, '1.25')
    await sell(salt, '3')
    return { supplier, rice, sugar, ham }
  }

  it('lists what runs out by its last supplier, with figures of the running out [STOCK-1331] [FIG-804]', async () => {
    const { supplier, rice, sugar, ham } = await shop()
    const { html } = await user.get(PATH)
    const figures = figuresIn(html)
    expect(figures).to.include({
      [`item/${rice}.vendido-30-dias`]: 27,
      [`item/${rice}.estoque`]: 4,
      [`item/${sugar}.vendido-30-dias`]: 0,
      [`item/${ham}.vendido-30-dias`]: 1.25,
      // 23 at 2.50, and 8 at 2.50; 1 at 30.00.
      [`fornecedor/${supplier}.total-a-comprar`]: 77.5,
      'fornecedor/0.total-a-comprar': 30,
    })
    const low = figuresIn((await user.get('/painel/catalogo/reposicao')).html)
    for (const [name, value] of Object.entries(low))
      if (name.startsWith('item/')) expect(figures[name], name).to.equal(value)
    const text = plainText(html)
    expect(text)
      .to.include('Moinho')
      .and.to.include('Sem fornecedor')
      .and.not.to.match(/Sal |Sem controle/)
    expect(text.indexOf('Moinho')).to.be.lessThan(text.indexOf('Presunto'))
    const [phone, message] = messageIn(html)
    expect(phone).to.equal('5511987654321')
    expect(message).to.match(/^Olá! Pedido de .+:\n• 8 Açúcar\n• 23 UN Arroz$/)
    expect((await user.get(`${PATH}.csv`)).html).to.include('Moinho;Arroz;UN;27,000;4,000;4;23,000;2,50;57,50')
  })

  it('follows typed quantities, keeps wrong ones, and records nothing [STOCK-1331]', async () => {
    const { supplier, rice, sugar } = await shop()
    const sums = async (fields: Record<string, string>) => user.submit(PATH, fields)
    const changed = await sums({ [`comprar-${rice}`]: '10', [`comprar-${sugar}`]: '' })
    expect(figuresIn(changed.html)).to.include({ [`fornecedor/${supplier}.total-a-comprar`]: 25 })
    expect(messageIn(changed.html)[1]).to.match(/:\n• 10 UN Arroz$/)
    const wrong = await sums({ [`comprar-${rice}`]: 'dez"><b>' })
    expect([wrong.status, plainText(wrong.html)].join(' ')).to.match(/^422 .*Informe uma quantidade válida.*: Arroz\./)
    expect(wrong.html).to.include('value="dez&quot;>').and.not.to.include('dez"><b>')
    expect(figuresIn((await user.get(PATH)).html)).to.include({ [`fornecedor/${supplier}.total-a-comprar`]: 77.5 })
  })

  it('is chosen by supplier, category, words and days, and leaves undone receipts out', async () => {
    const { supplier, rice, ham } = await shop()
    const shown = async (query: string) => Object.keys(figuresIn((await user.get(`${PATH}?${query}`)).html))
    expect(await shown(`supplier_id=${supplier}`)).to.include(`item/${rice}.estoque`)
    expect(await shown(`supplier_id=${supplier}`)).not.to.include(`item/${ham}.estoque`)
    expect(await shown('supplier_id=0'))
      .to.include(`item/${ham}.estoque`)
      .and.not.to.include(`item/${rice}.estoque`)
    expect(await shown('q=presu&days=60')).to.include(`item/${ham}.estoque`)
    expect(await shown('days=4')).not.to.include(`item/${rice}.estoque`)
    expect((await user.get(`${PATH}?days=366`)).status).to.equal(422)
    const other = (await company.post('/suppliers', { name: 'Atacado' })).body.data.id
    const last = await receive(other, rice)
    expect(await shown(`supplier_id=${other}`)).to.include(`item/${rice}.estoque`)
    await company.run(undoGoodsReceipt, { id: last })
    expect(await shown(`supplier_id=${other}`)).not.to.include(`item/${rice}.estoque`)
  })

  it('has a variant instead of its product', async () => {
    const shirt = await create({ name: 'Camisa', stock: '0' })
    const small = await create({
      name: 'Camisa P',
      stock: '2',
      min_stock: '5',
      parent_id: shirt,
      variant: { size: 'P' },
    })
    const names = Object.keys(figuresIn((await user.get(PATH)).html))
    expect(names).to.include(`item/${small}.estoque`).and.not.to.include(`item/${shirt}.estoque`)
  })

  it('shows no costs to a role that sees none, and is not for clerks', async () => {
    await shop()
    const limits = { return_limit: null, discount_limit: null }
    await company.run(adjustRole, { role: 'manager', permissions: ['see_all_sales', 'export'], ...limits })
    const manager = await panelUser(api, company, 'manager')
    const { html } = await manager.get(PATH)
    expect(plainText(html))
      .to.include('Arroz')
      .and.not.to.match(/custo|R\$|Moinho/i)
    expect((await manager.get(`${PATH}.csv`)).html).to.not.match(/custo|2,50/i)
    const clerk = await panelUser(api, company, 'clerk')
    expect((await clerk.get(PATH)).status).to.equal(403)
  })
})
