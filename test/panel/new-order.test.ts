import { expect } from 'chai'
import { createItem } from '#commands/item-commands.ts'
import { createCustomer } from '#commands/person-commands.ts'
import { createStore, disableStore } from '#commands/store-commands.ts'
import { useCashier } from '../api/cashier.ts'
import { overpaidCharge } from '../support/orders.ts'
import { browser, panelUser, problemsIn, textIn, usePanelUser } from '../support/panel.ts'

const PATH = '/painel/loja/pedidos/novo'

describe('panel: new order with a payment link', () => {
  const { api, company, user: owner } = usePanelUser()
  let alias: string
  let basket: number
  beforeEach(async () => {
    alias = `loja-${company.id}`
    await company.run(createStore, { alias, commission_percentage: '5', sandbox: true })
    basket = (await company.run(createItem, { type: 'product', name: 'Cesta grande', price: '50.00' })).id
    await company.run(createItem, { type: 'product', name: 'Café em grão', price: '18.90', barcode: '7891234567895' })
    await company.run(createItem, { type: 'product', name: 'Café moído', price: '15.00' })
  })

  const ordersOf = async () => (await company.get('/orders')).body.data
  const address = {
    ...{ 'delivery.address.street': 'Rua Um', 'delivery.address.district': 'Centro' },
    'delivery.address.city': 'Recife',
  }

  it('is placed by a clerk for a name and a phone, with items, fee, address and time [PANEL-1255]', async () => {
    const clerk = await panelUser(api, company, 'clerk')
    const sent = await clerk.submit(PATH, {
      ...{ item0: 'cesta', quantity0: '2', item1: '7891234567895', quantity1: '' },
      ...{ customer_id: 'Bia Souza', phone: '(81) 98765-4321' },
      ...{ 'delivery.method': 'delivery', 'delivery.due_at': '2026-12-24T18:30', delivery_fee: '7,50' },
      ...address,
    })
    const [order] = await ordersOf()
    expect(sent.to).to.equal(`/painel/loja/pedidos/${order.id}?feito=pedido-criado`)
    expect(order).to.deep.include({
      store_alias: alias,
      delivery_fee: '7.50',
      total: '126.40',
      delivery_state: 'to_do',
    })
    expect(order.items.map(({ catalog_item_id }: { catalog_item_id: number }) => catalog_item_id)[0]).to.equal(basket)
    expect(order.customer).to.include({ id: null, name: 'Bia Souza', phone: '81987654321' })
    expect(order.delivery).to.deep.include({ method: 'delivery', due_at: '2026-12-24T18:30:00.000-03:00' })
    expect(order.delivery.address).to.include({ street: 'Rua Um', district: 'Centro', city: 'Recife' })
    const { html } = await clerk.get(`/painel/loja/pedidos/${order.id}`)
    expect(html).to.include(`data-copy="${order.payment_url}"`).and.to.include('aria-label="QR Code do link"')
    const link = /href="(https:\/\/wa\.me\/[^"]+)"/.exec(html)?.[1] ?? ''
    const { pathname, searchParams } = new URL(link.replaceAll('&amp;', '&'))
    expect(pathname).to.equal('/5581987654321')
    expect(searchParams.get('text')).to.include('Bia Souza').and.to.include(order.payment_url)
  })

  it('is placed for a customer, whose record gives phone and address [PANEL-1255]', async () => {
    const postal = { zip: null, number: '7', complement: null, district: null, city: null, state: null }
    const person = { name: 'Ana Lima', phone: '11912345678', address: { ...postal, street: 'Rua Dois' } }
    const { id } = await company.run(createCustomer, person)
    await owner.submit(PATH, { item0: 'cesta', customer_id: ['ana', String(id)], 'delivery.method': 'delivery' })
    const [order] = await ordersOf()
    expect(order.customer).to.include({ id, name: 'Ana Lima', phone: '11912345678' })
    expect(order.delivery.address.street).to.equal('Rua Dois')
  })

  it('finds items while they are typed, and keeps what was typed for one more line [PANEL-1255]', async () => {
    const { html } = await owner.get(`${PATH}?item1=caf`)
    expect(textIn(html)).to.include('Café em grão R$ 18,90').and.to.include('Café moído R$ 15,00')
    const more = await owner.submit(PATH, { item0: 'cesta', quantity0: '2', customer_id: 'Bia', mais: '1' })
    expect(more.html).to.include('name="item1"').and.to.include('value="cesta"').and.to.include('value="Bia"')
    expect(await ordersOf()).to.deep.equal([])
  })

  it('has a typed price for what is not in the catalog, never for an item [PANEL-1255]', async () => {
    const fields = { customer_id: 'Bia' }
    const cheap = await owner.submit(PATH, { ...fields, item0: 'cesta', price0: '1,00' })
    expect(cheap.status).to.equal(422)
    expect(problemsIn(cheap.html).join()).to.include('vale o preço do catálogo')
    await owner.submit(PATH, { ...fields, item0: 'Conserto de relógio', price0: '80' })
    const [order] = await ordersOf()
    expect(order.items[0]).to.include({ catalog_item_id: null, description: 'Conserto de relógio', total: '80.00' })
  })

  it('is refused at its fields, and changes nothing [PANEL-12]', async () => {
    const good = { item0: 'cesta', customer_id: 'Bia' }
    for (const [fields, label] of [
      [{ item0: '' }, 'Item'],
      [{ item0: 'café' }, 'escolha um'],
      [{ item0: 'nada disso' }, 'Preço'],
      [{ quantity0: 'x' }, 'Quantidade'],
      [{ quantity0: '0' }, 'Quantidade'],
      [{ item2: 'cesta', quantity2: '-1' }, 'Quantidade'],
      [{ customer_id: '' }, 'Cliente'],
      [{ customer_id: 'x'.repeat(121) }, 'Cliente'],
      [{ phone: '12' }, 'Telefone'],
      [{ 'delivery.method': 'delivery' }, 'rua'],
      [{ 'delivery.method': 'pickup', ...address }, 'retirada'],
      [{ delivery_fee: '-1' }, 'Taxa'],
    ] as const) {
      const { status, html } = await owner.submit(PATH, { ...good, ...fields })
      expect(status, JSON.stringify(fields)).to.equal(422)
      expect(problemsIn(html).join(), JSON.stringify(fields)).to.include(label)
    }
    expect(await ordersOf()).to.deep.equal([])
  })

  it('needs the right to sell and a store that is on; a double click places one order [PANEL-1255]', async () => {
    const auditor = await panelUser(api, company, 'auditor')
    expect((await auditor.get(PATH)).status).to.equal(403)
    expect((await auditor.get('/painel/loja')).html).not.to.include(PATH)
    const form = await owner.get(PATH)
    const key = /name="_key" value="([^"]+)"/.exec(form.html)?.[1] ?? ''
    const twice = { item0: 'cesta', customer_id: 'Bia', _key: key }
    await Promise.all([owner.submit(PATH, twice), owner.submit(PATH, twice)])
    expect(await ordersOf()).to.have.length(1)
    await company.run(disableStore, { alias })
    expect(textIn((await owner.get(PATH)).html)).to.include('Nenhuma loja ligada')
  })
})

describe('panel: charge of an account by a link', () => {
  const { api, company, provider, pay } = useCashier()

  it('receives the account when paid, and closes once it is paid elsewhere [ORDER-1255, ORDER-1256]', async () => {
    const customer = (await company.post('/customers', { name: 'Ana Lima', phone: '81987654321' })).body.data.id
    const debt = { description: 'Fiado de março', amount: '80.00', due_date: '2026-12-10', customer_id: customer }
    const charge = async () => {
      const { id } = (await company.post('/finance/receivables', debt)).body.data
      const clerk = await panelUser(api, company, 'clerk')
      const path = `/painel/contas-a-receber/${id}`
      expect((await clerk.get(path)).html).to.include(`href="${path}/cobrar"`)
      const order = Number(/pedidos\/(\d+)/.exec((await clerk.submit(`${path}/cobrar`, {})).to ?? '')?.[1])
      const { html } = await clerk.get(`/painel/loja/pedidos/${order}`)
      expect(textIn(html)).to.include(`Conta ${id}`).and.to.include('Enviar por WhatsApp')
      return { account: id, order, url: (await company.get(`/orders/${order}`)).body.data.payment_url as string }
    }
    const first = await charge()
    const page = async (url: string) => textIn((await browser(api.url).get(new URL(url).pathname)).html)
    expect(await page(first.url))
      .to.include('Fiado de março')
      .and.not.to.include('81987654321')
    provider.status = 'approved'
    expect((await pay(first.order)).status).to.equal(201)
    const received = (await company.get(`/finance/receivables/${first.account}`)).body.data
    expect(received).to.include({ status: 'settled', open_amount: '0.00' })
    expect(received.payments[0]).to.include({ order_id: first.order, received: '80.00', payment_method: 'credit_card' })
    expect((await company.get('/sales')).body.data).to.deep.equal([])
    expect((await company.get(`/orders?receivable_id=${first.account}`)).body.data).to.have.length(1)
    const owner = await panelUser(api, company)
    expect(textIn((await owner.get('/painel/')).html)).not.to.include('a entregar')
    const second = await charge()
    const settle = { payment_method: 'cash' }
    await company.call('POST', `/finance/receivables/${second.account}/settle`, settle, {
      'idempotency-key': 'k-settle',
    })
    expect(await page(second.url))
      .to.include('Nada a pagar por este link')
      .and.to.include('já foi paga ou mudou')
    expect((await pay(second.order)).status).to.equal(422)
    const auditor = await panelUser(api, company, 'auditor')
    expect((await auditor.get(`/painel/contas-a-receber/${second.account}/cobrar`)).status).to.equal(403)
  })

  it('that brought too much leaves it as credit of the customer, from its alarm [ORDER-1344]', async () => {
    const alias = 'loja-a-mais'
    await company.run(createStore, { alias, commission_percentage: '5', sandbox: true })
    const { order, account, customer } = await overpaidCharge(company, alias)
    const owner = await panelUser(api, company)
    const page = `/painel/loja/pedidos/${order}`
    expect(textIn((await owner.get(page)).html)).to.include('Guardar como crédito do cliente')
    expect(textIn((await owner.get(`${page}/credito`)).html)).to.include('R$ 30,00 a mais')
    const clerk = await panelUser(api, company, 'clerk')
    expect((await clerk.get(`${page}/credito`)).status).to.equal(403)
    expect((await owner.submit(`${page}/credito`, {})).status).to.equal(303)
    const shown = textIn((await owner.get(page)).html)
    expect(shown)
      .to.match(/Virou crédito de troca R\$ 30,00 de Cliente/)
      .and.not.include('Alerta de')
    expect(textIn((await owner.get(`${page}/credito`)).html)).to.include('já é crédito do cliente')
    const { balance, movements } = (await company.get(`/customers/${customer}/credit`)).body.data
    expect([balance, movements[0].kind, movements[0].document]).to.deep.equal(['30.00', 'surplus', `order/${order}`])
    expect(textIn((await owner.get(`/painel/clientes/${customer}`)).html)).to.include('Pago a mais em cobrança')
    const [, receipt] = (await company.get(`/finance/receivables/${account}`)).body.data.payments
    expect(receipt).to.include({ amount: '50.00', excess: '30.00', received: '80.00' })
    const again = await company.post(`/orders/${order}/surplus-credit`, {})
    expect([again.status, again.body.data.surplus_credit.amount]).to.deep.equal([200, '30.00'])
    expect((await company.get(`/customers/${customer}/credit`)).body.data.balance).to.equal('30.00')
  })
})
