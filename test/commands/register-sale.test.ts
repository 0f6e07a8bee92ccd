import { expect } from 'chai'
import fc from 'fast-check'
import { cancelSale } from '#commands/cancel-sale.ts'
import { assignSaleCustomer, registerSale, SaleInput } from '#commands/register-sale.ts'
import { fromCents, fromThousandths, toCents, toThousandths } from '#domain/money.ts'
import { describeIssues, type Problems } from '#domain/refusals.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import {
  companyRegistered,
  customerCreated,
  itemCreated,
  offlineSaleCompleted,
  paymentTypeCreated,
  receivableCreated,
  saleCompleted,
  stockCounted,
} from '../support/facts.ts'
import { type Decided, FIRST_NEW_ID, from, given, minute, type Scenario } from '../support/given.ts'

const CASH = 1
const CARD = 2
const CREDIT = 3
const shop = [
  companyRegistered(),
  paymentTypeCreated({ id: CASH }),
  paymentTypeCreated({ id: CARD, name: 'Cartão', kind: 'card', fee_percentage: '2.50' }),
  paymentTypeCreated({ id: CREDIT, name: 'Crediário', kind: 'credit_account' }),
  itemCreated({ id: 10, external_id: 'c', name: 'Café', price: '10.00', stock: '5.000' }),
  itemCreated({ id: 11, name: 'Entrega', type: 'service', price: '7.90' }),
]

const cash = (amount: string) => ({ payment_type_id: CASH, amount })
const card = (amount: string) => ({ payment_type_id: CARD, amount })
const coffee = (quantity = '1') => ({ catalog_item_id: 10, quantity })
const cake = { description: 'Bolo', quantity: '1', unit_price: '10.00' }
const sale = (body: object) => SaleInput.parse(body)
const wrong = (field: string, message: string) => ({ fields: { [field]: [message] }, unknown_fields: [] })

/** Data of the single decided event. */
function completed({ decision }: Decided): DataOf<'SaleCompleted'> {
  if (isRefusal(decision)) throw new Error(`refused: ${JSON.stringify(decision)}`)
  expect(decision.events.map(({ type }) => type)).to.deep.equal(['SaleCompleted'])
  return decision.events[0]?.data as DataOf<'SaleCompleted'>
}

describe('register sale', () => {
  it('reads price, name and external id from the catalog and debits the stock [SALE-1]', async () => {
    const scenario = await given(...shop)
    const decided = await scenario.when(registerSale, sale({ items: [coffee('2')], payments: [cash('20.00')] }))
    const item = {
      catalog_item_id: 10,
      external_id: 'c',
      description: 'Café',
      quantity: '2.000',
      unit_price: '10.00',
      total: '20.00',
      moves_stock: true,
    }
    const payment = { payment_type_id: CASH, name: 'Dinheiro', amount: '20.00', surcharge: '0.00', net: '20.00' }
    const amounts = { subtotal: '20.00', total: '20.00' }
    const fields = { id: FIRST_NEW_ID, sold_at: minute(shop.length), items: [item], payments: [payment], ...amounts }
    decided.accepts('created', saleCompleted(fields))
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '3.000' })
  })

  it('finds an item by external id, and prefers a given price, zero included [SALE-4]', async () => {
    const scenario = await given(...shop)
    const items = [{ catalog_item_external_id: 'c', quantity: '1', unit_price: '0.00' }]
    const decided = await scenario.when(registerSale, sale({ items, payments: [] }))
    expect(completed(decided)).to.deep.include({ total: '0.00', payments: [], change: '0.00' })
    expect(completed(decided).items[0]).to.include({ catalog_item_id: 10, unit_price: '0.00', moves_stock: true })
  })

  it('sells services, untracked and ad-hoc items without stock movements [SALE-3]', async () => {
    const scenario = await given(...shop, itemCreated({ id: 12, name: 'Água', price: '3.00' }))
    const items = [{ catalog_item_id: 11, quantity: '1' }, { catalog_item_id: 12, quantity: '1' }, cake]
    const decided = await scenario.when(registerSale, sale({ items, payments: [cash('20.90')] }))
    const moves = completed(decided).items.map((item) => item.moves_stock)
    expect(moves).to.deep.equal([false, false, false])
    expect(completed(decided).items[2]).to.include({ catalog_item_id: null, external_id: null, description: 'Bolo' })
  })

  it('records customer, given time of sale and delivery fee', async () => {
    const scenario = await given(...shop, customerCreated({ id: 4, external_id: 'ana' }))
    const body = {
      external_id: 'order-1',
      customer_external_id: 'ana',
      sold_at: '2026-03-09T22:30:00-03:00',
      delivery_fee: '5.00',
      items: [cake],
      payments: [cash('15.00')],
    }
    const decided = await scenario.when(registerSale, sale(body))
    expect(completed(decided)).to.deep.include({
      external_id: 'order-1',
      customer: { id: 4, external_id: 'ana', name: 'Ana' },
      sold_at: '2026-03-10T01:30:00.000Z',
      subtotal: '10.00',
      delivery_fee: '5.00',
      total: '15.00',
    })
  })

  it('accepts a customer by id, external id, or both if they agree [SALE-13]', async () => {
    const ana = customerCreated({ id: 4, external_id: 'ana' })
    const gone = customerCreated({ id: 5, external_id: 'eva', name: 'Eva' })
    const scenario = await given(...shop, ana, gone, event('CustomerDeleted', { id: 5 }))
    const sell = (name: object) =>
      scenario.when(registerSale, sale({ ...name, items: [cake], payments: [cash('10.00')] }))
    for (const name of [
      { customer_id: 4 },
      { customer_external_id: 'ana', customer_id: null },
      { customer_id: 4, customer_external_id: 'ana' },
    ])
      expect(completed(await sell(name)).customer).to.deep.equal({ id: 4, external_id: 'ana', name: 'Ana' })
    const nobody = 'cliente não encontrado'
    for (const [name, field, message] of [
      [{ customer_id: 5 }, 'customer_id', nobody],
      [{ customer_id: 9, customer_external_id: 'ana' }, 'customer_id', nobody],
      [{ customer_id: 4, customer_external_id: 'eva' }, 'customer_external_id', nobody],
    ] as const) {
      const decided = await sell(name)
      decided.refuses('validation_failed', wrong(field, message))
    }
  })

  it('refuses ids of two customers [SALE-13]', async () => {
    const [ana, eva] = [customerCreated({ id: 4, external_id: 'ana' }), customerCreated({ id: 5, name: 'Eva' })]
    const scenario = await given(...shop, ana, eva)
    const body = { customer_id: 5, customer_external_id: 'ana', items: [cake], payments: [cash('10.00')] }
    const decided = await scenario.when(registerSale, sale(body))
    decided.refuses('validation_failed', wrong('customer_external_id', 'é de outro cliente que customer_id'))
  })

  it('refuses a time of sale that is more than a day in the future [VAL-9]', async () => {
    const scenario = await given(...shop)
    const sell = (sold_at: string) =>
      scenario.when(registerSale, sale({ sold_at, items: [cake], payments: [cash('10.00')] }))
    const now = Date.parse(minute(shop.length))
    const late = await sell(new Date(now + 86_400_001).toISOString())
    late.refuses('validation_failed', wrong('sold_at', 'não pode ser antes de 1990 nem estar mais de um dia no futuro'))
    const tomorrow = await sell(new Date(now + 86_400_000).toISOString())
    expect(completed(tomorrow).sold_at).to.equal(new Date(now + 86_400_000).toISOString())
  })

  it('rounds each line half up to cents', async () => {
    const scenario = await given(...shop)
    const items = [
      { description: 'a', quantity: '0.333', unit_price: '10.00' },
      { description: 'b', quantity: '0.005', unit_price: '1.00' },
      { description: 'c', quantity: '0.001', unit_price: '4.99' },
    ]
    const decided = await scenario.when(registerSale, sale({ items, payments: [cash('3.34')] }))
    expect(completed(decided).items.map((item) => item.total)).to.deep.equal(['3.33', '0.01', '0.00'])
    expect(completed(decided).items.map((item) => item.quantity)).to.deep.equal(['0.333', '0.005', '0.001'])
  })

  it('includes the surcharge in the amount [SALE-8]', async () => {
    const scenario = await given(...shop)
    const decided = await scenario.when(registerSale, sale({ items: [cake], payments: [card('10.00')] }))
    expect(completed(decided).payments).to.deep.equal([
      { payment_type_id: CARD, name: 'Cartão', amount: '10.00', surcharge: '0.24', net: '9.76' },
    ])
    expect(completed(decided)).to.include({ total: '10.00', change: '0.00' })
  })

  it('continues from the stock of the company’s previous sale', async () => {
    const scenario = await given(...shop)
    const body = sale({ items: [coffee('3')], payments: [cash('30.00')] })
    await scenario.when(registerSale, body)
    const second = await scenario.when(registerSale, body)
    const short = { catalog_item_id: 10, requested: '3.000', available: '2.000' }
    second.refuses('insufficient_stock', { ...short, items: [short] })
  })
  it('refuses to sell while the stock is negative [UP-6]', async () => {
    const scenario = await given(...shop, stockCounted(10, '5.000', '-2.000'))
    const decided = await scenario.when(registerSale, sale({ items: [coffee('1')], payments: [cash('10.00')] }))
    const short = { catalog_item_id: 10, requested: '1.000', available: '-2.000' }
    decided.refuses('insufficient_stock', { ...short, items: [short] })
  })
})

describe('payments of a sale', () => {
  it('returns a surplus as change if there is cash [SALE-7]', async () => {
    const scenario = await given(...shop)
    const decided = await scenario.when(registerSale, sale({ items: [cake], payments: [card('4.00'), cash('10.00')] }))
    expect(completed(decided)).to.include({ total: '10.00', change: '4.00' })
  })

  it('calculates surcharge and net of cash from the charged amount, without change [SALE-8]', async () => {
    const dear = paymentTypeCreated({ id: 4, name: 'Dinheiro com taxa', fee_percentage: '3.50' })
    const scenario = await given(...shop, dear)
    for (const [payment_type_id, surcharge, net] of [
      [4, '0.34', '9.66'],
      [CASH, '0.00', '10.00'],
    ] as const) {
      const payments = [{ payment_type_id, amount: '20.00' }]
      const decided = await scenario.when(registerSale, sale({ items: [cake], payments }))
      expect(completed(decided).change).to.equal('10.00')
      expect(completed(decided).payments[0]).to.include({ amount: '20.00', surcharge, net })
    }
  })

  it('deducts change from the last cash payment first, then from the one before [SALE-7]', async () => {
    const scenario = await given(...shop)
    const payments = [cash('8.00'), cash('3.00'), card('2.05'), cash('2.00')]
    const decided = await scenario.when(registerSale, sale({ items: [cake], payments }))
    expect(completed(decided).change).to.equal('5.05')
    expect(completed(decided).payments.map(({ net }) => net)).to.deep.equal(['7.95', '0.00', '2.00', '0.00'])
  })

  it('refuses change beyond the received cash [SALE-7]', async () => {
    const scenario = await given(...shop)
    const beyond = await scenario.when(registerSale, sale({ items: [cake], payments: [card('50.00'), cash('0.01')] }))
    beyond.refuses('payment_mismatch', { total: '10.00', paid: '50.01' })
    const all = await scenario.when(registerSale, sale({ items: [cake], payments: [card('10.00'), cash('0.01')] }))
    expect(completed(all)).to.include({ change: '0.01' })
  })

  it('refuses a surplus without cash, and any shortfall [SALE-6]', async () => {
    const scenario = await given(...shop)
    const surplus = await scenario.when(registerSale, sale({ items: [cake], payments: [card('10.01')] }))
    surplus.refuses('payment_mismatch', { total: '10.00', paid: '10.01' })
    const shortfall = await scenario.when(registerSale, sale({ items: [cake], payments: [cash('9.99')] }))
    shortfall.refuses('payment_mismatch', { total: '10.00', paid: '9.99' })
    const unpaid = await scenario.when(registerSale, sale({ items: [cake], payments: [] }))
    unpaid.refuses('payment_mismatch', { total: '10.00', paid: '0.00' })
  })

  it('refuses payment types reserved from the API, with their reason, and unknown ones [TYPE-2]', async () => {
    const scenario = await given(...shop)
    const payments = [cash('5.00'), { payment_type_id: CREDIT, amount: '5.00' }]
    const internal = await scenario.when(registerSale, sale({ items: [cake], payments }))
    const reason = 'Venda a prazo (crediário ou convênio): registre o valor como conta a receber.'
    internal.refuses('validation_failed', wrong('payments[1].payment_type_id', reason))
    const unknown = await scenario.when(
      registerSale,
      sale({ items: [cake], payments: [{ payment_type_id: 99, amount: '10.00' }] }),
    )
    unknown.refuses('validation_failed', wrong('payments[0].payment_type_id', 'forma de pagamento não encontrada'))
  })
})

describe('stock of a sale', () => {
  const item = (id: number, stock: string) => itemCreated({ id, name: `Item ${id}`, price: '1.00', stock })

  it('adds up the quantities of several lines, and lists all shortages [SALE-10]', async () => {
    const scenario = await given(...shop, item(20, '1.000'), item(21, '9.000'))
    const items = [
      coffee('3'),
      { catalog_item_external_id: 'c', quantity: '2.001' },
      { catalog_item_id: 20, quantity: '1.5' },
      { catalog_item_id: 21, quantity: '9' },
    ]
    const decided = await scenario.when(registerSale, sale({ items, payments: [cash('60.51')] }))
    const first = { catalog_item_id: 10, requested: '5.001', available: '5.000' }
    const second = { catalog_item_id: 20, requested: '1.500', available: '1.000' }
    decided.refuses('insufficient_stock', { ...first, items: [first, second] })
    expect(await scenario.show('catalog_item/21')).to.include({ stock: '9.000' })
  })

  it('sells the last unit', async () => {
    const scenario = await given(...shop)
    const decided = await scenario.when(registerSale, sale({ items: [coffee('5')], payments: [cash('50.00')] }))
    expect(completed(decided).items[0]).to.include({ moves_stock: true })
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '0.000' })
  })

  it('updates the time of the stock, but not of the item', async () => {
    const scenario = await given(...shop)
    const before = (await scenario.show('catalog_item/10')) as { updated_at: string }
    await scenario.when(registerSale, sale({ items: [coffee()], payments: [cash('10.00')] }))
    const after = await scenario.show('catalog_item/10')
    expect(after).to.include({ updated_at: before.updated_at, stock_updated_at: '2026-03-10T12:06:00.000-03:00' })
  })
})

describe('refused sales', () => {
  it('refuses the external id of another sale, cancelled ones included [SALE-12]', async () => {
    const cancelled = event('SaleCancelled', { id: 8, reason: null, restock: [] })
    const scenario = await given(...shop, saleCompleted({ id: 8, external_id: 'x' }), cancelled)
    const decided = await scenario.when(
      registerSale,
      sale({ external_id: 'x', items: [cake], payments: [cash('10.00')] }),
    )
    decided.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 8 })
  })

  it('refuses unknown and deleted customers [SALE-13]', async () => {
    const ana = customerCreated({ id: 4, external_id: 'ana' })
    const scenario = await given(...shop, ana, event('CustomerDeleted', { id: 4 }))
    for (const customer_external_id of ['ana', 'bia']) {
      const decided = await scenario.when(registerSale, sale({ customer_external_id, items: [cake], payments: [] }))
      decided.refuses('validation_failed', wrong('customer_external_id', 'cliente não encontrado'))
    }
  })

  it('refuses unknown and deactivated items, naming the field [SALE-13]', async () => {
    const scenario = await given(...shop, event('CatalogItemDeactivated', { id: 10 }))
    const message = 'item não encontrado no catálogo'
    const byId = await scenario.when(registerSale, sale({ items: [cake, coffee()], payments: [] }))
    byId.refuses('validation_failed', wrong('items[1].catalog_item_id', message))
    const unknown = await scenario.when(
      registerSale,
      sale({ items: [{ catalog_item_id: 99, quantity: '1' }], payments: [] }),
    )
    unknown.refuses('validation_failed', wrong('items[0].catalog_item_id', message))
    for (const catalog_item_external_id of ['c', 'nunca']) {
      const items = [{ catalog_item_external_id, quantity: '1' }]
      const byExternalId = await scenario.when(registerSale, sale({ items, payments: [] }))
      byExternalId.refuses('validation_failed', wrong('items[0].catalog_item_external_id', message))
    }
  })

  it('refuses amounts above the limit instead of failing', async () => {
    const scenario = await given(...shop)
    const huge = { description: 'x', quantity: '999999999.999', unit_price: '9999999999.99' }
    const line = await scenario.when(registerSale, sale({ items: [huge], payments: [] }))
    line.refuses('validation_failed', wrong('items[0].quantity', 'o total do item é grande demais'))
    const large = { description: 'x', quantity: '1', unit_price: '9999999999.99' }
    const total = await scenario.when(registerSale, sale({ items: [large, large], payments: [] }))
    total.refuses('validation_failed', wrong('items', 'o total é grande demais'))
    const fee = await scenario.when(registerSale, sale({ items: [large], delivery_fee: '0.01', payments: [] }))
    fee.refuses('validation_failed', wrong('items', 'o total é grande demais'))
  })
})

const item = { catalog_item_id: 1, quantity: '1' }
const minimal = { items: [item], payments: [] }

function problemsOf(body: object): Problems {
  const { error } = SaleInput.safeParse({ ...minimal, ...body })
  return error ? describeIssues(error) : { fields: {}, unknown_fields: [] }
}

const wrongFields = (body: object) => Object.keys(problemsOf(body).fields)

describe('sale input', () => {
  it('requires items and payments only', () => {
    expect(SaleInput.parse(minimal)).to.deep.equal(minimal)
    expect(Object.keys(describeIssues(SaleInput.safeParse({}).error!).fields)).to.have.members(['items', 'payments'])
    expect(wrongFields({ items: [] })).to.deep.equal(['items'])
  })

  it('requires exactly one identifier per item', () => {
    const ways = [{}, { catalog_item_id: 1, description: 'x', unit_price: '1.00' }]
    const both = { catalog_item_id: 1, catalog_item_external_id: 'c' }
    const external = { catalog_item_external_id: 'c', description: 'x' }
    for (const identifiers of [...ways, both, external, { ...both, ...external }]) {
      const { fields } = problemsOf({ items: [{ quantity: '1', ...identifiers }] })
      expect(fields).to.deep.equal({
        'items[0]': ['informe exatamente um entre catalog_item_id, catalog_item_external_id e description'],
      })
    }
  })

  it('requires the price of an ad-hoc item', () => {
    const { fields } = problemsOf({ items: [item, { description: 'Bolo', quantity: '1' }] })
    expect(fields).to.deep.equal({ 'items[1].unit_price': ['preencha este campo: é um item avulso'] })
  })

  it('refuses quantities of zero or with more than 3 decimals, and amounts without exactly 2', () => {
    for (const quantity of ['0', '0.000', '-1', '1.0001', 1, null]) {
      expect(wrongFields({ items: [{ ...item, quantity }] }), String(quantity)).to.deep.equal(['items[0].quantity'])
    }
    expect(wrongFields({ items: [{ ...item, unit_price: '1.5' }] })).to.deep.equal(['items[0].unit_price'])
    expect(wrongFields({ payments: [{ payment_type_id: 1, amount: 10 }] })).to.deep.equal(['payments[0].amount'])
    expect(wrongFields({ delivery_fee: '-1.00', sold_at: '2026-03-10T10:00:00' })).to.have.members([
      'delivery_fee',
      'sold_at',
    ])
  })

  it('reports unknown fields at every depth', () => {
    const body = {
      total: '1.00',
      items: [{ ...item, rebate: '1' }],
      payments: [{ payment_type_id: 1, amount: '1.00', status: 'x' }],
    }
    expect(problemsOf(body).unknown_fields).to.have.members(['total', 'items[0].rebate', 'payments[0].status'])
  })
})

const fees = ['0.00', '0.01', '2.50', '33.33', '100.00']

const quantity = fc.integer({ min: 1, max: 3_000 }).map(fromThousandths)
const line = fc.record({ catalog_item_id: fc.integer({ min: 1, max: 3 }), quantity })
const adHoc = fc.record({
  description: fc.constant('Bolo'),
  quantity: fc.integer({ min: 1, max: 99_999 }).map(fromThousandths),
  unit_price: fc.integer({ min: 0, max: 99_999 }).map(fromCents),
})
const payment = fc.record({
  payment_type_id: fc.integer({ min: 1, max: fees.length }),
  amount: fc.integer({ min: 0, max: 99_999_999 }).map(fromCents),
})

const sum = (amounts: readonly string[]) => amounts.reduce((cents, amount) => cents + toCents(amount), 0)

function completedOf({ decision }: Decided): DataOf<'SaleCompleted'> | null {
  return isRefusal(decision) ? null : (decision.events[0]?.data as DataOf<'SaleCompleted'>)
}

/** Stock of the tracked items, in thousandths. */
async function stocksOf(scenario: Scenario): Promise<number[]> {
  const items = await Promise.all([scenario.show('catalog_item/1'), scenario.show('catalog_item/2')])
  return (items as { stock: string }[]).map(({ stock }) => toThousandths(stock))
}

describe('any sale', () => {
  const shop = [
    companyRegistered(),
    ...fees.map((fee_percentage, index) => paymentTypeCreated({ id: index + 1, name: fee_percentage, fee_percentage })),
    itemCreated({ id: 1, price: '3.33', stock: '4.000' }),
    itemCreated({ id: 2, name: 'Chá', price: '0.07', stock: '1.500' }),
    itemCreated({ id: 3, name: 'Água', price: '2.00' }),
  ]
  /** All types are cash, so that any surplus is change. */
  const sale: fc.Arbitrary<SaleInput> = fc.record({
    items: fc.array(fc.oneof(line, adHoc), { minLength: 1, maxLength: 6 }),
    payments: fc.array(payment, { minLength: 1, maxLength: 4 }),
    delivery_fee: fc.integer({ min: 0, max: 99_999 }).map(fromCents),
  })

  it('adds up: lines, fee, total, payments and change [SALE-5]', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(line, adHoc), { minLength: 1, maxLength: 6 }),
        payment,
        async (items, paid) => {
          const scenario = await given(...shop)
          const payments = [paid, { payment_type_id: 1, amount: '9999999999.99' }]
          const data = completedOf(await scenario.when(registerSale, { items, payments, delivery_fee: '7.77' }))
          if (!data) return
          expect(sum(data.items.map((item) => item.total))).to.equal(toCents(data.subtotal))
          expect(toCents(data.subtotal) + toCents(data.delivery_fee)).to.equal(toCents(data.total))
          expect(sum(data.payments.map((each) => each.amount)) - toCents(data.change)).to.equal(toCents(data.total))
          const charged = data.payments.flatMap(({ net, surcharge }) => [net, surcharge])
          expect(sum(charged)).to.equal(toCents(data.total))
        },
      ),
    )
  })

  it('never takes stock below zero; a cancellation restores it [SALE-11]', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(sale, { minLength: 1, maxLength: 5 }), async (inputs) => {
        const scenario = await given(...shop)
        const initial = await stocksOf(scenario)
        const accepted: number[] = []
        for (const input of inputs) {
          const before = await stocksOf(scenario)
          const decided = await scenario.when(registerSale, input)
          const after = await stocksOf(scenario)
          expect(Math.min(...after)).to.be.at.least(0)
          const data = completedOf(decided)
          if (data) accepted.push(data.id)
          else expect(after).to.deep.equal(before)
        }
        for (const id of accepted) await scenario.when(cancelSale, { id })
        expect(await stocksOf(scenario)).to.deep.equal(initial)
      }),
    )
  })
})

const bia = { id: 5, external_id: 'bia', name: 'Bia' }
const changes = { customer_id: 5, customer_external_id: 'bia', customer_name: 'Bia' }
const owed = (id: number, fields: object = {}) =>
  from('pdv', receivableCreated({ id, origin: 'sale', sale_id: 8, ...fields }))
const onCredit = (...receivable_ids: number[]) => from('pdv', offlineSaleCompleted({ id: 8, receivable_ids }))

describe('customer of a sale on credit', () => {
  const shop = [
    companyRegistered(),
    paymentTypeCreated({ id: 1 }),
    customerCreated({ id: 5, external_id: 'bia', name: 'Bia' }),
    customerCreated({ id: 6, external_id: 'ana', name: 'Ana' }),
  ]

  it('is given to the sale and to its receivables that have none [SALE-102]', async () => {
    const other = { customer_id: 6, customer_external_id: 'ana', customer_name: 'Ana' }
    const deleted = event('ReceivableDeleted', { id: 43 })
    const scenario = await given(...shop, onCredit(41, 42, 43), owed(41), owed(42, other), owed(43), deleted)
    const decided = await scenario.when(assignSaleCustomer, { id: 8, customer_external_id: 'bia' })
    decided.accepts(
      'updated',
      event('SaleCustomerAssigned', { id: 8, customer: bia }),
      event('ReceivableUpdated', { id: 41, changes }),
    )
    expect(await scenario.show('sale/8')).to.deep.include({ customer: bia, status: 'completed' })
    expect(await scenario.show('receivable/41')).to.deep.include(changes)
    expect(await scenario.show('receivable/42')).to.deep.include(other)
    const again = await scenario.when(assignSaleCustomer, { id: 8, customer_id: 5 })
    again.accepts('unchanged')
  })

  it('is given to no other sale, and does not change [SALE-102]', async () => {
    const cases = [
      [[onCredit(41), owed(41)], { id: 9, customer_id: 5 }, 'not_found', undefined],
      [[onCredit(41), owed(41)], { id: 8 }, 'validation_failed', wrong('customer_id', 'informe o cliente')],
      [
        [onCredit(41), owed(41)],
        { id: 8, customer_id: 77 },
        'validation_failed',
        wrong('customer_id', 'cliente não encontrado'),
      ],
      [
        [saleCompleted({ id: 8 })],
        { id: 8, customer_id: 5 },
        'validation_failed',
        wrong('sale', 'a venda não é a prazo'),
      ],
      [
        [onCredit(41), owed(41), from('pdv', event('SaleCancelled', { id: 8, reason: null, restock: [] }))],
        { id: 8, customer_id: 5 },
        'validation_failed',
        wrong('sale', 'a venda está cancelada'),
      ],
      [
        [from('pdv', offlineSaleCompleted({ id: 8, receivable_ids: [41], customer: { ...bia, id: 6 } })), owed(41)],
        { id: 8, customer_id: 5 },
        'validation_failed',
        wrong('sale', 'a venda já tem cliente'),
      ],
    ] as const
    for (const [facts, input, code, details] of cases) {
      const decided = await (await given(...shop, ...facts)).when(assignSaleCustomer, input)
      decided.refuses(code, details)
    }
  })
})
