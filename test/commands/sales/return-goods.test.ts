import { expect } from 'chai'
import { cancelSale } from '#commands/cancel-sale.ts'
import { ReturnBody, type ReturnInput, returnGoods } from '#commands/return-goods.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
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
  stockCounted,
} from '../../support/facts.ts'
import { type Decided, FIRST_NEW_ID, from, given } from '../../support/given.ts'

const [CASH, CARD, CREDIT_ACCOUNT, STORE_CREDIT] = [1, 2, 3, 4] as const

const shop = [
  companyRegistered(),
  paymentTypeCreated({ id: CASH }),
  paymentTypeCreated({ id: CARD, name: 'Visa', kind: 'card' }),
  paymentTypeCreated({ id: CREDIT_ACCOUNT, name: 'Crediário', kind: 'credit_account' }),
  paymentTypeCreated({ id: STORE_CREDIT, name: 'Troca', kind: 'exchange_credit' }),
  customerCreated({ id: 9, name: 'Eva' }),
  itemCreated({ id: 10, stock: '5.000' }),
]
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

  it('gives back all that was paid over several returns, the delivery fee once [RETURN-2] [RETURN-3]', async () => {
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

  it('refuses the delivery fee once it was given back [RETURN-3]', async () => {
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
})
