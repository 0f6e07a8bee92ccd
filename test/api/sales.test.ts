import { expect } from 'chai'
import { forgetPerson } from '#commands/forget-person.ts'
import { updateUser } from '#commands/user-commands.ts'
import { isSealed } from '#crypto/vault.ts'
import { streamName } from '#ledger/command.ts'
import { exportPersonData } from '#privacy/data-export.ts'
import { presentSource, Reader, WHOLE } from '#queries/reader.ts'
import { getSale } from '#queries/sale-queries.ts'
import { t } from '#queries/table-names.ts'
import { expectInvalid, expectProblem, idsIn, LOCAL_TIME, recordText } from '../support/answers.ts'
import type { Json } from '../support/api.ts'
import { createTestUser } from '../support/till.ts'
import { useSeller } from './seller.ts'

const FIELDS = [
  'metadata',
  'id',
  'external_id',
  'offline_id',
  'cash_session_id',
  'order_id',
  'status',
  'origin',
  'customer',
  'seller',
  'sold_at',
  'items',
  'payments',
  'subtotal',
  'discount',
  'delivery_fee',
  'total',
  'change',
  'refunded_total',
  'warnings',
  'fiscal_document',
  'cancelled_at',
  'cancel_reason',
  'cancel_refunds',
  'returned_total',
  'created_at',
  'updated_at',
]

describe('sales: registration', () => {
  const { api, company, item, stockOf, adHoc, pay, types, sell, sold } = useSeller()

  it('responds 201 with the completed sale, with equal bytes in GET, by-external and list [SALE-1, UP-762]', async () => {
    const { id } = await item({ external_id: 'caf', stock: '10' })
    const { data: customer } = (await company.post('/customers', { name: 'Ana', external_id: 'ana' })).body
    const created = await sell({
      external_id: 'pedido/1 ç',
      customer_external_id: 'ana',
      sold_at: '2026-03-10T12:34:56.789-03:00',
      delivery_fee: '5.00',
      items: [
        { catalog_item_id: id, quantity: '2' },
        { catalog_item_external_id: 'caf', quantity: '1.5', unit_price: '20.00' },
        { description: 'Embrulho', quantity: '1', unit_price: '0.50' },
      ],
      payments: [pay('50.00', types.card), pay('30.00')],
    })
    expect(created.status).to.equal(201)
    const sale = created.body.data
    expect(Object.keys(sale)).to.have.members(FIELDS)
    const { id: saleId, created_at, updated_at, ...rest } = sale
    expect(created_at).to.match(LOCAL_TIME)
    expect(updated_at).to.equal(created_at)
    expect(rest).to.deep.equal({
      metadata: null,
      external_id: 'pedido/1 ç',
      offline_id: null,
      cash_session_id: null,
      order_id: null,
      status: 'completed',
      origin: 'api',
      customer: { id: customer.id, external_id: 'ana', name: 'Ana' },
      seller: null,
      sold_at: '2026-03-10T12:34:56.789-03:00',
      items: [
        {
          catalog_item_id: id,
          external_id: 'caf',
          description: 'Café 500 g',
          quantity: '2.000',
          returned: '0.000',
          unit_price: '18.90',
          discount: '0.00',
          discount_share: '0.00',
          total: '37.80',
        },
        {
          catalog_item_id: id,
          external_id: 'caf',
          description: 'Café 500 g',
          quantity: '1.500',
          returned: '0.000',
          unit_price: '20.00',
          discount: '0.00',
          discount_share: '0.00',
          total: '30.00',
        },
        {
          catalog_item_id: null,
          external_id: null,
          description: 'Embrulho',
          quantity: '1.000',
          returned: '0.000',
          unit_price: '0.50',
          discount: '0.00',
          discount_share: '0.00',
          total: '0.50',
        },
      ],
      payments: [
        { payment_type_id: types.card, name: 'card', amount: '50.00', surcharge: '0.00', net: '50.00' },
        { payment_type_id: types.cash, name: 'cash', amount: '30.00', surcharge: '0.00', net: '23.30' },
      ],
      subtotal: '68.30',
      discount: '0.00',
      delivery_fee: '5.00',
      total: '73.30',
      change: '6.70',
      refunded_total: '0.00',
      warnings: [{ code: 'sold_at_old' }],
      fiscal_document: null,
      cancelled_at: null,
      cancel_reason: null,
      cancel_refunds: null,
      returned_total: '0.00',
    })
    expect((await company.get(`/sales/${saleId}`)).text).to.equal(created.text)
    expect((await company.get(`/sales/by-external/${encodeURIComponent('pedido/1 ç')}`)).text).to.equal(created.text)
    expect((await company.get('/sales')).text).to.include(`{"data":[${recordText(created)}],`)
    expect(await stockOf(id)).to.equal('6.500')
  })

  it('accepts a minimal sale, and fills in the rest [SALE-1]', async () => {
    const sale = await sold({ items: [adHoc('10.00')], payments: [pay('10.00')] })
    expect(sale).to.deep.include({
      external_id: null,
      customer: null,
      delivery_fee: '0.00',
      total: '10.00',
      change: '0.00',
    })
  })

  it('defaults sold_at to the time of the request [SALE-1]', async () => {
    const earliest = Date.now() - 1
    const sale = await sold({ items: [adHoc('1.00')], payments: [pay('1.00')] })
    expect(sale.sold_at).to.equal(sale.created_at)
    expect(Date.parse(sale.sold_at)).to.be.within(earliest, Date.now() + 1)
  })

  it('is 422 with every wrong field, and sells nothing [VAL-1, VAL-3]', async () => {
    const body = {
      sold_at: '2026-02-30T12:00:00Z',
      delivery_fee: '1',
      items: [{ ...adHoc('1.0'), quantity: '0' }, { quantity: '1' }],
      payments: [{ payment_type_id: types.cash, amount: 1 }],
    }
    expectInvalid(await sell(body), [
      'sold_at',
      'delivery_fee',
      'items[0].quantity',
      'items[0].unit_price',
      'items[1]',
      'payments[0].amount',
    ])
    expect((await company.get('/sales')).body.data).to.deep.equal([])
  })

  it("shows the same instant with the company's offset, for any sent offset [VAL-3]", async () => {
    const body = { items: [adHoc('1.00')], payments: [pay('1.00')] }
    for (const sold_at of ['2026-01-15T12:00:00Z', '2026-01-15T14:00:00+02:00', '2026-01-15T12:00:00.0001+00:00']) {
      expect((await sold({ ...body, sold_at })).sold_at).to.equal('2026-01-15T09:00:00.000-03:00')
    }
    const abroad = await api.company({ timezone: 'Asia/Kolkata' })
    const cash = await abroad.paymentType('cash')
    const reply = await abroad.post('/sales', {
      items: [adHoc('1.00')],
      payments: [pay('1.00', cash)],
      sold_at: '2026-01-15T12:00:00Z',
    })
    expect(reply.body.data.sold_at).to.equal('2026-01-15T17:30:00.000+05:30')
    expect(reply.body.data.created_at).to.match(/\+05:30$/)
  })

  it('keeps the customer’s name as of the sale [SALE-14]', async () => {
    const { id } = (await company.post('/customers', { name: 'Ana', external_id: 'ana' })).body.data
    const sale = await sold({ customer_external_id: 'ana', items: [adHoc('1.00')], payments: [pay('1.00')] })
    await company.call('PATCH', `/customers/${id}`, { name: 'Ana Souza' })
    await company.call('DELETE', `/customers/${id}`)
    expect((await company.get(`/sales/${sale.id}`)).body.data.customer).to.deep.equal({
      id,
      external_id: 'ana',
      name: 'Ana',
    })
  })
})

describe('sales: payments', () => {
  const { company, adHoc, pay, sell } = useSeller()

  it('of a type refused by the API are 422 naming the field, with the reason [TYPE-2]', async () => {
    for (const kind of ['credit_account', 'exchange_credit', 'promotion', 'cashback'] as const) {
      const type = await company.paymentType(kind)
      const reply = await sell({ items: [adHoc('10.00')], payments: [pay('5.00'), pay('5.00', type)] })
      expectInvalid(reply, ['payments[1].payment_type_id'])
      const listed = (await company.get('/sales/payment-types')).body.data.find((each: Json) => each.id === type)
      expect(reply.body.error.details.fields['payments[1].payment_type_id']).to.deep.equal([listed.reason])
    }
  })
})

describe('sales: discounts', () => {
  const { company, item, adHoc, pay, sell, sold } = useSeller()

  it('of items are deducted from their totals, those of the sale from the subtotal [SALE-5] [SALE-24]', async () => {
    const { id } = await item({ price: '18.90' })
    const items = [{ catalog_item_id: id, quantity: '2', discount: '1.80' }, adHoc('3.50')]
    const sale = await sold({ items, discount: '3.00', delivery_fee: '5.00', payments: [pay('41.50')] })
    expect(sale).to.include({ subtotal: '39.50', discount: '3.00', delivery_fee: '5.00', total: '41.50' })
    const [first, second] = sale.items
    expect(first).to.include({ unit_price: '18.90', total: '36.00', discount: '1.80', discount_share: '2.73' })
    expect(second).to.include({ total: '3.50', discount: '0.00', discount_share: '0.27' })
    expect(sale.payments[0]).to.include({ amount: '41.50', net: '41.50' })
    expect((await company.get(`/sales/${sale.id}`)).body.data).to.deep.equal(sale)
    const page = await company.get('/sales')
    expect(page.body.data).to.deep.equal([sale])
  })

  it('are "0.00" if they are absent, null or zero [SALE-24]', async () => {
    for (const none of [{}, { discount: null }, { discount: '0.00' }]) {
      const sale = await sold({ items: [{ ...adHoc('1.00'), ...none }], ...none, payments: [pay('1.00')] })
      expect(sale).to.include({ subtotal: '1.00', discount: '0.00', total: '1.00' })
      expect(sale.items[0]).to.include({ total: '1.00', discount: '0.00', discount_share: '0.00' })
    }
  })

  it('are shared over the items to the cent, by largest remainder [SALE-24] [SALE-30]', async () => {
    const items = [adHoc('10.00'), adHoc('10.00'), adHoc('10.00')]
    const sale = await sold({ items, discount: '1.00', payments: [pay('29.00')] })
    expect(sale.items.map((line: Json) => line.discount_share)).to.deep.equal(['0.34', '0.33', '0.33'])
    expect(sale.items.map((line: Json) => line.total)).to.deep.equal(['10.00', '10.00', '10.00'])
  })

  it('above the item or the subtotal are 422, and sell nothing [SALE-24]', async () => {
    const { id } = await item({ price: '10.00', stock: '5' })
    const line = { catalog_item_id: id, quantity: '2' }
    const payments = [pay('0.00')]
    expectInvalid(await sell({ items: [{ ...line, discount: '20.01' }], payments }), ['items[0].discount'])
    expectInvalid(await sell({ items: [line], discount: '20.01', payments }), ['discount'])
    // The subtotal is what the discounts of the items leave.
    const items = [{ ...line, discount: '15.00' }]
    expectInvalid(await sell({ items, discount: '5.01', delivery_fee: '9.00', payments }), ['discount'])
    expect((await company.get(`/catalog/items/${id}`)).body.data.stock).to.equal('5.000')
  })

  it('that are no amounts are 422 [SALE-24]', async () => {
    for (const discount of ['-1.00', '1', 1, '1.005']) {
      expectInvalid(await sell({ items: [adHoc('9.00')], discount, payments: [pay('9.00')] }), ['discount'])
      const items = [{ ...adHoc('9.00'), discount }]
      expectInvalid(await sell({ items, payments: [pay('9.00')] }), ['items[0].discount'])
    }
  })

  it('of everything leave a sale of 0.00, which needs no payments [SALE-24]', async () => {
    const { id } = await item({ price: '10.00', stock: '5' })
    const line = { catalog_item_id: id, quantity: '1' }
    for (const body of [
      { items: [line], discount: '10.00' },
      { items: [{ ...line, discount: '10.00' }], payments: [] },
      { items: [{ ...line, unit_price: '0.00' }], payments: null },
    ]) {
      const sale = await sold(body)
      expect(sale).to.include({ total: '0.00', change: '0.00', status: 'completed' })
      expect(sale.payments).to.deep.equal([])
    }
    expect((await company.get(`/catalog/items/${id}`)).body.data.stock).to.equal('2.000')
  })

  it('that leave more than 0.00 need payments [SALE-24]', async () => {
    const items = [adHoc('10.00')]
    expectInvalid(await sell({ items, discount: '9.99' }), ['payments'])
    expectInvalid(await sell({ items, discount: '10.00', delivery_fee: '0.01' }), ['payments'])
    const details = expectProblem(await sell({ items, discount: '9.99', payments: [] }), 422, 'payment_mismatch')
    expect(details).to.deep.equal({ total: '0.01', paid: '0.00' })
  })

  it('of orders are refused: their price is final', async () => {
    const order = { store_alias: 'loja', customer: { name: 'Ana' }, items: [{ ...adHoc('1.00'), discount: '0.10' }] }
    expectInvalid(await company.post('/orders', order), [], ['items[0].discount'])
  })
})

describe('sales: external_id', () => {
  const { company, item, stockOf, adHoc, pay, sell, sold } = useSeller()

  it('repeated is 409 with conflicting_id, also for the same body, and records nothing [SALE-12]', async () => {
    const { id } = await item({ stock: '5' })
    const body = { external_id: 'p-1', items: [{ catalog_item_id: id, quantity: '1' }], payments: [pay('18.90')] }
    const sale = await sold(body)
    for (const again of [body, { ...body, items: [adHoc('18.90')] }]) {
      const details = expectProblem(await sell(again), 409, 'duplicate_resource')
      expect(details).to.deep.include({ conflicting_id: sale.id })
    }
    expect(await stockOf(id)).to.equal('4.000')
    expect(idsIn(await company.get('/sales'))).to.deep.equal([sale.id])
  })

  it('is kept by a cancelled sale [SALE-12]', async () => {
    const body = { external_id: 'p-1', items: [adHoc('1.00')], payments: [pay('1.00')] }
    const sale = await sold(body)
    await company.post(`/sales/${sale.id}/cancel`, {})
    expect(expectProblem(await sell(body), 409, 'duplicate_resource')).to.deep.include({ conflicting_id: sale.id })
    expect((await company.get('/sales/by-external/p-1')).body.data).to.include({ id: sale.id, status: 'cancelled' })
  })

  it('may look like a part of a path', async () => {
    for (const external_id of ['cancel', 'by-external', 'payment-types', '1', 'a/b', '%2F', 'ç🥖']) {
      const sale = await sold({ external_id, items: [adHoc('1.00')], payments: [pay('1.00')] })
      const found = await company.get(`/sales/by-external/${encodeURIComponent(external_id)}`)
      expect(found.body.data?.id, external_id).to.equal(sale.id)
    }
  })

  it('of a missing sale is 404', async () => {
    for (const id of ['nada', 'x'.repeat(101), '%20', '%F0%9F%A5%96']) {
      expectProblem(await company.get(`/sales/by-external/${id}`), 404, 'not_found')
    }
  })
})

describe('sales', () => {
  const { company, adHoc, pay, sold } = useSeller()

  describe('the list', () => {
    it('refuses invalid filter values', async () => {
      expectInvalid(await company.get('/sales?status=open&origin=x&customer_id=0'), ['status', 'origin', 'customer_id'])
      for (const day of ['2026-02-30', '2026-3-1', '2026-03-10T00:00:00Z', 'today', '']) {
        expectInvalid(await company.get(`/sales?sold_from=${day}&sold_to=${day}`), ['sold_from', 'sold_to'])
      }
    })

    it('accepts the first and the last day of the calendar', async () => {
      for (const day of ['1900-01-01', '9999-12-31']) {
        expect((await company.get(`/sales?sold_from=${day}&sold_to=${day}`)).status).to.equal(200)
      }
    })
  })

  it('cannot be edited: there is no PATCH, PUT or DELETE of a sale', async () => {
    const { id } = await sold({ items: [adHoc('1.00')], payments: [pay('1.00')] })
    for (const method of ['PATCH', 'PUT', 'DELETE']) {
      expectProblem(await company.call(method, `/sales/${id}`, {}), 405, 'method_not_allowed')
    }
  })
})

describe('sales: stock', () => {
  const { company, item, stockOf, pay, sell, sold } = useSeller()

  it('that is short refuses the whole sale, lists all short items, and records nothing [SALE-10]', async () => {
    const [a, b, c] = [
      await item({ stock: '5', external_id: 'a' }),
      await item({ stock: '1' }),
      await item({ stock: '2' }),
    ]
    const line = (id: number, quantity: string) => ({ catalog_item_id: id, quantity, unit_price: '1.00' })
    const before = (await company.get('/sales')).text
    const reply = await sell({
      external_id: 'tudo-ou-nada',
      // Short only if its lines are added up.
      items: [
        line(a.id, '3'),
        line(b.id, '1'),
        line(c.id, '2.5'),
        { catalog_item_external_id: 'a', quantity: '2.001' },
      ],
      payments: [pay('1000.00')],
    })
    const short = [
      { catalog_item_id: a.id, requested: '5.001', available: '5.000' },
      { catalog_item_id: c.id, requested: '2.500', available: '2.000' },
    ]
    expect(expectProblem(reply, 422, 'insufficient_stock')).to.deep.equal({ ...short[0], items: short })
    expect((await company.get('/sales')).text).to.equal(before)
    expect(await Promise.all([a.id, b.id, c.id].map(stockOf))).to.deep.equal(['5.000', '1.000', '2.000'])
    expectProblem(await company.get('/sales/by-external/tudo-ou-nada'), 404, 'not_found')
    await sold({ external_id: 'tudo-ou-nada', items: [line(a.id, '5')], payments: [pay('5.00')] })
  })
})

const SUMMARY = '/finance/summary'

describe('sales: seller', () => {
  const { api, company, adHoc, pay, sell, sold } = useSeller()

  const soldBy = (seller: object | null, amount = '10.00') =>
    sold({ items: [adHoc(amount)], payments: [pay(amount)], ...(seller && { seller }) })

  const bySeller = async (): Promise<Json[]> => (await company.get(SUMMARY)).body.data.sales.by_seller

  it('is a user of the company, with the name as of the sale [SALE-25]', async () => {
    const { id, name } = await createTestUser(company)
    const sale = await soldBy({ user_id: id })
    expect(sale.seller).to.deep.equal({ user_id: id, name })
    await company.run(updateUser, { id, name: 'Outro nome' })
    expect((await company.get(`/sales/${sale.id}`)).body.data.seller).to.deep.equal({ user_id: id, name })
  })

  it('is a name, or null [SALE-25]', async () => {
    expect((await soldBy({ name: 'Ana' })).seller).to.deep.equal({ user_id: null, name: 'Ana' })
    expect((await soldBy({ name: 'Bia', user_id: null })).seller).to.deep.equal({ user_id: null, name: 'Bia' })
    expect((await soldBy(null)).seller).to.equal(null)
    const body = { items: [adHoc('1.00')], payments: [pay('1.00')], seller: null }
    expect((await sold(body)).seller).to.equal(null)
  })

  it('is 422 with both, with none, and of another company [SALE-25]', async () => {
    const { id } = await createTestUser(company)
    const body = { items: [adHoc('1.00')], payments: [pay('1.00')] }
    for (const seller of [{}, { user_id: id, name: 'Ana' }, { user_id: null, name: null }, { name: '' }])
      expectInvalid(await sell({ ...body, seller }), ['seller'])
    expectInvalid(await sell({ ...body, seller: { user_id: id + 1 } }), ['seller.user_id'])
    expectInvalid(await sell({ ...body, seller: { name: ' ' } }), ['seller.name'])
    expectInvalid(await sell({ ...body, seller: { name: 'Ana', email: 'a@loja.example' } }), [], ['seller.email'])
    const stranger = await createTestUser(await api.company())
    if (stranger.id !== id) expectInvalid(await sell({ ...body, seller: { user_id: stranger.id } }), ['seller.user_id'])
    expect((await company.get('/sales')).body.data).to.deep.equal([])
  })

  it('is sealed as a user, and forgotten with the user in sales, events and new sales [SALE-25] [PRIV-62]', async () => {
    const { id, name } = await createTestUser(company)
    const sale = await soldBy({ user_id: id })
    const named = await soldBy({ name: 'Ana' })
    const stored: Json[] = []
    for await (const event of api.core.store.read(streamName(company.id), 0))
      if (event.type === 'SaleCompleted') stored.push(event.data)
    expect(isSealed(stored[0]?.seller.name)).to.equal(true)
    // A name without a user has no record whose erasure could ask for it.
    expect(stored[1]?.seller).to.deep.equal({ user_id: null, name: 'Ana' })
    expect(JSON.stringify(stored)).not.to.include(name)
    const person = { kind: 'user', id, ground: 'holder_request', retention_years: 5 } as const
    await company.run(forgetPerson, person)
    expect((await company.get(`/sales/${sale.id}`)).body.data.seller).to.deep.equal({ user_id: id, name: null })
    expect((await company.get(`/sales/${named.id}`)).body.data.seller).to.deep.equal({ user_id: null, name: 'Ana' })
    const body = { items: [adHoc('1.00')], payments: [pay('1.00')], seller: { user_id: id } }
    expectProblem(await sell(body), 409, 'person_forgotten')
    expect(await bySeller()).to.deep.include({
      seller: { user_id: id, name: null },
      count: 1,
      gross: '10.00',
      returned: '0.00',
      net: '10.00',
    })
  })

  it('is masked for auditors, a name without a user too [PRIV-62]', async () => {
    const { id } = await createTestUser(company)
    const masked = new Reader(company.id, presentSource(api.core.pool), { ...WHOLE, hidesPersons: true })
    for (const seller of [{ user_id: id }, { name: 'Ana' }]) {
      const sale = await soldBy(seller)
      const { record } = (await getSale(masked, sale.id)) as unknown as { record: string }
      expect(JSON.parse(String(record)).seller.name).to.equal('(retido)')
    }
    const { rows } = await masked.query({ text: `select seller_name from ${t.sales} where company_id = $1` })
    expect(rows).to.deep.equal([{ seller_name: null }, { seller_name: null }])
  })

  it('a seller’s export has the sales without buyers’ names, and the reverse [PRIV-50]', async () => {
    const { id, name } = await createTestUser(company)
    const customer = (await company.post('/customers', { name: 'Maria da Silva' })).body.data
    const body = { items: [adHoc('1.00')], payments: [pay('1.00')], customer_id: customer.id, seller: { user_id: id } }
    await sold(body)
    const exported = async (kind: 'user' | 'customer', of: number): Promise<string> => {
      let text = ''
      const now = '2026-11-22T12:00:00.000Z'
      for await (const part of (await exportPersonData(api.core, company.id, { kind, id: of }, now)) ?? [])
        text += JSON.stringify(part)
      return text
    }
    const ofUser = await exported('user', id)
    expect(ofUser).to.include('"type":"SaleCompleted"').and.include(name).and.not.include('Maria da Silva')
    const ofCustomer = await exported('customer', customer.id)
    expect(ofCustomer).to.include('"type":"SaleCompleted"').and.include('Maria da Silva').and.not.include(name)
  })

  it('sums up in the summary: completed sales, highest gross first', async () => {
    const { id } = await createTestUser(company)
    await soldBy({ user_id: id }, '7.00')
    await soldBy({ user_id: id }, '5.00')
    await soldBy({ name: 'Ana' }, '20.00')
    await soldBy({ name: 'Bia' }, '3.00')
    await soldBy(null, '2.50')
    const cancelled = await soldBy({ name: 'Ana' }, '90.00')
    await company.post(`/sales/${cancelled.id}/cancel`, {})
    await company.run(updateUser, { id, name: 'Nome de agora' })
    const { sales } = (await company.get(SUMMARY)).body.data
    expect(sales.by_seller).to.deep.equal([
      { seller: { user_id: null, name: 'Ana' }, count: 1, gross: '20.00', returned: '0.00', net: '20.00' },
      { seller: { user_id: id, name: 'Nome de agora' }, count: 2, gross: '12.00', returned: '0.00', net: '12.00' },
      { seller: { user_id: null, name: 'Bia' }, count: 1, gross: '3.00', returned: '0.00', net: '3.00' },
      { seller: null, count: 1, gross: '2.50', returned: '0.00', net: '2.50' },
    ])
    expect(sales).to.include({ count: 5, gross: '37.50' })
    const before = await company.get(`${SUMMARY}?from=2020-01-01&to=2020-01-31`)
    expect(before.body.data.sales.by_seller).to.deep.equal([])
  })
})
