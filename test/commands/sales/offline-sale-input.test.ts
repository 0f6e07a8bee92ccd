import { expect } from 'chai'
import { fingerprintOf, type OfflineSale, OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { describeIssues } from '#domain/refusals.ts'
import { offlineSaleOf } from '../../support/offline-sales.ts'

/** Wrong fields with their messages. */
function errorsOf(sale: unknown): Record<string, string[]> {
  const result = OfflineSaleInput.safeParse(sale)
  return result.success ? {} : describeIssues(result.error).fields
}

const parse = (fields: object = {}): OfflineSale => OfflineSaleInput.parse(offlineSaleOf(fields))

describe('offline sale input', () => {
  it('parses JSON numbers as decimals, exact to the cent and the thousandth [UP-8]', () => {
    const sale = parse({
      total: 0.3,
      amount_received: 0.1 + 0.2,
      change: 0,
      items: [{ product_id: 10, quantity: 1.5, price: 0.2, total: 0.3 }],
      payments: [{ payment_type_id: 1, amount: 0.3, status: 'completed' }],
    })
    expect(sale).to.include({ total: '0.30', amount_received: '0.30', change: '0.00' })
    expect(sale.items).to.deep.equal([{ product_id: 10, quantity: '1.500', price: '0.20', total: '0.30' }])
  })

  it('takes an integer as identifier for its text', () => {
    expect(parse({ offline_id: 4711 }).offline_id).to.equal('4711')
  })

  it('ignores unknown fields [SYNC-2]', () => {
    const known = parse()
    const items = offlineSaleOf().items.map((item) => ({ ...item, name: 'Café' }))
    expect(parse({ items, synced: false, till: { version: 3 } })).to.deep.equal(known)
  })

  it('takes the id of the customer, and omits absent fields [UP-18]', () => {
    const none = { customer_id: null, amount_received: null, change: undefined }
    expect(parse(none)).to.deep.include({ customer: null, amount_received: null, change: null })
    expect(parse({ customer_id: 7 }).customer).to.deep.equal({ id: 7, sent: '7' })
  })

  for (const odd of [0, -1, 1.5, '7', {}, [7], true, 'x'.repeat(500), `${'x'.repeat(99)}😀`])
    it(`accepts ${JSON.stringify(odd).slice(-9)} as a customer without an id [UP-18]`, () => {
      const { customer } = parse({ customer_id: odd })
      expect(customer).to.include({ id: null })
      expect(customer?.sent).to.have.length.within(1, 100)
    })
})

describe('refused offline sale input', () => {
  const item = { product_id: 10, quantity: 1, price: 10, total: 10 }
  const payment = { payment_type_id: 1, amount: 10, status: 'completed' }
  const cases: [string, object, string[]][] = [
    ['lacks its identifier', { offline_id: undefined }, ['offline_id']],
    ['has a fraction for an identifier', { offline_id: 1.5 }, ['offline_id']],
    ['has an integer beyond doubles for an identifier', { offline_id: 2 ** 60 }, ['offline_id']],
    ['has a truth value for an identifier', { offline_id: true }, ['offline_id']],
    ['has null for an identifier', { offline_id: null }, ['offline_id']],
    ['has an object for an identifier', { offline_id: {} }, ['offline_id']],
    ['has an empty identifier', { offline_id: '' }, ['offline_id']],
    ['has a total as text', { total: '10.00' }, ['total']],
    ['has a negative amount', { change: -1 }, ['change']],
    ['has thousandths of a cent', { total: 10.0001 }, ['total']],
    ['has an unknown status', { status: 'open' }, ['status']],
    ['has no time', { created_at: undefined }, ['created_at']],
    ['has a time without an offset', { created_at: '2026-03-10T10:00:00' }, ['created_at']],
    ['has no items', { items: [] }, ['items']],
    ['has too many items', { items: Array.from({ length: 501 }, () => item) }, ['items']],
    ['has an item of quantity 0', { items: [{ ...item, quantity: 0 }] }, ['items[0].quantity']],
    ['has an item without a product', { items: [{ ...item, product_id: null }] }, ['items[0].product_id']],
    ['has a payment with an unknown status', { payments: [{ ...payment, status: 'paid' }] }, ['payments[0].status']],
    [
      'has an unknown card brand',
      { payments: [{ ...payment, card: { brand: 'diners' } }] },
      ['payments[0].card.brand'],
    ],
  ]
  for (const [what, fields, wrong] of cases) {
    it(`refuses a sale that ${what}`, () => {
      const errors = errorsOf(offlineSaleOf(fields))
      expect(errors).to.have.all.keys(wrong)
      for (const messages of Object.values(errors)) expect(messages.join()).to.match(/\S/)
    })
  }

  for (const text of ['null', '7', '"venda"', '[]', 'true', '{"__proto__": 1}']) {
    it(`refuses ${text} as a sale`, () => expect(errorsOf(JSON.parse(text))).not.to.deep.equal({}))
  }
})

describe('fingerprint of an offline sale', () => {
  const other: [string, object][] = [
    ['identifier', { offline_id: 'outra' }],
    ['status', { status: 'cancelled' }],
    ['time', { created_at: '2026-03-10T14:00:00.001Z' }],
    ['cash', { amount_received: 20, change: 10 }],
    ['product', { items: [{ ...offlineSaleOf().items[0], product_id: 11 }] }],
    ['quantity and price', { items: [{ product_id: 10, quantity: 2, price: 5, total: 10 }] }],
    ['payment type', { payments: [{ payment_type_id: 2, amount: 10, status: 'completed' }] }],
    ['status of a payment', { payments: [{ payment_type_id: 1, amount: 10, status: 'pending' }] }],
  ]
  for (const [what, fields] of other) {
    it(`differs for ${what} [UP-5]`, () => expect(fingerprintOf(parse(fields))).not.to.equal(fingerprintOf(parse())))
  }

  it('is equal for equal values in different notations, with details of payments too [UP-5]', () => {
    const known = fingerprintOf(parse())
    expect(fingerprintOf(parse({ created_at: '2026-03-10T11:00:00-03:00', extra: 1 }))).to.equal(known)
    expect(fingerprintOf(parse({ amount_received: null, change: undefined }))).to.equal(known)
    expect(fingerprintOf(parse({ customer_id: 7 }))).to.equal(known)
    const [payment] = offlineSaleOf().payments
    const detailed = { ...payment, card: { brand: 'visa', nsu: '004711' }, end_to_end_id: 'E1' }
    expect(fingerprintOf(parse({ payments: [detailed] }))).to.equal(known)
    const turned = Object.fromEntries(Object.entries(offlineSaleOf()).reverse())
    expect(fingerprintOf(OfflineSaleInput.parse(turned))).to.equal(known)
    expect(known).to.match(/^[0-9a-f]{64}$/)
  })
})
