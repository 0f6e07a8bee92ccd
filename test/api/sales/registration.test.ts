import { expect } from 'chai'
import { expectInvalid, LOCAL_TIME, recordText } from '../../support/answers.ts'
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

  it('is 422 with every wrong field, and sells nothing [VAL-1, VAL-2, VAL-3]', async () => {
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
