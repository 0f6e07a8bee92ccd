import { expect } from 'chai'
import fc from 'fast-check'
import { fingerprintOf, type OfflineSale, OfflineSaleInput } from '#commands/sales/offline-sale-input.ts'
import { fromCents, lineTotal, toCents } from '#domain/money.ts'
import { toThousandths } from '#domain/quantity.ts'
import { describeIssues } from '#domain/validation.ts'
import { offlineSaleOf } from '../../support/offline-sales.ts'

/** Fields that are wrong, with what is said of each. */
function errorsOf(sale: unknown): Record<string, string[]> {
  const result = OfflineSaleInput.safeParse(sale)
  return result.success ? {} : describeIssues(result.error).fields
}

const parse = (fields: object = {}): OfflineSale => OfflineSaleInput.parse(offlineSaleOf(fields))

describe('offline sale input', () => {
  it('reads JSON numbers as decimals, exact to the cent and the thousandth [UP-2, UP-8]', () => {
    const sale = parse({
      total: 0.3,
      amount_received: 0.1 + 0.2,
      items: [{ product_id: 10, quantity: 1.5, price: 0.2, total: 0.3 }],
      payments: [{ payment_type_id: 1, amount: 0.3, status: 'completed' }],
    })
    expect(sale).to.include({ total: '0.30', amount_received: '0.30', change: '0.00' })
    expect(sale.items).to.deep.equal([{ product_id: 10, quantity: '1.500', price: '0.20', total: '0.30' }])
  })

  it('ignores fields that it does not know [SYNC-2]', () => {
    const known = parse()
    const items = offlineSaleOf().items.map((item) => ({ ...item, name: 'Café' }))
    expect(parse({ items, synced: false, till: { version: 3 } })).to.deep.equal(known)
  })

  it('takes payments that add up to the total or to what was received [UP-7]', () => {
    const cash = { total: 10, amount_received: 50, change: 40 }
    for (const amount of [10, 50]) {
      const payments = [{ payment_type_id: 1, amount, status: 'completed' }]
      expect(errorsOf(offlineSaleOf({ ...cash, payments }))).to.deep.equal({})
    }
  })

  it('works out what a till without a cash drawer leaves out [UP-7]', () => {
    const paid = [{ payment_type_id: 1, amount: 12, status: 'completed' }]
    for (const absent of [undefined, null]) {
      const none = { amount_received: absent, change: absent }
      expect(parse(none)).to.include({ amount_received: '10.00', change: '0.00' })
      expect(parse({ ...none, payments: paid })).to.include({ amount_received: '12.00', change: '2.00' })
      expect(parse({ amount_received: absent, change: 3 })).to.include({ amount_received: '13.00', change: '3.00' })
      expect(parse({ amount_received: 15, change: absent })).to.include({ amount_received: '15.00', change: '5.00' })
    }
  })

  it('takes a sale that was cancelled before it was paid [UP-10]', () => {
    const unpaid = { status: 'cancelled', payments: [], amount_received: 0, change: 0 }
    expect(errorsOf(offlineSaleOf(unpaid))).to.deep.equal({})
    expect(errorsOf(offlineSaleOf({ ...unpaid, total: 11 }))).to.have.all.keys('total')
    expect(errorsOf(offlineSaleOf({ ...unpaid, status: 'completed' }))).to.have.all.keys('change')
  })
})

describe('refusals of offline sale input', () => {
  const item = { product_id: 10, quantity: 1, price: 10, total: 10 }
  const payment = { payment_type_id: 1, amount: 10, status: 'completed' }
  const cases: [string, object, string[]][] = [
    ['lacks its identifier', { offline_id: undefined }, ['offline_id']],
    ['has a number for an identifier', { offline_id: 7 }, ['offline_id']],
    ['has an empty identifier', { offline_id: '' }, ['offline_id']],
    ['has a total as text', { total: '10.00' }, ['total']],
    ['has a negative amount', { change: -1 }, ['change']],
    ['has thousandths of a cent', { total: 10.0001 }, ['total']],
    ['has a status that nobody knows', { status: 'open' }, ['status']],
    ['has no moment', { created_at: undefined }, ['created_at']],
    ['has a moment without an offset', { created_at: '2026-03-10T10:00:00' }, ['created_at']],
    ['has no items', { items: [] }, ['items']],
    ['has too many items', { items: Array.from({ length: 501 }, () => item) }, ['items']],
    ['has an item of quantity 0', { items: [{ ...item, quantity: 0 }] }, ['items[0].quantity']],
    ['has an item without a product', { items: [{ ...item, product_id: null }] }, ['items[0].product_id']],
    [
      'has an item whose total is a cent off',
      { items: [{ ...item, total: 10.01 }], total: 10.01 },
      ['items[0].total', 'change'],
    ],
    [
      'has items that do not add up to the total',
      { total: 20, amount_received: 20, payments: [{ ...payment, amount: 20 }] },
      ['total'],
    ],
    [
      'has payments that add up to neither',
      { amount_received: 50, change: 40, payments: [{ ...payment, amount: 30 }] },
      ['payments'],
    ],
    [
      'has a payment with a status that nobody knows',
      { payments: [{ ...payment, status: 'paid' }] },
      ['payments[0].status'],
    ],
    ['has too much change', { amount_received: 50, change: 41, payments: [{ ...payment, amount: 50 }] }, ['change']],
    [
      'has received less than the total',
      { amount_received: 9, change: 0, payments: [{ ...payment, amount: 9 }] },
      ['change'],
    ],
    [
      'has a line beyond all money',
      { items: [{ ...item, quantity: 999_999_999, price: 9_999_999_999 }] },
      ['items[0].total'],
    ],
  ]
  for (const [what, fields, wrong] of cases) {
    it(`refuses a sale that ${what} [UP-2, UP-7]`, () => {
      const errors = errorsOf(offlineSaleOf(fields))
      expect(errors).to.have.all.keys(wrong)
      for (const messages of Object.values(errors)) expect(messages.join()).to.match(/\S/)
    })
  }

  for (const text of ['null', '7', '"venda"', '[]', 'true', '{"__proto__": 1}']) {
    it(`refuses ${text} in the place of a sale`, () => expect(errorsOf(JSON.parse(text))).not.to.deep.equal({}))
  }
})

describe('fingerprint of an offline sale', () => {
  const other: [string, object][] = [
    ['identifier', { offline_id: 'outra' }],
    ['status', { status: 'cancelled' }],
    ['moment', { created_at: '2026-03-10T14:00:00.001Z' }],
    ['cash', { amount_received: 20, change: 10 }],
    ['product', { items: [{ ...offlineSaleOf().items[0], product_id: 11 }] }],
    ['quantity and price', { items: [{ product_id: 10, quantity: 2, price: 5, total: 10 }] }],
    ['payment type', { payments: [{ payment_type_id: 2, amount: 10, status: 'completed' }] }],
    ['status of a payment', { payments: [{ payment_type_id: 1, amount: 10, status: 'pending' }] }],
  ]
  for (const [what, fields] of other) {
    it(`differs by ${what} [UP-5]`, () => expect(fingerprintOf(parse(fields))).not.to.equal(fingerprintOf(parse())))
  }

  it('is the same for the same values, however they are written [UP-5]', () => {
    const known = fingerprintOf(parse())
    expect(fingerprintOf(parse({ created_at: '2026-03-10T11:00:00-03:00', extra: 1 }))).to.equal(known)
    expect(fingerprintOf(parse({ amount_received: null, change: undefined }))).to.equal(known)
    const turned = Object.fromEntries(Object.entries(offlineSaleOf()).reverse())
    expect(fingerprintOf(OfflineSaleInput.parse(turned))).to.equal(known)
    expect(known).to.match(/^[0-9a-f]{64}$/)
  })
})

describe('any offline sale that adds up', () => {
  const line = fc.record({ thousandths: fc.integer({ min: 1, max: 99_999_999 }), cents: fc.nat({ max: 99_999 }) })
  const sale = fc.record({ lines: fc.array(line, { minLength: 1, maxLength: 20 }), change: fc.nat({ max: 99_999 }) })

  it('is accepted, and refused with one cent more or less in any of its amounts [UP-7]', () => {
    fc.assert(
      fc.property(sale, fc.constantFrom(-1, 1), ({ lines, change }, cent) => {
        const items = lines.map(({ thousandths, cents }) => ({
          product_id: 10,
          quantity: thousandths / 1000,
          price: cents / 100,
          total: lineTotal(thousandths, cents) / 100,
        }))
        const total = lines.reduce((sum, { thousandths, cents }) => sum + lineTotal(thousandths, cents), 0)
        const received = total + change
        const whole = {
          ...offlineSaleOf(),
          items,
          total: total / 100,
          amount_received: received / 100,
          change: change / 100,
          payments: [{ payment_type_id: 1, amount: received / 100, status: 'completed' }],
        }
        const parsed = OfflineSaleInput.parse(whole)
        expect(toCents(parsed.total)).to.equal(total)
        expect(parsed.items.map(({ quantity }) => toThousandths(quantity))).to.deep.equal(
          lines.map((each) => each.thousandths),
        )
        for (const field of ['total', 'amount_received', 'change'] as const) {
          const off = Number(fromCents(Math.round(whole[field] * 100) + cent))
          expect(errorsOf({ ...whole, [field]: off }), field).not.to.deep.equal({})
        }
      }),
    )
  })
})
