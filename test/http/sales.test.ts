import { expect } from 'chai'
import { registerSale, SaleInput } from '../../commands/sales/register-sale.ts'
import { expectInvalid, expectProblem, idsIn, LOCAL_TIME, recordText } from '../support/answers.ts'
import { type Json, type Reply, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'

const FIELDS = [
  'id',
  'external_id',
  'status',
  'origin',
  'customer',
  'sold_at',
  'items',
  'payments',
  'subtotal',
  'delivery_fee',
  'total',
  'change',
  'fiscal_document',
  'cancelled_at',
  'cancel_reason',
  'created_at',
  'updated_at',
]

describe('sales', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let cash: number
  let card: number

  before(async () => {
    api = await startApi(database.url)
  })
  beforeEach(async () => {
    company = await api.company()
    cash = await company.paymentType('cash')
    card = await company.paymentType('card')
  })
  after(() => api.close())

  const item = async (body: object = {}): Promise<Json> =>
    (await company.post('/catalog/items', { name: 'Café 500 g', price: '18.90', ...body })).body.data
  const stockOf = async (id: number) => (await company.get(`/catalog/items/${id}`)).body.data.stock
  const pay = (amount: string, payment_type_id = cash) => ({ payment_type_id, amount })
  const adHoc = (unit_price: string, quantity = '1') => ({ description: 'Bolo', quantity, unit_price })
  const sell = (body: object): Promise<Reply> => company.post('/sales', body)
  const sold = async (body: object): Promise<Json> => {
    const reply = await sell(body)
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data
  }

  describe('registration', () => {
    it('answers 201 with the completed sale, which GET, by-external and the list show byte by byte', async () => {
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
        payments: [pay('50.00', card), pay('30.00')],
      })
      expect(created.status).to.equal(201)
      const sale = created.body.data
      expect(Object.keys(sale)).to.have.members(FIELDS)
      const { id: saleId, created_at, updated_at, ...rest } = sale
      expect(created_at).to.match(LOCAL_TIME)
      expect(updated_at).to.equal(created_at)
      expect(rest).to.deep.equal({
        external_id: 'pedido/1 ç',
        status: 'completed',
        origin: 'api',
        customer: { id: customer.id, external_id: 'ana', name: 'Ana' },
        sold_at: '2026-03-10T12:34:56.789-03:00',
        items: [
          {
            catalog_item_id: id,
            external_id: 'caf',
            description: 'Café 500 g',
            quantity: '2.000',
            unit_price: '18.90',
            total: '37.80',
          },
          {
            catalog_item_id: id,
            external_id: 'caf',
            description: 'Café 500 g',
            quantity: '1.500',
            unit_price: '20.00',
            total: '30.00',
          },
          {
            catalog_item_id: null,
            external_id: null,
            description: 'Embrulho',
            quantity: '1.000',
            unit_price: '0.50',
            total: '0.50',
          },
        ],
        payments: [
          { payment_type_id: card, name: 'card', amount: '50.00', surcharge: '0.00', net: '50.00' },
          { payment_type_id: cash, name: 'cash', amount: '30.00', surcharge: '0.00', net: '30.00' },
        ],
        subtotal: '68.30',
        delivery_fee: '5.00',
        total: '73.30',
        change: '6.70',
        fiscal_document: null,
        cancelled_at: null,
        cancel_reason: null,
      })
      expect((await company.get(`/sales/${saleId}`)).text).to.equal(created.text)
      expect((await company.get(`/sales/by-external/${encodeURIComponent('pedido/1 ç')}`)).text).to.equal(created.text)
      expect((await company.get('/sales')).text).to.include(`{"data":[${recordText(created)}],`)
      expect(await stockOf(id)).to.equal('6.500')
    })

    it('takes the smallest sale there is, and fills in the rest', async () => {
      const sale = await sold({ items: [adHoc('10.00')], payments: [pay('10.00')] })
      expect(sale).to.deep.include({
        external_id: null,
        customer: null,
        delivery_fee: '0.00',
        total: '10.00',
        change: '0.00',
      })
    })

    it('dates a sale at the moment of the call where no sold_at is given', async () => {
      const earliest = Date.now() - 1
      const sale = await sold({ items: [adHoc('1.00')], payments: [pay('1.00')] })
      expect(sale.sold_at).to.equal(sale.created_at)
      expect(Date.parse(sale.sold_at)).to.be.within(earliest, Date.now() + 1)
    })

    it("shows the same instant with the company's own offset, whatever offset it came with", async () => {
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

    it('refuses a sold_at without offset, or that is no real time', async () => {
      for (const sold_at of [
        '2026-01-15T12:00:00',
        '2026-01-15',
        '2026-02-30T12:00:00Z',
        '2026-01-15 12:00:00Z',
        '15/01/2026',
        'now',
        1768478400,
        null,
      ]) {
        expectInvalid(await sell({ items: [adHoc('1.00')], payments: [pay('1.00')], sold_at }), ['sold_at'])
      }
    })

    it('needs items, each with a quantity', async () => {
      expectInvalid(await sell({}), ['items', 'payments'])
      expectInvalid(await sell({ items: [], payments: [pay('1.00')] }), ['items'])
      expectInvalid(await sell({ items: {}, payments: [pay('1.00')] }), ['items'])
      expectInvalid(await sell({ items: [{ description: 'x', unit_price: '1.00' }], payments: [] }), [
        'items[0].quantity',
      ])
    })

    it('takes quantities as text with up to three decimals, above zero', async () => {
      for (const quantity of [
        '0',
        '0.000',
        '-1',
        '1.0001',
        '1,5',
        '',
        '1.',
        '.5',
        '01',
        '1e3',
        ' 1',
        1,
        1.5,
        null,
        true,
        '1000000000',
      ]) {
        expectInvalid(await sell({ items: [adHoc('1.00', quantity as string)], payments: [pay('1.00')] }), [
          'items[0].quantity',
        ])
      }
      for (const [quantity, answered] of [
        ['1', '1.000'],
        ['1.5', '1.500'],
        ['0.001', '0.001'],
        ['12.340', '12.340'],
      ] as const) {
        const sale = await sold({ items: [adHoc('0.00', quantity)], payments: [] })
        expect(sale.items[0].quantity).to.equal(answered)
      }
    })

    it('takes money as text with two decimals only', async () => {
      for (const money of ['1', '1.0', '1.000', '-1.00', '1,00', 1, null]) {
        const body = {
          items: [{ ...adHoc('1.00'), unit_price: money }],
          payments: [{ payment_type_id: cash, amount: money }],
          delivery_fee: money,
        }
        expectInvalid(await sell(body), ['items[0].unit_price', 'payments[0].amount', 'delivery_fee'])
      }
    })

    it('needs exactly one identifier of each item', async () => {
      const { id } = await item({ external_id: 'caf' })
      for (const identifiers of [
        {},
        { catalog_item_id: id, description: 'x' },
        { catalog_item_id: id, catalog_item_external_id: 'caf' },
        { catalog_item_external_id: 'caf', description: 'x' },
        { catalog_item_id: id, catalog_item_external_id: 'caf', description: 'x' },
      ]) {
        const body = {
          items: [adHoc('1.00'), { quantity: '1', unit_price: '1.00', ...identifiers }],
          payments: [pay('2.00')],
        }
        expectInvalid(await sell(body), ['items[1]'])
      }
    })
  })

  describe('prices', () => {
    it('are the list price where none is given, and the submitted one otherwise', async () => {
      const { id } = await item({ external_id: 'caf', price: '18.90' })
      const items = [
        { catalog_item_id: id, quantity: '1' },
        { catalog_item_external_id: 'caf', quantity: '1' },
        { catalog_item_id: id, quantity: '1', unit_price: '15.00' },
        { catalog_item_id: id, quantity: '1', unit_price: '0.00' },
      ]
      const sale = await sold({ items, payments: [pay('52.80')] })
      expect(sale.items.map((line: Json) => line.unit_price)).to.deep.equal(['18.90', '18.90', '15.00', '0.00'])
      expect(sale.total).to.equal('52.80')
      await company.call('PATCH', `/catalog/items/${id}`, { price: '99.00', name: 'Outro nome' })
      expect((await company.get(`/sales/${sale.id}`)).body.data).to.deep.equal(sale)
    })

    it('of ad-hoc items must be given', async () => {
      expectInvalid(await sell({ items: [{ description: 'Bolo', quantity: '1' }], payments: [pay('1.00')] }), [
        'items[0].unit_price',
      ])
    })

    it('are multiplied and rounded half up to cents, item by item', async () => {
      for (const [price, quantity, total] of [
        ['10.00', '0.333', '3.33'],
        ['0.01', '1.5', '0.02'],
        ['0.01', '0.5', '0.01'],
        ['0.01', '0.499', '0.00'],
        ['1.00', '0.005', '0.01'],
        ['1.00', '0.004', '0.00'],
        ['1.15', '1.5', '1.73'],
        ['1.05', '0.5', '0.53'],
        ['2.675', '1', null],
        ['33.33', '3.003', '100.09'],
        ['9999999999.99', '1', '9999999999.99'],
      ] as const) {
        const reply = await sell({ items: [adHoc(price, quantity)], payments: [pay(total ?? '1.00')] })
        if (total === null) expectInvalid(reply, ['items[0].unit_price'])
        else expect(reply.body.data?.items[0].total, `${quantity} x ${price}`).to.equal(total)
      }
    })

    it('add up from the rounded totals', async () => {
      const sale = await sold({
        items: [adHoc('0.01', '0.5'), adHoc('0.01', '0.5'), adHoc('0.01', '0.5')],
        payments: [pay('0.03')],
      })
      expect(sale).to.include({ subtotal: '0.03', total: '0.03' })
    })

    it('that add up to more than can be written are 422, never a wrong total', async () => {
      expectInvalid(await sell({ items: [adHoc('9999999999.99', '2')], payments: [pay('9999999999.99')] }), [
        'items[0].quantity',
      ])
      expectInvalid(await sell({ items: [adHoc('9999999999.99', '999999999.999')], payments: [] }), [
        'items[0].quantity',
      ])
      const body = { items: [adHoc('9999999999.99'), adHoc('9999999999.99')], payments: [pay('9999999999.99')] }
      expectInvalid(await sell(body), ['items'])
      expectInvalid(await sell({ items: [adHoc('9999999999.99')], delivery_fee: '0.01', payments: [pay('1.00')] }), [
        'items',
      ])
    })
  })

  describe('payments', () => {
    it('must sum to the total: a shortfall is payment_mismatch with total and paid', async () => {
      const items = [adHoc('10.00')]
      for (const payments of [
        [],
        [pay('9.99')],
        [pay('9.99', card)],
        [pay('5.00'), pay('4.99', card)],
        [pay('0.00')],
      ]) {
        const details = expectProblem(await sell({ items, payments }), 422, 'payment_mismatch')
        const paid = payments.reduce((sum, payment) => sum + Number(payment.amount), 0).toFixed(2)
        expect(details).to.deep.equal({ total: '10.00', paid })
      }
      const details = expectProblem(
        await sell({ items, delivery_fee: '2.50', payments: [pay('10.00')] }),
        422,
        'payment_mismatch',
      )
      expect(details).to.deep.equal({ total: '12.50', paid: '10.00' })
    })

    it('may exceed it when cash is among them: the surplus is change', async () => {
      const items = [adHoc('10.00')]
      expect((await sold({ items, payments: [pay('50.00')] })).change).to.equal('40.00')
      expect((await sold({ items, payments: [pay('6.00', card), pay('5.00')] })).change).to.equal('1.00')
      expect((await sold({ items, payments: [pay('10.00')] })).change).to.equal('0.00')
    })

    it('without cash may not exceed it', async () => {
      const pix = await company.paymentType('pix')
      for (const payments of [[pay('10.01', card)], [pay('5.00', card), pay('6.00', pix)]]) {
        const details = expectProblem(await sell({ items: [adHoc('10.00')], payments }), 422, 'payment_mismatch')
        expect(details.total).to.equal('10.00')
      }
    })

    it('have their surcharge taken from inside the amount, never added on top', async () => {
      const surcharged = await company.paymentType('card', '5.00')
      const other = await company.paymentType('card', '3.49')
      for (const [type, amount, net, surcharge] of [
        [surcharged, '105.00', '100.00', '5.00'],
        [surcharged, '100.00', '95.24', '4.76'],
        [surcharged, '0.01', '0.01', '0.00'],
        [surcharged, '0.11', '0.10', '0.01'],
        [other, '100.00', '96.63', '3.37'],
      ] as const) {
        const sale = await sold({ items: [adHoc(amount)], payments: [pay(amount, type)] })
        expect(sale.total).to.equal(amount)
        expect(sale.payments[0]).to.include({ amount, net, surcharge })
      }
    })

    it('of a type that refuses the API are 422 naming the field, with the reason', async () => {
      for (const kind of ['credit_account', 'exchange_credit', 'promotion', 'cashback'] as const) {
        const type = await company.paymentType(kind)
        const reply = await sell({ items: [adHoc('10.00')], payments: [pay('5.00'), pay('5.00', type)] })
        expectInvalid(reply, ['payments[1].payment_type_id'])
        const listed = (await company.get('/sales/payment-types')).body.data.find((each: Json) => each.id === type)
        expect(reply.body.error.details.fields['payments[1].payment_type_id']).to.deep.equal([listed.reason])
      }
    })

    it('of a type that does not exist are 422 naming the field', async () => {
      expectInvalid(await sell({ items: [adHoc('1.00')], payments: [pay('1.00', 999_999)] }), [
        'payments[0].payment_type_id',
      ])
    })
  })

  describe('stock', () => {
    it('is debited by products that are controlled, and by nothing else', async () => {
      const tracked = await item({ stock: '10' })
      const untracked = await item()
      const service = await item({ type: 'service' })
      const line = (id: number) => ({ catalog_item_id: id, quantity: '3', unit_price: '1.00' })
      await sold({
        items: [line(tracked.id), line(untracked.id), line(service.id), adHoc('1.00', '3')],
        payments: [pay('12.00')],
      })
      expect(await stockOf(tracked.id)).to.equal('7.000')
      expect(await stockOf(untracked.id)).to.equal(null)
      expect(await stockOf(service.id)).to.equal(null)
    })

    it('may be sold to the last thousandth', async () => {
      const { id } = await item({ stock: '0.75' })
      const line = (quantity: string) => ({
        items: [{ catalog_item_id: id, quantity, unit_price: '0.00' }],
        payments: [],
      })
      expectProblem(await sell(line('0.751')), 422, 'insufficient_stock')
      await sold(line('0.75'))
      expect(await stockOf(id)).to.equal('0.000')
      expectProblem(await sell(line('0.001')), 422, 'insufficient_stock')
    })

    it('that is short refuses the whole sale, names all items that are short, and saves nothing', async () => {
      const [a, b, c] = [
        await item({ stock: '5', external_id: 'a' }),
        await item({ stock: '1' }),
        await item({ stock: '2' }),
      ]
      const line = (id: number, quantity: string) => ({ catalog_item_id: id, quantity, unit_price: '1.00' })
      const before = (await company.get('/sales')).text
      const reply = await sell({
        external_id: 'tudo-ou-nada',
        // The first is short only when its lines are taken together.
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

  describe('references', () => {
    it('to items that do not exist or are deactivated are 422 naming the field', async () => {
      const { id } = await item({ external_id: 'velho' })
      await company.call('DELETE', `/catalog/items/${id}`)
      for (const [field, value] of [
        ['catalog_item_id', id],
        ['catalog_item_id', 999_999],
        ['catalog_item_external_id', 'velho'],
        ['catalog_item_external_id', 'nunca'],
      ] as const) {
        const reply = await sell({
          items: [adHoc('1.00'), { [field]: value, quantity: '1', unit_price: '1.00' }],
          payments: [pay('2.00')],
        })
        expectInvalid(reply, [`items[1].${field}`])
      }
    })

    it('to a customer that does not exist or is deleted are 422 naming the field', async () => {
      const { id } = (await company.post('/customers', { name: 'Ana', external_id: 'ana' })).body.data
      await company.call('DELETE', `/customers/${id}`)
      for (const customer_external_id of ['ana', 'nunca']) {
        expectInvalid(await sell({ customer_external_id, items: [adHoc('1.00')], payments: [pay('1.00')] }), [
          'customer_external_id',
        ])
      }
    })

    it('keep the name that the customer had', async () => {
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

  describe('external_id', () => {
    it('repeated is 409 with conflicting_id, also for the same body, and saves nothing', async () => {
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

    it('is kept by a cancelled sale', async () => {
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

    it('that nobody has is 404', async () => {
      for (const id of ['nada', 'x'.repeat(101), '%20', '%F0%9F%A5%96']) {
        expectProblem(await company.get(`/sales/by-external/${id}`), 404, 'not_found')
      }
    })
  })

  describe('the list', () => {
    it('filters by status, origin, customer, external_id and the days of the company, alone and together', async () => {
      const { data: customer } = (await company.post('/customers', { name: 'Ana', external_id: 'ana' })).body
      const sale = async (body: object) => (await sold({ items: [adHoc('1.00')], payments: [pay('1.00')], ...body })).id
      const a = await sale({ customer_external_id: 'ana', sold_at: '2026-03-10T23:59:59.999-03:00', external_id: 'a' })
      const b = await sale({ sold_at: '2026-03-11T00:00:00-03:00' })
      const c = await sale({ sold_at: '2026-03-12T02:59:59.999Z' })
      const d = await sale({ sold_at: '2026-03-12T03:00:00Z' })
      const input = SaleInput.parse({
        items: [adHoc('1.00')],
        payments: [pay('1.00')],
        sold_at: '2026-03-20T12:00:00Z',
      })
      const { id: counter } = await company.run(registerSale, input, 'pdv')
      await company.post(`/sales/${b}/cancel`, {})
      const found = async (query: string) => idsIn(await company.get(`/sales?${query}`))
      expect(await found('')).to.deep.equal([a, b, c, d, counter])
      expect(await found('status=completed')).to.deep.equal([a, c, d, counter])
      expect(await found('status=cancelled')).to.deep.equal([b])
      expect(await found('origin=pdv')).to.deep.equal([counter])
      expect(await found('origin=api')).to.deep.equal([a, b, c, d])
      expect(await found(`customer_id=${customer.id}`)).to.deep.equal([a])
      expect(await found('external_id=a')).to.deep.equal([a])
      expect(await found('sold_from=2026-03-11')).to.deep.equal([b, c, d, counter])
      expect(await found('sold_to=2026-03-11')).to.deep.equal([a, b, c])
      expect(await found('sold_from=2026-03-11&sold_to=2026-03-11')).to.deep.equal([b, c])
      expect(await found('sold_from=2026-03-11&sold_to=2026-03-11&status=completed&origin=api')).to.deep.equal([c])
      expect(await found('sold_from=2026-03-12&sold_to=2026-03-11')).to.deep.equal([])
    })

    it('refuses values that a filter cannot have', async () => {
      expectInvalid(await company.get('/sales?status=open&origin=x&customer_id=0'), ['status', 'origin', 'customer_id'])
      for (const day of ['2026-02-30', '2026-3-1', '2026-03-10T00:00:00Z', 'today', '']) {
        expectInvalid(await company.get(`/sales?sold_from=${day}&sold_to=${day}`), ['sold_from', 'sold_to'])
      }
    })

    it('takes the first and the last day of the calendar', async () => {
      for (const day of ['1900-01-01', '9999-12-31']) {
        expect((await company.get(`/sales?sold_from=${day}&sold_to=${day}`)).status).to.equal(200)
      }
    })
  })

  it('are never edited: there is no PATCH, PUT or DELETE on a sale', async () => {
    const { id } = await sold({ items: [adHoc('1.00')], payments: [pay('1.00')] })
    for (const method of ['PATCH', 'PUT', 'DELETE']) {
      expectProblem(await company.call(method, `/sales/${id}`, {}), 405, 'method_not_allowed')
    }
  })
})
