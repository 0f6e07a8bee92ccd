import { expect } from 'chai'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import type { Refusal } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import { stockById } from '#projections/stock.ts'
import { customerCreated, offlineSaleCompleted } from '../../../support/facts.ts'
import { given } from '../../../support/given.ts'
import { CARD, CASH, input, ofProduct, paidBy, recorded, shop, warning } from './shop.ts'

describe('warnings of an offline sale', () => {
  const cases: [string, object, object[]][] = [
    ['exceeds the stock', ofProduct(10, 6), [warning('negative_stock', { product_id: 10, found: '-1.000' })]],
    ['sells the whole stock', ofProduct(10, 5), []],
    [
      'differs from the catalog price',
      ofProduct(10, 1, 9),
      [warning('price_differs', { product_id: 10, found: '9.00', expected: '10.00' })],
    ],
    [
      'has a pending payment that is not on credit',
      paidBy(CASH, 'pending'),
      [warning('payment_pending', { found: 'Dinheiro' })],
    ],
    [
      'gives change for a card',
      { amount_received: 12, change: 2, ...paidBy(CARD, 'completed', 12) },
      [warning('change_without_cash', { found: '2.00' })],
    ],
    ['has an unknown customer', { customer_id: 99 }, [warning('customer_unknown', { found: '99' })]],
    ['has a deleted customer', { customer_id: 4 }, [warning('customer_deleted', { found: '4' })]],
    [
      'was paid by card, with a received amount of zero',
      { amount_received: 0, ...paidBy(CARD) },
      [warning('amount_received_differs', { found: '0.00', expected: '10.00' })],
    ],
    ['is at most five minutes ahead', { created_at: '2026-03-10T15:13:00.000Z' }, []],
    [
      'is from the future',
      { created_at: '2026-03-10T15:13:00.001Z' },
      [warning('created_at_in_future', { found: '2026-03-10T15:13:00.001Z', expected: '2026-03-10T15:08:00.000Z' })],
    ],
    ['is from the day before the product was made', { created_at: '2026-03-09T15:07:00.000Z' }, []],
    [
      'is older than its product',
      { created_at: '2026-03-09T14:00:00.000Z' },
      [warning('created_at_old', { found: '2026-03-09T14:00:00.000Z', expected: '2026-03-09T15:04:00.000Z' })],
    ],
    [
      'was cancelled before it was made',
      { status: 'cancelled', cancelled_at: '2026-03-10T13:59:59.000Z' },
      [
        warning('cancelled_at_before_sale', {
          found: '2026-03-10T13:59:59.000Z',
          expected: '2026-03-10T14:00:00.000Z',
        }),
      ],
    ],
    [
      'is cancelled in the future',
      { status: 'cancelled', cancelled_at: '2026-03-10T15:13:00.001Z' },
      [warning('cancelled_at_in_future', { found: '2026-03-10T15:13:00.001Z', expected: '2026-03-10T15:08:00.000Z' })],
    ],
  ]
  it('records a sale to an erased customer without the name [UP-18, PRIV-6]', async () => {
    const forgotten = event('PersonForgotten', {
      kind: 'customer',
      id: 5,
      ground: 'holder_request',
      reason: null,
      parts: ['identity', 'contact'],
      subjects: ['customer/5'],
    })
    const scenario = await given(...shop, customerCreated({ id: 5, name: 'Eva' }), forgotten)
    const { decision } = await scenario.when(recordOfflineSale, input({ customer_id: 5 }), 'pdv')
    expect(decision).to.deep.nested.property('remarks.warnings', [warning('customer_forgotten', { found: '5' })])
    expect(decision).to.deep.nested.property('events[0].data.customer', { id: 5, external_id: null, name: null })
  })

  for (const [what, fields, warnings] of cases) {
    it(`records a sale that ${what} [UP-6, UP-762]`, async () => {
      const scenario = await given(...shop, customerCreated({ id: 4 }), event('CustomerDeleted', { id: 4 }))
      expect(recorded(await scenario.when(recordOfflineSale, input(fields), 'pdv')).warnings).to.deep.equal(warnings)
    })
  }

  it('adds up the lines of a product before checking the stock [UP-6]', async () => {
    const scenario = await given(...shop)
    const line = { product_id: 10, quantity: 3, price: 10, total: 30 }
    const sale = input({ ...ofProduct(10, 6), items: [line, line] })
    const { warnings } = recorded(await scenario.when(recordOfflineSale, sale, 'pdv'))
    expect(warnings).to.deep.equal([warning('negative_stock', { product_id: 10, found: '-1.000' })])
  })

  it('records the sale of a product deactivated meanwhile [UP-6]', async () => {
    const scenario = await given(...shop, event('CatalogItemDeactivated', { id: 10 }))
    const { warnings } = recorded(await scenario.when(recordOfflineSale, input(), 'pdv'))
    expect(warnings).to.deep.equal([warning('product_deactivated', { product_id: 10 })])
    expect((await scenario.rows(stockById(10))).get(stockById(10))?.stock).to.equal('4.000')
  })
})

describe('refused offline sales', () => {
  it('refuses a different sale under a used identifier [UP-5]', async () => {
    const scenario = await given(...shop, offlineSaleCompleted({ id: 8 }))
    const decided = await scenario.when(recordOfflineSale, input(), 'pdv')
    decided.refuses('duplicate_resource', { field: 'offline_id', conflicting_id: 8 })
  })

  it('reports every contradictory amount [UP-7]', async () => {
    const scenario = await given(...shop)
    const sale = input({ total: 20, items: [{ product_id: 10, quantity: 1, price: 10, total: 10.02 }] })
    const { decision } = await scenario.when(recordOfflineSale, sale, 'pdv')
    expect((decision as Refusal).refused).to.equal('validation_failed')
    expect((decision as Refusal).details?.fields).to.have.all.keys('items[0].total', 'total', 'change')
  })

  it('reports every unknown product and payment type [UP-9]', async () => {
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

  for (const [field, details] of [
    ['card', { card: { brand: 'visa' } }],
    ['end_to_end_id', { end_to_end_id: 'E1' }],
  ] as const)
    it(`refuses ${field} of a payment in cash`, async () => {
      const scenario = await given(...shop)
      const payments = paidBy(CASH).payments.map((payment) => ({ ...payment, ...details }))
      const { decision } = await scenario.when(recordOfflineSale, input({ payments }), 'pdv')
      expect((decision as Refusal).refused).to.equal('validation_failed')
      expect((decision as Refusal).details?.fields).to.have.all.keys(`payments[0].${field}`)
    })

  it('refuses stock below the limit', async () => {
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
