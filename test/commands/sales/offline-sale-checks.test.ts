import { expect } from 'chai'
import fc from 'fast-check'
import { type OfflineSale, OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { addUp, type OfflineSaleSums } from '#commands/offline-sale-warnings.ts'
import { fromCents, lineTotal, toCents } from '#domain/money.ts'
import { offlineSaleOf } from '../../support/offline-sales.ts'

const CASH = 1
const CARD = 2
const isCash = ({ payment_type_id }: OfflineSale['payments'][number]) => payment_type_id === CASH

const sumsOf = (fields: object = {}): OfflineSaleSums => addUp(OfflineSaleInput.parse(offlineSaleOf(fields)), isCash)
const line = (quantity: number, price: number, total: number) => ({ product_id: 10, quantity, price, total })
const paid = (...payments: [type: number, amount: number][]) => ({
  payments: payments.map(([payment_type_id, amount]) => ({ payment_type_id, amount, status: 'completed' })),
})
/** A single line, paid exactly. */
const sold = (quantity: number, price: number, total: number) => ({
  items: [line(quantity, price, total)],
  total,
  amount_received: total,
  ...paid([CASH, total]),
})
const codes = ({ warnings }: OfflineSaleSums) => warnings.map(({ code }) => code)

describe('sums of an offline sale', () => {
  const lines: [string, number, number, number, string[], string][] = [
    ['exact', 2, 9.99, 19.98, [], '0.00'],
    ['rounded half up', 0.333, 29.9, 9.96, [], '0.00'],
    ['truncated', 0.333, 29.9, 9.95, ['line_total_rounded'], '0.00'],
    ['rounded up', 0.333, 29.9, 9.97, ['line_total_rounded'], '0.00'],
    ['two cents below', 0.333, 29.9, 9.94, ['line_discount'], '0.02'],
    ['a package whose price was divided', 12, 0.83, 10, ['line_total_rounded'], '0.00'],
    ['one cent a unit below', 12, 1, 11.88, ['line_total_rounded'], '0.00'],
    ['more than one cent a unit below', 12, 1, 11.87, ['line_discount'], '0.13'],
    ['given away', 1, 10, 0, ['line_discount'], '10.00'],
  ]
  for (const [what, quantity, price, total, warned, discount] of lines) {
    it(`accept a line that is ${what} [UP-20]`, () => {
      const sums = sumsOf(sold(quantity, price, total))
      expect(sums.wrong).to.deep.equal({})
      expect(codes(sums)).to.deep.equal(warned)
      expect(sums.lines).to.deep.equal([{ total: total.toFixed(2), discount }])
      expect(sums.discount).to.equal('0.00')
    })
  }

  it('record a total below the items as a discount on the sale [UP-21]', () => {
    const sums = sumsOf({ total: 9, amount_received: 9, ...paid([CASH, 9]) })
    expect(sums).to.deep.include({ discount: '1.00', lines: [{ total: '10.00', discount: '0.00' }], wrong: {} })
    expect(codes(sums)).to.deep.equal(['discount'])
  })

  it('distribute a total rounded at the end, one cent per line [UP-21]', () => {
    const items = Array.from({ length: 3 }, () => line(0.333, 1, 0.33))
    const sums = sumsOf({ items, total: 1, amount_received: 1, ...paid([CASH, 1]) })
    expect(sums.wrong).to.deep.equal({})
    expect(codes(sums)).to.deep.equal(['total_rounded'])
    expect(sums.lines.map(({ total }) => total)).to.deep.equal(['0.34', '0.33', '0.33'])
  })

  const cash: [string, object, { received: string; change: string; warned?: string[] }][] = [
    [
      'payments net of change',
      { amount_received: 50, change: 40, ...paid([CASH, 10]) },
      { received: '50.00', change: '40.00' },
    ],
    [
      'payments with the change',
      { amount_received: 50, change: 40, ...paid([CASH, 50]) },
      { received: '50.00', change: '40.00' },
    ],
    ['absent cash fields', { amount_received: null, change: null }, { received: '10.00', change: '0.00' }],
    [
      'a surplus without cash fields',
      { amount_received: null, change: null, ...paid([CASH, 12]) },
      { received: '12.00', change: '2.00' },
    ],
    ['the change only', { amount_received: null, change: 3 }, { received: '13.00', change: '3.00' }],
    ['the received amount only', { amount_received: 15, change: null }, { received: '15.00', change: '5.00' }],
    [
      'a received amount of zero without cash payments',
      { amount_received: 0, change: 0, ...paid([CARD, 10]) },
      { received: '0.00', change: '0.00', warned: ['amount_received_differs'] },
    ],
    [
      'received cash beside a card',
      { amount_received: 4, change: 0, ...paid([CARD, 6], [CASH, 4]) },
      { received: '4.00', change: '0.00', warned: ['amount_received_differs'] },
    ],
    [
      'cash beside a card, and its change',
      { amount_received: 5, change: 1, ...paid([CARD, 6], [CASH, 4]) },
      { received: '5.00', change: '1.00', warned: ['amount_received_differs'] },
    ],
    [
      'cash beside a card, without its change',
      { amount_received: 5, change: null, ...paid([CARD, 6], [CASH, 4]) },
      { received: '5.00', change: '1.00', warned: ['amount_received_differs'] },
    ],
    [
      'cash with its change beside a card',
      { amount_received: 5, change: 1, ...paid([CARD, 6], [CASH, 5]) },
      { received: '5.00', change: '1.00', warned: ['amount_received_differs'] },
    ],
    [
      'all of mixed payments',
      { amount_received: 10, change: 0, ...paid([CARD, 6], [CASH, 4]) },
      { received: '10.00', change: '0.00' },
    ],
    [
      'a received amount of zero for cash',
      { amount_received: 0, change: 0 },
      { received: '0.00', change: '0.00', warned: ['amount_received_differs'] },
    ],
    [
      'a change that does not fit the cash',
      { amount_received: 50, change: 41, ...paid([CASH, 50]) },
      { received: '50.00', change: '41.00', warned: ['amount_received_differs'] },
    ],
    [
      'no change for what is too much',
      { amount_received: 50, change: 0, ...paid([CASH, 50]) },
      { received: '50.00', change: '0.00', warned: ['amount_received_differs'] },
    ],
    [
      'a received amount below the cash beside a card',
      { amount_received: 1, change: 0, ...paid([CARD, 6], [CASH, 4]) },
      { received: '1.00', change: '0.00', warned: ['amount_received_differs'] },
    ],
    [
      'no payments of a sale cancelled before payment',
      { status: 'cancelled', payments: [], amount_received: 0, change: 0 },
      { received: '0.00', change: '0.00' },
    ],
  ]
  for (const [what, fields, { received, change, warned = [] }] of cash) {
    it(`accept ${what} [UP-7]`, () => {
      const sums = sumsOf(fields)
      expect(sums.wrong).to.deep.equal({})
      expect(sums).to.include({ amount_received: received, change })
      expect(codes(sums)).to.deep.equal(warned)
    })
  }

  const contradictions: [string, object, string[]][] = [
    ['a line above its price by more than rounding', { items: [line(1, 10, 10.02)] }, ['items[0].total']],
    ['a line above the limit', { items: [line(999_999_999, 9_999_999_999, 10)] }, ['items[0].total']],
    ['a total above the items', sold(1, 10, 10) && { total: 20, amount_received: 20, ...paid([CASH, 20]) }, ['total']],
    ['payments below the total', { ...paid([CASH, 9]) }, ['payments']],
    ['payments that are neither', { amount_received: 50, change: 40, ...paid([CASH, 30]) }, ['payments', 'change']],
    [
      'cash above the total that no amount explains',
      { amount_received: 0, change: 0, ...paid([CASH, 30]) },
      ['payments', 'change'],
    ],
    ['change that does not fit a card', { amount_received: 50, change: 41, ...paid([CARD, 10]) }, ['change']],
    ['no payments', { payments: [] }, ['payments']],
    ['less received than the total', { amount_received: 9, change: 0, ...paid([CASH, 9]) }, ['change']],
    ['a half that was received by card', { amount_received: 5, change: 0, ...paid([CARD, 5]) }, ['change']],
  ]
  for (const [what, fields, wrong] of contradictions) {
    it(`refuse ${what} [UP-7, UP-20, UP-21]`, () => {
      const sums = sumsOf(fields)
      expect(Object.keys(sums.wrong)).to.have.members(wrong)
      for (const messages of Object.values(sums.wrong)) expect(messages.join()).to.match(/\S/)
    })
  }

  it('are too large if items or payments are [UP-7]', () => {
    const most = 9_999_999_999.99
    expect(sumsOf({ items: [line(1, most, most), line(1, most, most)] }).isTooLarge).to.equal(true)
    expect(sumsOf({ ...paid([CASH, most], [CASH, most]), amount_received: null, change: null }).isTooLarge).to.equal(
      true,
    )
    expect(sumsOf().isTooLarge).to.equal(false)
  })
})

describe('any accepted sums', () => {
  const cents = fc.nat({ max: 99_999 })
  const some = fc.record({
    thousandths: fc.integer({ min: 1, max: 99_999 }),
    price: cents,
    off: fc.integer({ min: -99, max: 9 }),
  })
  const sale = fc.record({
    lines: fc.array(some, { minLength: 1, maxLength: 10 }),
    discount: fc.integer({ min: -3, max: 500 }),
    card: cents,
    given: cents,
    isNet: fc.boolean(),
    says: fc.constantFrom('all', 'cash', 'nothing'),
  })

  it('equal items less discount, and the charged payments [UP-7, UP-21]', () => {
    fc.assert(
      fc.property(sale, ({ lines, discount, card, given, isNet, says }) => {
        const items = lines.map(({ thousandths, price, off }) =>
          line(thousandths / 1000, price / 100, Math.max(lineTotal(thousandths, price) + off, 0) / 100),
        )
        const sum = items.reduce((total, item) => total + Math.round(item.total * 100), 0)
        const total = Math.max(sum - discount, 0)
        const byCard = Math.min(card, total)
        const inCash = total - byCard
        const change = inCash > 0 ? given : 0
        const received = { all: total + change, cash: inCash + change, nothing: null }[says]
        const sums = sumsOf({
          items,
          total: total / 100,
          amount_received: received === null ? null : received / 100,
          change: change / 100,
          ...paid([CARD, byCard / 100], [CASH, (inCash + (isNet ? 0 : change)) / 100]),
        })
        if (Object.keys(sums.wrong).length > 0) {
          const isAbove = lines.some(({ thousandths, off }) => off > Math.ceil(thousandths / 1000))
          expect(isAbove || -discount > lines.length || total > sum + lines.length).to.equal(true)
          return
        }
        const subtotal = sums.lines.reduce((all, each) => all + toCents(each.total), 0)
        expect(fromCents(subtotal - toCents(sums.discount))).to.equal(fromCents(total))
        expect(sums.change).to.equal(fromCents(change))
      }),
    )
  })
})
