import { expect } from 'chai'
import { CancelSaleInput, cancelSale } from '#commands/cancel-sale.ts'
import { recordFiscalDocument, recordReturnDocument } from '#commands/fiscal-document-commands.ts'
import { OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import { registerSale, SaleInput } from '#commands/register-sale.ts'
import { ReturnBody, type ReturnInput, returnGoods, toVoucherCode } from '#commands/return-goods.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import { creditByCustomer, getCreditBalance } from '#projections/store-credit.ts'
import {
  companyRegistered,
  customerCreated,
  fiscalDocument,
  itemCreated,
  offlineSaleCompleted,
  orderPlaced,
  paymentTypeCreated,
  receivableCreated,
  saleCompleted,
  saleReturned,
  stockCounted,
} from '../support/facts.ts'
import { COMPANY_ID, type Decided, FIRST_NEW_ID, from, given, type Scenario } from '../support/given.ts'

const cancel = CancelSaleInput.parse({ id: 8 })
const cancelled = (fields: object = {}) => event('SaleCancelled', { id: 8, reason: null, restock: [], ...fields })
const shop = [
  companyRegistered(),
  paymentTypeCreated({ id: 1 }),
  itemCreated({ id: 10, stock: '5.000' }),
  itemCreated({ id: 11, name: 'Chá', stock: '5.000' }),
]
const line = {
  catalog_item_id: 10,
  external_id: null,
  description: 'Café',
  quantity: '2.000',
  unit_price: '5.00',
  total: '10.00',
  moves_stock: true,
}
const teaLine = { ...line, catalog_item_id: 11, description: 'Chá', quantity: '0.500' }
const sold = saleCompleted({ id: 8, items: [line, teaLine] })
const coffeeMove = { catalog_item_id: 10, quantity: '2.000' }
const teaMove = { catalog_item_id: 11, quantity: '0.500' }

describe('cancel sale', () => {
  it('cancels the sale and returns its stock [SALE-16]', async () => {
    const scenario = await given(...shop, sold)
    const decided = await scenario.when(cancelSale, CancelSaleInput.parse({ id: 8, reason: ' desistência ' }))
    decided.accepts('updated', cancelled({ reason: 'desistência', restock: [coffeeMove, teaMove] }))
    const shown = await scenario.show('sale/8')
    expect(shown).to.include({ status: 'cancelled', cancel_reason: 'desistência' })
    expect(shown).to.include({ cancelled_at: '2026-03-10T12:05:00.000-03:00' })
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '5.000' })
  })

  it('returns the unchanged state for a second cancellation [SALE-17]', async () => {
    const scenario = await given(...shop, sold)
    await scenario.when(cancelSale, cancel)
    const before = await scenario.show('sale/8')
    const again = await scenario.when(cancelSale, CancelSaleInput.parse({ id: 8, reason: 'outra' }))
    again.accepts('unchanged')
    expect(again.decision).to.include({ subject: 'sale/8' })
    expect(await scenario.show('sale/8')).to.deep.equal(before)
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '5.000' })
  })

  it('returns stock to an item deactivated meanwhile [SALE-16]', async () => {
    const scenario = await given(...shop, sold, event('CatalogItemDeactivated', { id: 10 }))
    const decided = await scenario.when(cancelSale, cancel)
    decided.accepts('updated', cancelled({ restock: [coffeeMove, teaMove] }))
  })

  it('returns no stock to an untracked item', async () => {
    const scenario = await given(...shop, sold, stockCounted(10, '3.000', null))
    const decided = await scenario.when(cancelSale, cancel)
    decided.accepts('updated', cancelled({ restock: [teaMove] }))
  })

  it('returns nothing for a line that debited nothing, even if the item is tracked now [SALE-16]', async () => {
    const untracked = saleCompleted({ id: 8, items: [{ ...line, moves_stock: false }] })
    const scenario = await given(...shop, untracked)
    const decided = await scenario.when(cancelSale, cancel)
    decided.accepts('updated', cancelled())
  })

  it('adds to the current stock', async () => {
    const scenario = await given(...shop, sold, stockCounted(10, '3.000', '100.000'))
    await scenario.when(cancelSale, cancel)
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '102.000' })
  })

  it('restores the state before the sale', async () => {
    const scenario = await given(...shop)
    const before = (await scenario.show('catalog_item/10')) as { stock: string }
    const items = [
      { catalog_item_id: 10, quantity: '1' },
      { catalog_item_id: 10, quantity: '2.5' },
    ]
    const input = SaleInput.parse({ items, payments: [{ payment_type_id: 1, amount: '35.00' }] })
    const { decision } = await scenario.when(registerSale, input)
    const { subject } = decision as { subject: string }
    await scenario.when(cancelSale, CancelSaleInput.parse({ id: Number(subject.slice('sale/'.length)) }))
    expect(await scenario.show('catalog_item/10')).to.include({ stock: before.stock })
  })
})

describe('money of a cancelled sale', () => {
  const paid = (payment_type_id: number, net: string, surcharge = '0.00') => ({
    payment_type_id,
    name: `tipo ${payment_type_id}`,
    amount: net,
    surcharge,
    net,
  })
  const types = [
    paymentTypeCreated({ id: 2, name: 'Cartão', kind: 'card' }),
    paymentTypeCreated({ id: 3, name: 'Crediário', kind: 'credit_account' }),
  ]
  const mixed = saleCompleted({ id: 8, payments: [paid(1, '12.00'), paid(2, '4.75', '0.25'), paid(3, '3.00')] })
  const back = (...refunds: [number, string][]) =>
    CancelSaleInput.parse({ id: 8, refunds: refunds.map(([payment_type_id, amount]) => ({ payment_type_id, amount })) })

  it('is noted with the names of the ways by which it went back', async () => {
    const scenario = await given(...shop, ...types, mixed)
    const refunds = [
      { payment_type_id: 1, name: 'Dinheiro', amount: '14.00' },
      { payment_type_id: 2, name: 'Cartão', amount: '3.00' },
    ]
    const decided = await scenario.when(cancelSale, back([1, '14.00'], [2, '3.00']))
    decided.accepts('updated', cancelled({ restock: [], refunds }))
    expect(await scenario.show('sale/8')).to.deep.include({ cancel_refunds: refunds })
  })

  it('is null unless it is stated, and nothing for a sale on credit', async () => {
    const untold = await given(...shop, ...types, mixed)
    await untold.when(cancelSale, cancel)
    expect(await untold.show('sale/8')).to.deep.include({ cancel_refunds: null })
    const onCredit = await given(...shop, ...types, saleCompleted({ id: 8, payments: [paid(3, '20.00')] }))
    await onCredit.when(cancelSale, back())
    expect(await onCredit.show('sale/8')).to.deep.include({ cancel_refunds: [] })
  })

  it('must be what the sale took, to the cent, by ways that give money back [SALE-101]', async () => {
    const scenario = await given(...shop, ...types, mixed)
    for (const [input, paidBack] of [
      [back([1, '16.99']), '16.99'],
      [back([1, '17.01']), '17.01'],
      [back(), '0.00'],
    ] as const) {
      const decided = await scenario.when(cancelSale, input)
      decided.refuses('payment_mismatch', { total: '17.00', paid: paidBack })
    }
    for (const [input, message] of [
      [back([99, '17.00']), 'forma de pagamento não encontrada'],
      [back([3, '17.00']), 'não devolve dinheiro: fiado e crédito de troca são desfeitos pelo cancelamento'],
    ] as const) {
      const decided = await scenario.when(cancelSale, input)
      decided.refuses('validation_failed', {
        fields: { 'refunds[0].payment_type_id': [message] },
        unknown_fields: [],
      })
    }
    expect(CancelSaleInput.safeParse({ id: 8, refunds: [{ payment_type_id: 1, amount: '0.00' }] }).success).to.equal(
      false,
    )
  })
})

describe('refused cancellations', () => {
  it('refuses counter sales to the integration API only [SALE-18]', async () => {
    const scenario = await given(...shop, from('pdv', sold))
    const api = await scenario.when(cancelSale, cancel, 'api')
    api.refuses('managed_by_pdv')
    const counter = await scenario.when(cancelSale, cancel, 'pdv')
    counter.accepts('updated', cancelled({ restock: [coffeeMove, teaMove] }))
  })

  it('refuses a cancelled counter sale to the API too [SALE-18]', async () => {
    const scenario = await given(...shop, from('pdv', sold), from('pdv', cancelled({ restock: [coffeeMove, teaMove] })))
    const decided = await scenario.when(cancelSale, cancel, 'api')
    decided.refuses('managed_by_pdv')
  })

  it('refuses a sale with an authorized fiscal document [SALE-19]', async () => {
    const issued = event('FiscalDocumentRecorded', { id: 8, ...fiscalDocument })
    const scenario = await given(...shop, sold, issued)
    const decided = await scenario.when(cancelSale, cancel)
    decided.refuses('fiscal_document_issued')
  })

  it('does not find a missing sale', async () => {
    const scenario = await given(...shop)
    const decided = await scenario.when(cancelSale, cancel)
    decided.refuses('not_found')
  })
})

const [CASH, CARD, CREDIT_ACCOUNT, STORE_CREDIT] = [1, 2, 3, 4] as const
const shirts = {
  catalog_item_id: 10,
  external_id: null,
  description: 'Camisa',
  quantity: '3.000',
  unit_price: '10.00',
  total: '30.00',
  moves_stock: true,
}
const cake = {
  ...shirts,
  catalog_item_id: null,
  description: 'Bolo',
  quantity: '1.000',
  total: '10.00',
  moves_stock: false,
}

const back = (amount: string, payment_type_id: number = CASH) => [{ payment_type_id, amount }]

const input = (fields: object = {}): ReturnInput => ({
  id: 8,
  ...ReturnBody.parse({ reason: 'Defeito', items: [{ line: 0, quantity: '1' }], refunds: back('7.50'), ...fields }),
})

function returnOf({ decision }: Decided): DataOf<'SaleReturned'> {
  if (isRefusal(decision)) throw new Error(decision.refused)
  return decision.events[0]?.data as DataOf<'SaleReturned'>
}

describe('return goods', () => {
  const shop = [
    companyRegistered(),
    paymentTypeCreated({ id: CASH }),
    paymentTypeCreated({ id: CARD, name: 'Visa', kind: 'card' }),
    paymentTypeCreated({ id: CREDIT_ACCOUNT, name: 'Crediário', kind: 'credit_account' }),
    paymentTypeCreated({ id: STORE_CREDIT, name: 'Troca', kind: 'exchange_credit' }),
    customerCreated({ id: 9, name: 'Eva' }),
    itemCreated({ id: 10, stock: '5.000' }),
  ]
  /** 30.00 + 10.00 less a discount of 10.00, and 5.00 for delivery. */
  const sold = saleCompleted({
    id: 8,
    items: [shirts, cake],
    payments: [{ payment_type_id: CARD, name: 'Visa', amount: '35.00', surcharge: '0.00', net: '35.00' }],
    subtotal: '40.00',
    discount: '10.00',
    delivery_fee: '5.00',
    total: '35.00',
  })

  it('gives the line’s share of what was paid back, and the goods to stock [RETURN-1] [RETURN-2]', async () => {
    const scenario = await given(...shop, sold)
    const decided = await scenario.when(returnGoods, input({ external_id: 'd1' }))
    decided.accepts(
      'created',
      event('SaleReturned', {
        id: FIRST_NEW_ID,
        sale_id: 8,
        external_id: 'd1',
        reason: 'Defeito',
        returned_at: '2026-03-10T15:08:00.000Z',
        items: [
          { line: 0, catalog_item_id: 10, description: 'Camisa', quantity: '1.000', amount: '7.50', restock: true },
        ],
        delivery_fee: '0.00',
        total: '7.50',
        refunds: [{ payment_type_id: CASH, name: 'Dinheiro', amount: '7.50' }],
        stock: [{ catalog_item_id: 10, quantity: '1.000' }],
        cash_session_id: null,
      }),
    )
    const sale = (await scenario.show('sale/8')) as { items: { returned: string }[] }
    expect(sale).to.include({ status: 'completed', returned_total: '7.50', total: '35.00' })
    expect(sale.items.map(({ returned }) => returned)).to.deep.equal(['1.000', '0.000'])
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '3.000' })
    expect(await scenario.show(`return/${FIRST_NEW_ID}`)).to.include({ sale_id: 8, total: '7.50', origin: 'api' })
  })

  it('gives back all that was paid over several returns, the delivery fee once [RETURN-2]', async () => {
    const scenario = await given(...shop, sold)
    await scenario.when(returnGoods, input())
    const rest = [
      { line: 0, quantity: '2' },
      { line: 1, quantity: '1' },
    ]
    const decided = await scenario.when(returnGoods, input({ items: rest, delivery_fee: true, refunds: back('27.50') }))
    expect(returnOf(decided)).to.include({ delivery_fee: '5.00', total: '27.50' })
    expect(await scenario.show('sale/8')).to.include({ returned_total: '35.00', status: 'completed' })
    const again = await scenario.when(returnGoods, input({ items: rest, delivery_fee: true }))
    again.refuses('already_returned', { line: 0, requested: '2.000', available: '0.000' })
  })

  it('refuses the delivery fee once it was given back [RETURN-2]', async () => {
    const scenario = await given(...shop, sold)
    await scenario.when(returnGoods, input({ delivery_fee: true, refunds: back('12.50') }))
    const again = await scenario.when(returnGoods, input({ delivery_fee: true, refunds: back('12.50') }))
    again.refuses('already_returned', { line: null, requested: '5.00', available: '0.00' })
  })

  it('refuses more than is left of a line, and lines that the sale lacks or the return repeats [RETURN-4]', async () => {
    const scenario = await given(...shop, sold)
    const more = await scenario.when(returnGoods, input({ items: [{ line: 0, quantity: '3.001' }] }))
    more.refuses('already_returned', { line: 0, requested: '3.001', available: '3.000' })
    const wrong = [
      [{ line: 2, quantity: '1' }],
      [
        { line: 0, quantity: '1' },
        { line: 0, quantity: '1' },
      ],
    ]
    for (const items of wrong)
      expect((await scenario.when(returnGoods, input({ items }))).decision).to.include({ refused: 'validation_failed' })
  })

  it('refuses refunds that do not sum to what is due [RETURN-4]', async () => {
    const scenario = await given(...shop, sold)
    for (const refunded of ['7.49', '7.51']) {
      const decided = await scenario.when(returnGoods, input({ refunds: back(refunded) }))
      decided.refuses('payment_mismatch', { due: '7.50', refunded })
    }
    const none = await scenario.when(returnGoods, input({ refunds: null }))
    expect(none.decision).to.include({ refused: 'validation_failed' })
  })

  it('gives back in a way of the sale, cash, transfer, Pix or store credit only [RETURN-4]', async () => {
    const other = paymentTypeCreated({ id: 7, name: 'Elo', kind: 'card' })
    const scenario = await given(...shop, other, sold)
    for (const id of [7, 99])
      expect((await scenario.when(returnGoods, input({ refunds: back('7.50', id) }))).decision).to.include({
        refused: 'validation_failed',
      })
    expect(returnOf(await scenario.when(returnGoods, input({ refunds: back('7.50', CARD) }))).refunds[0]).to.include({
      name: 'Visa',
    })
  })

  it('of a sale for 0.00 needs no refunds [RETURN-4]', async () => {
    const free = saleCompleted({ id: 8, payments: [], total: '0.00', discount: '10.00' })
    const scenario = await given(...shop, free)
    expect(returnOf(await scenario.when(returnGoods, input({ refunds: null })))).to.include({ total: '0.00' })
  })

  it('is refused for a cancelled sale, one of an order, an unknown one, and a taken external id [RETURN-4]', async () => {
    const cancelled = event('SaleCancelled', { id: 8, reason: null, restock: [] })
    const ofOrder = saleCompleted({ id: 12, order_id: 1 })
    const scenario = await given(...shop, sold, orderPlaced(), ofOrder, saleCompleted({ id: 13 }))
    ;(await scenario.when(returnGoods, { ...input(), id: 99 })).refuses('not_found')
    ;(await scenario.when(returnGoods, { ...input(), id: 12 })).refuses('managed_by_order', { order_id: 1 })
    await scenario.when(returnGoods, input({ external_id: 'd1' }))
    const taken = await scenario.when(returnGoods, input({ external_id: 'd1' }))
    taken.refuses('duplicate_resource', { field: 'external_id', conflicting_id: FIRST_NEW_ID })
    const other = await given(...shop, sold, cancelled)
    ;(await other.when(returnGoods, input())).refuses('sale_cancelled')
  })

  it('is refused before the sale, or far ahead [RETURN-4]', async () => {
    const scenario = await given(...shop, sold)
    for (const returned_at of ['2026-03-10T10:00:00-03:00', '2200-01-01T00:00:00Z'])
      expect((await scenario.when(returnGoods, input({ returned_at }))).decision).to.include({
        refused: 'validation_failed',
      })
  })

  it('leaves the stock of goods that are not restocked, and of items that are no longer tracked [RETURN-1]', async () => {
    const scenario = await given(...shop, sold)
    const kept = await scenario.when(returnGoods, input({ items: [{ line: 0, quantity: '1', restock: false }] }))
    expect(returnOf(kept).stock).to.deep.equal([])
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '2.000' })
    await scenario.happens(stockCounted(10, '2.000', null))
    expect(returnOf(await scenario.when(returnGoods, input())).stock).to.deep.equal([])
  })

  it('takes goods of a till’s sale back, also with a fiscal document in force [RETURN-1]', async () => {
    const till = offlineSaleCompleted({ id: 8 })
    const document = event('FiscalDocumentRecorded', { id: 8, ...fiscalDocument })
    const scenario = await given(...shop, from('pdv', till), document)
    expect(returnOf(await scenario.when(returnGoods, input({ refunds: back('10.00') })))).to.include({ total: '10.00' })
  })

  it('bars the cancellation of the sale [RETURN-6]', async () => {
    const scenario = await given(...shop, sold)
    await scenario.when(returnGoods, input())
    ;(await scenario.when(cancelSale, { id: 8 })).refuses('sale_returned')
  })

  it('lowers what is owed for the sale first, under its credit type [RETURN-5]', async () => {
    const owing = from(
      'pdv',
      offlineSaleCompleted({
        id: 8,
        payments: [
          {
            payment_type_id: CREDIT_ACCOUNT,
            name: 'Crediário',
            amount: '10.00',
            surcharge: '0.00',
            net: '10.00',
            status: 'pending',
          },
        ],
        receivable_ids: [5],
      }),
    )
    const account = receivableCreated({ id: 5, origin: 'sale', sale_id: 8, amount: '10.00' })
    const scenario = await given(...shop, owing, account)
    const cash = await scenario.when(returnGoods, input({ refunds: back('10.00') }))
    cash.refuses('payment_mismatch', { due: '10.00', refunded: '10.00', on_credit: '10.00' })
    expect(returnOf(await scenario.when(returnGoods, input({ refunds: back('10.00', CREDIT_ACCOUNT) })))).to.include({
      total: '10.00',
    })
  })

  it('gives store credit to the customer in the input, else to the sale’s [CREDIT-1]', async () => {
    const scenario = await given(...shop, sold)
    const nameless = await scenario.when(returnGoods, input({ refunds: back('7.50', STORE_CREDIT) }))
    expect(nameless.decision).to.include({ refused: 'validation_failed' })
    const named = await scenario.when(returnGoods, input({ customer_id: 9, refunds: back('7.50', STORE_CREDIT) }))
    expect(returnOf(named).credit).to.deep.equal({ customer_id: 9, amount: '7.50' })
    expect(await scenario.show(`return/${FIRST_NEW_ID}`)).to.include({ credit_customer_id: 9 })
  })

  it('gives store credit to a new voucher instead, valid for the days of the company [CREDIT-1341]', async () => {
    const days = event('CompanyUpdated', { id: COMPANY_ID, changes: { voucher_days: 30 } })
    const scenario = await given(...shop, days, sold)
    const asked = (fields: object) => ({ ...input({ voucher: true, ...fields }), voucher_code: 'K7QM4PXZ2A' })
    const both = await scenario.when(returnGoods, asked({ customer_id: 9, refunds: back('7.50', STORE_CREDIT) }))
    expect(fieldsOf(both)).to.deep.equal(['voucher'])
    const cash = await scenario.when(returnGoods, asked({ refunds: back('7.50') }))
    expect(fieldsOf(cash)).to.deep.equal(['voucher'])
    const named = returnOf(await scenario.when(returnGoods, asked({ refunds: back('7.50', STORE_CREDIT) })))
    expect(named.credit).to.equal(undefined)
    expect(named.refunds).to.deep.equal([
      {
        ...{ payment_type_id: STORE_CREDIT, name: 'Troca', amount: '7.50' },
        ...{ voucher: 'K7QM4PXZ2A', voucher_until: '2026-04-09' },
      },
    ])
  })

  it('makes codes of ten characters that are not misread [CREDIT-1341]', () => {
    const codes = Array.from({ length: 200 }, (_, n) => toVoucherCode(`secret ${n}`))
    for (const code of codes) expect(code).to.match(/^[2-9A-HJ-NP-Z]{10}$/)
    expect(new Set(codes).size).to.equal(200)
  })
})

const fieldsOf = ({ decision }: Decided): string[] =>
  isRefusal(decision) ? Object.keys((decision.details as { fields: object }).fields) : []

const companyWithCredit = [
  companyRegistered({ cnpj: '11.222.333/0001-65' }),
  paymentTypeCreated({ id: 1 }),
  paymentTypeCreated({ id: 4, name: 'Troca', kind: 'exchange_credit' }),
  customerCreated({ id: 9, name: 'Eva' }),
  itemCreated({ id: 10 }),
  saleCompleted({ id: 8 }),
  saleReturned({ sale_id: 8, credit: { customer_id: 9, amount: '10.00' } }),
]

const sell = (scenario: Scenario, offline_id: string, fields: object = {}) =>
  scenario.when(
    recordOfflineSale,
    OfflineSaleInput.parse({
      offline_id,
      status: 'completed',
      created_at: '2026-03-10T14:00:00.000Z',
      items: [{ product_id: 10, quantity: 1, price: 10, total: 8 }],
      payments: [{ payment_type_id: 4, amount: 8, status: 'completed' }],
      customer_id: 9,
      total: 8,
      ...fields,
    }),
    'pdv',
    'user/3',
  )

const codesOf = ({ decision }: Decided): unknown[] => {
  if (isRefusal(decision)) throw new Error(decision.refused)
  return (decision.remarks as { warnings: { code: string; found: string; expected: string }[] }).warnings
    .filter(({ code }) => code === 'credit_exceeded')
    .map(({ found, expected }) => [found, expected])
}

const balanceIn = async (scenario: Scenario) => getCreditBalance(await scenario.rows(creditByCustomer(9)), 9)

describe('store credit', () => {
  it('is taken by sales of tills; more than the balance is a warning [CREDIT-2]', async () => {
    const scenario = await given(...companyWithCredit)
    expect(await balanceIn(scenario)).to.equal('10.00')
    expect(codesOf(await sell(scenario, 'v1'))).to.deep.equal([])
    expect(await balanceIn(scenario)).to.equal('2.00')
    expect(codesOf(await sell(scenario, 'v2'))).to.deep.equal([['8.00', '2.00']])
    expect(await balanceIn(scenario)).to.equal('-6.00')
  })

  it('is left alone by sales without a customer, which are warned of, and by cancelled ones [CREDIT-2]', async () => {
    const scenario = await given(...companyWithCredit)
    expect(codesOf(await sell(scenario, 'v1', { customer_id: null }))).to.deep.equal([['8.00', '0.00']])
    expect(codesOf(await sell(scenario, 'v3', { customer_id: 987_654 }))).to.deep.equal([['8.00', '0.00']])
    expect(codesOf(await sell(scenario, 'v2', { status: 'cancelled' }))).to.deep.equal([])
    expect(await balanceIn(scenario)).to.equal('10.00')
  })

  it('comes back when its sale is cancelled [CREDIT-3]', async () => {
    const scenario = await given(...companyWithCredit)
    await sell(scenario, 'v1')
    const cancelled = await scenario.when(cancelSale, { id: FIRST_NEW_ID }, 'panel')
    expect(cancelled.decision).to.have.deep.nested.property('events[0].data.credit', { customer_id: 9, amount: '8.00' })
    expect(await balanceIn(scenario)).to.equal('10.00')
  })
})

describe('fiscal document of a return', () => {
  const authorized = { id: 1, ...fiscalDocument }

  it('is recorded once, and gives way to another only when cancelled', async () => {
    const scenario = await given(...companyWithCredit)
    const recorded = await scenario.when(recordReturnDocument, authorized)
    recorded.accepts('updated', event('ReturnDocumentRecorded', authorized))
    expect(await scenario.show('return/1')).to.have.nested.property('fiscal_document.number', '1234')
    ;(await scenario.when(recordReturnDocument, authorized)).accepts('unchanged')
    const other = { ...authorized, number: '1235', access_key: null }
    ;(await scenario.when(recordReturnDocument, other)).refuses('fiscal_document_issued')
    await scenario.when(recordReturnDocument, { ...authorized, status: 'cancelled' })
    const again = await scenario.when(recordReturnDocument, authorized)
    expect(again.decision).to.include({ refused: 'validation_failed' })
    ;(await scenario.when(recordReturnDocument, { ...authorized, id: 99 })).refuses('not_found')
  })

  it('is of one return or sale only [FISCAL-6]', async () => {
    const scenario = await given(...companyWithCredit, saleCompleted({ id: 7 }), saleReturned({ id: 2, sale_id: 7 }))
    const taken = { field: 'access_key', conflicting_id: 8, return_id: 1 }
    const contingency = { ...authorized, status: 'contingency', protocol: null, authorized_at: null } as const
    await scenario.when(recordReturnDocument, contingency)
    ;(await scenario.when(recordReturnDocument, { ...authorized, id: 2 })).refuses('duplicate_resource', taken)
    ;(await scenario.when(recordFiscalDocument, { ...authorized, id: 7 })).refuses('duplicate_resource', taken)
    const next = { ...authorized, number: '1235', access_key: null, protocol: '9' }
    ;(await scenario.when(recordReturnDocument, next)).accepts('updated', event('ReturnDocumentRecorded', next))
    await scenario.when(recordFiscalDocument, { ...authorized, id: 7 })
    const ofSale = { field: 'access_key', conflicting_id: 7 }
    ;(await scenario.when(recordReturnDocument, { ...authorized, id: 2 })).refuses('duplicate_resource', ofSale)
  })

  it('of another company is refused', async () => {
    const scenario = await given(companyRegistered({ cnpj: '99.222.333/0001-65' }), ...companyWithCredit.slice(1))
    expect((await scenario.when(recordReturnDocument, authorized)).decision).to.include({
      refused: 'validation_failed',
    })
  })
})
