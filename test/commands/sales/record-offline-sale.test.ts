import { expect } from 'chai'
import { type CancelSaleInput, cancelSale } from '../../../commands/sales/cancel-sale.ts'
import { fingerprintOf, OfflineSaleInput } from '../../../commands/sales/offline-sale-input.ts'
import { recordOfflineSale } from '../../../commands/sales/record-offline-sale.ts'
import { itemById } from '../../../projections/catalog-items.ts'
import { offlineSaleById } from '../../../projections/offline-sales.ts'
import { type DataOf, event } from '../../../src/events/catalogue.ts'
import type { Accepted } from '../../../src/ledger/command.ts'
import {
  companyRegistered,
  itemCreated,
  noCustomer,
  offlineSale,
  offlineSaleCancelled,
  offlineSaleCompleted,
  paymentTypeCreated,
  settlement,
} from '../../support/facts.ts'
import { type Decided, FIRST_NEW_ID, given } from '../../support/given.ts'
import { offlineSaleOf } from '../../support/offline-sales.ts'

const CASH = 1
const CARD = 2
const ACCOUNT = 3
const shop = [
  companyRegistered(),
  paymentTypeCreated({ id: CASH }),
  paymentTypeCreated({ id: CARD, name: 'Cartão', kind: 'card', fee_percentage: '25.00' }),
  paymentTypeCreated({ id: ACCOUNT, name: 'Crediário', kind: 'credit_account', due_days: 30 }),
  itemCreated({ id: 10, stock: '5.000' }),
  itemCreated({ id: 11, name: 'Chá', price: '4.00', stock: null }),
]

const input = (fields: object = {}) => OfflineSaleInput.parse(offlineSaleOf(fields))
const paidBy = (payment_type_id: number, status = 'completed', amount = 10) => ({
  payments: [{ payment_type_id, amount, status }],
})
const ofProduct = (product_id: number, quantity = 1, price = 10) => ({
  items: [{ product_id, quantity, price, total: quantity * price }],
  total: quantity * price,
  amount_received: quantity * price,
  ...paidBy(CASH, 'completed', quantity * price),
})

/** The event's data of the one sale that was recorded, and what the till is told of it. */
function recorded({ decision }: Decided): { data: DataOf<'OfflineSaleCompleted'>; warnings: object[] } {
  const { outcome, events, remarks } = decision as Accepted
  expect(outcome).to.equal('created')
  const data = events[0]?.data as DataOf<'OfflineSaleCompleted'>
  expect((remarks as { warnings: object[] }).warnings).to.deep.equal(data.warnings)
  return { data, warnings: data.warnings }
}

const warning = (code: string, rest: object = {}) => ({ code, product_id: null, found: null, expected: null, ...rest })

describe('record offline sale', () => {
  it('records what the till says, names of the catalog beside it, and debits the stock', async () => {
    const scenario = await given(...shop)
    const sale = input({ amount_received: 12, change: 2, ...paidBy(CASH, 'completed', 12) })
    const decided = await scenario.when(recordOfflineSale, sale, 'pdv')
    const [line] = offlineSale.items
    const [payment] = offlineSale.payments
    decided.accepts(
      'created',
      offlineSaleCompleted({
        id: FIRST_NEW_ID,
        fingerprint: fingerprintOf(sale),
        items: [{ ...line!, moves_stock: true }],
        payments: [{ ...payment!, amount: '12.00', net: '12.00' }],
        amount_received: '12.00',
        change: '2.00',
      }),
    )
    const shown = await scenario.show(`sale/${FIRST_NEW_ID}`)
    expect(shown).to.include({ status: 'completed', origin: 'pdv', external_id: null, customer: null })
    expect(shown).to.include({ subtotal: '10.00', delivery_fee: '0.00', total: '10.00', change: '2.00' })
    expect(shown).to.include({ sold_at: '2026-03-10T11:00:00.000-03:00', cancelled_at: null })
    const { status: _, ...shownPayment } = { ...payment!, amount: '12.00', net: '12.00' }
    expect((shown as { payments: object[] }).payments).to.deep.equal([shownPayment])
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '4.000' })
  })

  it('takes the surcharge of a payment type from inside the amount', async () => {
    const scenario = await given(...shop)
    const { data } = recorded(await scenario.when(recordOfflineSale, input(paidBy(CARD)), 'pdv'))
    expect(data.payments[0]).to.include({ amount: '10.00', surcharge: '2.00', net: '8.00' })
  })

  it('records nothing when the same sale comes again, and finds its sale and its warnings', async () => {
    const scenario = await given(...shop)
    const sale = input(ofProduct(10, 9))
    const first = await scenario.when(recordOfflineSale, sale, 'pdv')
    const again = await scenario.when(recordOfflineSale, input({ ...ofProduct(10, 9), extra: true }), 'pdv')
    again.accepts('unchanged')
    expect(again.decision).to.deep.include({
      subject: (first.decision as Accepted).subject,
      remarks: (first.decision as Accepted).remarks,
    })
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '-4.000' })
  })

  it('takes promotions, exchange credit and cashback, which only the counter may', async () => {
    for (const kind of ['promotion', 'exchange_credit', 'cashback'] as const) {
      const scenario = await given(...shop, paymentTypeCreated({ id: 9, kind }))
      expect(recorded(await scenario.when(recordOfflineSale, input(paidBy(9)), 'pdv')).warnings).to.deep.equal([])
    }
  })

  it('moves no stock for untracked products and services', async () => {
    const service = itemCreated({ id: 12, type: 'service', name: 'Entrega' })
    const scenario = await given(...shop, service)
    for (const [place, id] of [11, 12].entries()) {
      const sale = input({ ...ofProduct(id, 2), offline_id: `pdv-${place}` })
      const { data } = recorded(await scenario.when(recordOfflineSale, sale, 'pdv'))
      expect(data.items[0]).to.include({ catalog_item_id: id, moves_stock: false })
    }
  })
})

describe('cancelled offline sale', () => {
  it('is recorded as cancelled, moves no stock, makes no receivable and looks like any cancelled sale', async () => {
    const scenario = await given(...shop)
    const sale = input({ status: 'cancelled', ...paidBy(ACCOUNT, 'pending') })
    const decided = await scenario.when(recordOfflineSale, sale, 'pdv')
    const [payment] = offlineSale.payments
    decided.accepts(
      'created',
      offlineSaleCancelled({
        id: FIRST_NEW_ID,
        fingerprint: fingerprintOf(sale),
        payments: [{ ...payment!, payment_type_id: ACCOUNT, name: 'Crediário', status: 'pending' }],
      }),
    )
    const shown = (await scenario.show(`sale/${FIRST_NEW_ID}`)) as Record<string, unknown>
    expect(shown).to.include({ status: 'cancelled', origin: 'pdv', cancel_reason: null })
    expect(shown.cancelled_at).to.equal(shown.created_at)
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '5.000' })
    const cancelled = await scenario.when(cancelSale, { id: FIRST_NEW_ID }, 'system')
    cancelled.accepts('unchanged')
  })
})

describe('warnings of an offline sale', () => {
  const cases: [string, object, object[]][] = [
    ['sells more than there is', ofProduct(10, 6), [warning('negative_stock', { product_id: 10, found: '-1.000' })]],
    ['sells exactly what there is', ofProduct(10, 5), []],
    [
      'has another price than the catalog',
      ofProduct(10, 1, 9),
      [warning('price_differs', { product_id: 10, found: '9.00', expected: '10.00' })],
    ],
    [
      'leaves a payment open that is not on account',
      paidBy(CASH, 'pending'),
      [warning('payment_pending', { found: 'Dinheiro' })],
    ],
    [
      'gives change for a card',
      { amount_received: 12, change: 2, ...paidBy(CARD, 'completed', 12) },
      [warning('change_without_cash', { found: '2.00' })],
    ],
    ['is at most five minutes ahead', { created_at: '2026-03-10T15:11:00.000Z' }, []],
    [
      'is from the future',
      { created_at: '2026-03-10T15:11:00.001Z' },
      [warning('created_at_in_future', { found: '2026-03-10T15:11:00.001Z', expected: '2026-03-10T15:06:00.000Z' })],
    ],
  ]
  for (const [what, fields, warnings] of cases) {
    it(`records a sale that ${what}`, async () => {
      const scenario = await given(...shop)
      expect(recorded(await scenario.when(recordOfflineSale, input(fields), 'pdv')).warnings).to.deep.equal(warnings)
    })
  }

  it('adds up the lines of a product before it looks at the stock', async () => {
    const scenario = await given(...shop)
    const line = { product_id: 10, quantity: 3, price: 10, total: 30 }
    const sale = input({ ...ofProduct(10, 6), items: [line, line] })
    const { warnings } = recorded(await scenario.when(recordOfflineSale, sale, 'pdv'))
    expect(warnings).to.deep.equal([warning('negative_stock', { product_id: 10, found: '-1.000' })])
  })

  it('records the sale of a product that was deactivated meanwhile', async () => {
    const scenario = await given(...shop, event('CatalogItemDeactivated', { id: 10 }))
    const { warnings } = recorded(await scenario.when(recordOfflineSale, input(), 'pdv'))
    expect(warnings).to.deep.equal([warning('product_deactivated', { product_id: 10 })])
    expect((await scenario.rows(itemById(10))).get(itemById(10))?.doc.stock).to.equal('4.000')
  })
})

describe('refusals of an offline sale', () => {
  it('refuses another sale under an identifier that is taken', async () => {
    const scenario = await given(...shop, offlineSaleCompleted({ id: 8 }))
    const decided = await scenario.when(recordOfflineSale, input(), 'pdv')
    decided.refuses('duplicate_resource', { field: 'offline_id', conflicting_id: 8 })
  })

  it('names every product and payment type that the company does not have', async () => {
    const scenario = await given(...shop)
    const item = { product_id: 99, quantity: 1, price: 5, total: 5 }
    const sale = input({
      items: [item, { ...item, product_id: 10 }, { ...item, product_id: 98 }],
      total: 15,
      amount_received: 15,
      ...paidBy(77, 'completed', 15),
    })
    const decided = await scenario.when(recordOfflineSale, sale, 'pdv')
    const unknown = ['produto não encontrado']
    decided.refuses('validation_failed', {
      fields: {
        'items[0].product_id': unknown,
        'items[2].product_id': unknown,
        'payments[0].payment_type_id': ['forma de pagamento não encontrada'],
      },
      unknown_fields: [],
    })
  })

  it('refuses to let stock sink below what can be shown', async () => {
    const scenario = await given(...shop)
    const sale = (offline_id: string) => input({ ...ofProduct(10, 999_999_999, 0.01), offline_id })
    recorded(await scenario.when(recordOfflineSale, sale('a'), 'pdv'))
    const decided = await scenario.when(recordOfflineSale, sale('b'), 'pdv')
    decided.refuses('validation_failed', {
      fields: { 'items[0].quantity': ['o estoque resultante é negativo demais'] },
      unknown_fields: [],
    })
  })
})

describe('receivables of an offline sale', () => {
  const onAccount = input(paidBy(ACCOUNT, 'pending'))
  const cancel: CancelSaleInput = { id: FIRST_NEW_ID }

  it('are made by its credit-on-account payments, due after the day of the sale on the company’s calendar', async () => {
    const scenario = await given(...shop)
    const late = input({ created_at: '2026-03-11T02:59:59.999Z', ...paidBy(ACCOUNT) })
    const { decision } = await scenario.when(recordOfflineSale, late, 'pdv')
    expect((decision as Accepted).events.slice(1)).to.deep.equal([
      event('ReceivableCreated', {
        id: FIRST_NEW_ID,
        external_id: null,
        origin: 'sale',
        description: `Venda ${FIRST_NEW_ID} a prazo: Crediário`,
        ...noCustomer,
        amount: '10.00',
        due_date: '2026-04-09',
        sale_id: FIRST_NEW_ID,
      }),
    ])
    expect(await scenario.show(`receivable/${FIRST_NEW_ID}`)).to.include({ status: 'pending', origin: 'sale' })
  })

  it('are one for each such payment, and none for nothing', async () => {
    const scenario = await given(...shop)
    const of = (payment_type_id: number, amount: number) => ({ payment_type_id, amount, status: 'completed' })
    const payments = [of(ACCOUNT, 4), of(CASH, 5), of(ACCOUNT, 1), of(ACCOUNT, 0)]
    const { decision } = await scenario.when(recordOfflineSale, input({ payments }), 'pdv')
    const { events } = decision as Accepted
    expect(events[0]?.data).to.deep.include({ receivable_ids: [FIRST_NEW_ID, FIRST_NEW_ID + 1] })
    expect(events.slice(1).map((each) => (each.data as { amount: string }).amount)).to.deep.equal(['4.00', '1.00'])
  })

  it('stay within the calendar, whatever the till’s clock says', async () => {
    const scenario = await given(...shop)
    const sale = input({ created_at: '9999-12-31T23:59:59.999Z', ...paidBy(ACCOUNT) })
    const { decision } = await scenario.when(recordOfflineSale, sale, 'pdv')
    expect((decision as Accepted).events[1]?.data).to.include({ due_date: '9999-12-31' })
  })

  it('go with the sale when it is cancelled, while they are pending', async () => {
    const scenario = await given(...shop)
    await scenario.when(recordOfflineSale, onAccount, 'pdv')
    const decided = await scenario.when(cancelSale, cancel, 'pdv')
    decided.accepts(
      'updated',
      event('SaleCancelled', {
        id: FIRST_NEW_ID,
        reason: null,
        restock: [{ catalog_item_id: 10, quantity: '1.000' }],
      }),
      event('ReceivableDeleted', { id: FIRST_NEW_ID }),
    )
    expect(await scenario.show(`receivable/${FIRST_NEW_ID}`)).to.equal(null)
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '5.000' })
  })

  it('forbid to cancel the sale once one is settled', async () => {
    const scenario = await given(
      ...shop,
      offlineSaleCompleted({ id: 8, receivable_ids: [4] }),
      event('ReceivableCreated', {
        id: 4,
        external_id: null,
        origin: 'sale',
        description: 'Venda 8 a prazo',
        ...noCustomer,
        amount: '10.00',
        due_date: '2026-04-09',
        sale_id: 8,
      }),
      event('ReceivableSettled', { id: 4, ...settlement }),
    )
    const decided = await scenario.when(cancelSale, { id: 8 }, 'pdv')
    decided.refuses('already_settled')
  })

  it('that were deleted before do not hinder the cancellation', async () => {
    const scenario = await given(...shop)
    const { decision } = await scenario.when(recordOfflineSale, onAccount, 'pdv')
    const again = await given(
      ...shop,
      ...(decision as Accepted).events,
      event('ReceivableDeleted', { id: FIRST_NEW_ID }),
    )
    const decided = await again.when(cancelSale, cancel, 'system')
    decided.accepts(
      'updated',
      event('SaleCancelled', {
        id: FIRST_NEW_ID,
        reason: null,
        restock: [{ catalog_item_id: 10, quantity: '1.000' }],
      }),
    )
  })

  it('do not open the sale to the integration API: it stays the counter’s', async () => {
    const scenario = await given(...shop)
    await scenario.when(recordOfflineSale, onAccount, 'pdv')
    const decided = await scenario.when(cancelSale, cancel, 'api')
    decided.refuses('managed_by_pdv')
  })
})

describe('offline sales projection', () => {
  it('remembers each upload under the till’s identifier', async () => {
    const warnings = [{ code: 'change_without_cash' as const, product_id: null, found: '1.00', expected: null }]
    const scenario = await given(...shop, offlineSaleCompleted({ id: 8, offline_id: 'a', warnings }))
    const row = (await scenario.rows(offlineSaleById('a'))).get(offlineSaleById('a'))
    expect(row).to.deep.include({ sale_id: 8, fingerprint: 'f'.repeat(64), actor: null, warnings })
  })
})
