import { expect } from 'chai'
import fc from 'fast-check'
import { fingerprintSale, type OfflineSale, OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { addUp, type OfflineSaleSums } from '#commands/offline-sale-warnings.ts'
import { type RefusedSaleRecording, recordOfflineSale, recordRefusedSale } from '#commands/record-offline-sale.ts'
import { registerSale, SaleInput } from '#commands/register-sale.ts'
import { fromCents, lineTotal, toCents } from '#domain/money.ts'
import { describeIssues } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import { type Accepted, isRefusal } from '#ledger/command.ts'
import { offlineSaleCancelled, offlineSaleCompleted, saleCompleted } from '../support/facts.ts'
import { type Decided, FIRST_NEW_ID, given } from '../support/given.ts'
import { offlineSaleOf } from '../support/offline-sales.ts'
import { ACCOUNT, CARD, input, paidBy, recorded, shop, warning } from './offline-company.ts'

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
    it(`differs for ${what} [UP-5]`, () =>
      expect(fingerprintSale(parse(fields))).not.to.equal(fingerprintSale(parse())))
  }

  it('is equal for equal values in different notations, with details of payments too [UP-5]', () => {
    const known = fingerprintSale(parse())
    expect(fingerprintSale(parse({ created_at: '2026-03-10T11:00:00-03:00', extra: 1 }))).to.equal(known)
    expect(fingerprintSale(parse({ amount_received: null, change: undefined }))).to.equal(known)
    expect(fingerprintSale(parse({ customer_id: 7 }))).to.equal(known)
    const [payment] = offlineSaleOf().payments
    const detailed = { ...payment, card: { brand: 'visa', nsu: '004711' }, end_to_end_id: 'E1' }
    expect(fingerprintSale(parse({ payments: [detailed] }))).to.equal(known)
    const turned = Object.fromEntries(Object.entries(offlineSaleOf()).reverse())
    expect(fingerprintSale(OfflineSaleInput.parse(turned))).to.equal(known)
    expect(known).to.match(/^[0-9a-f]{64}$/)
  })
})

const CASH = 1
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

const PIX = 'E00038166201907261559y6j6mt9l0pi'
const card = {
  brand: null,
  nsu: '004711',
  authorization: 'R07242',
  installments: null,
  acquirer_cnpj: '01027058000191',
  integrated: null,
}
const cancelled = (id: number) => event('SaleCancelled', { id, reason: null, restock: [] })

const sale = (details: object) =>
  SaleInput.parse({
    items: [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }],
    payments: [{ payment_type_id: CARD, amount: '10.00', ...details }],
  })
const uploaded = (details: object, fields: object = {}) =>
  input({ payments: [{ payment_type_id: CARD, amount: 10, status: 'completed', ...details }], ...fields })

/** Warnings in the event, and beside the record in the answer. */
function warned({ decision }: Decided) {
  if (isRefusal(decision)) throw new Error(`refused: ${JSON.stringify(decision)}`)
  const { warnings = [] } = (decision.events[0]?.data ?? {}) as { warnings?: object[] }
  const { warnings: remarks = [] } = (decision.remarks ?? {}) as { warnings?: object[] }
  return { own: warnings, remarks }
}

const USED = { code: 'payment_already_used', sale_id: 8 }

describe('a payment of another sale', () => {
  const paid = { payment_type_id: CARD, name: 'Cartão', amount: '10.00', surcharge: '0.00', net: '10.00' }
  const byPix = (id: number) => saleCompleted({ id, payments: [{ ...paid, end_to_end_id: PIX }] })
  const byCard = (id: number) => saleCompleted({ id, payments: [{ ...paid, card }] })

  const cases: [string, object, number | null][] = [
    ['the same Pix', { end_to_end_id: PIX }, 8],
    ['the same Pix in other letters', { end_to_end_id: PIX.toUpperCase() }, 8],
    ['another Pix', { end_to_end_id: `${PIX.slice(0, -1)}x` }, null],
    ['the same card transaction', { card: { ...card, brand: 'visa', installments: 3 } }, 9],
    ['its NSU without zeros', { card: { ...card, nsu: '4711' } }, 9],
    ['the NSU of another authorization', { card: { ...card, authorization: 'R07243' } }, null],
    ['the NSU of another acquirer', { card: { ...card, acquirer_cnpj: '10440482000154' } }, null],
    ['an NSU without authorization', { card: { ...card, authorization: null } }, null],
    ['no details', {}, null],
  ]
  for (const [title, details, sale_id] of cases) {
    it(`is ${sale_id === null ? 'not ' : ''}warned of, in API and upload: ${title} [SALE-785]`, async () => {
      const scenario = await given(...shop, byPix(8), byCard(9))
      const known = sale_id === null ? [] : [{ code: 'payment_already_used', sale_id }]
      expect(warned(await scenario.when(registerSale, sale(details))).own).to.deep.equal(known)
      const till = await given(...shop, byPix(8), byCard(9))
      const { warnings } = recorded(await till.when(recordOfflineSale, uploaded(details)))
      const named = warnings.flatMap((each) => ('sale_id' in each ? [each.sale_id] : []))
      expect(named).to.deep.equal(sale_id === null ? [] : [sale_id])
    })
  }

  it('is named by field in the answer, and refused in a strict request [SALE-785, SALE-786]', async () => {
    const scenario = await given(...shop, byPix(8), byCard(9))
    const both = SaleInput.parse({
      items: [{ description: 'Bolo', quantity: '2', unit_price: '10.00' }],
      payments: [
        { payment_type_id: CARD, amount: '10.00', card },
        { payment_type_id: CARD, amount: '10.00', end_to_end_id: PIX },
      ],
    })
    expect(warned(await scenario.when(registerSale, both)).remarks).to.deep.equal([
      { code: 'payment_already_used', field: 'payments[0].card.nsu', message: 'já está na venda 9', sale_id: 9 },
      { ...USED, field: 'payments[1].end_to_end_id', message: 'já está na venda 8' },
    ])
    const fresh = await given(...shop, byPix(8))
    const refused = await fresh.when(registerSale, { ...sale({ end_to_end_id: PIX }), strict: true })
    refused.refuses('payment_already_used', { field: 'payments[0].end_to_end_id', sale_id: 8 })
    const other = await fresh.when(registerSale, { ...sale({ card }), strict: true })
    expect(warned(other)).to.deep.equal({ own: [], remarks: [] })
  })

  it('is free again when its sale is cancelled, and taken by the next that stands [SALE-785]', async () => {
    const scenario = await given(...shop, byPix(7), byPix(8), cancelled(7))
    expect(warned(await scenario.when(registerSale, sale({ end_to_end_id: PIX }))).own).to.deep.equal([USED])
    const payments = [{ ...paid, status: 'completed' as const, end_to_end_id: PIX }]
    const free = await given(...shop, byPix(8), cancelled(8), offlineSaleCancelled({ id: 9, payments }))
    expect(warned(await free.when(registerSale, { ...sale({ end_to_end_id: PIX }), strict: true })).own).to.deep.equal(
      [],
    )
  })

  it('is not warned of in the same upload again, nor in a cancelled one [SALE-785]', async () => {
    const scenario = await given(...shop)
    const own = uploaded({ end_to_end_id: PIX })
    expect(recorded(await scenario.when(recordOfflineSale, own)).warnings).to.deep.equal([])
    const again = (await scenario.when(recordOfflineSale, own)).decision as Accepted
    expect([again.outcome, again.remarks]).to.deep.equal(['unchanged', { warnings: [] }])
    const gone = uploaded({ end_to_end_id: PIX }, { offline_id: 'pdv-2', status: 'cancelled' })
    expect(recorded(await scenario.when(recordOfflineSale, gone)).warnings).to.deep.equal([])
    const payments = [{ ...paid, status: 'completed' as const, end_to_end_id: PIX }]
    const other = await given(...shop, offlineSaleCompleted({ id: 8, offline_id: 'a', payments }))
    const { warnings } = recorded(await other.when(recordOfflineSale, own))
    expect(warnings).to.deep.equal([{ ...warning('payment_already_used', { found: PIX }), sale_id: 8 }])
  })
})

const wrong = input({ total: 11 })
const recording = (fields: Partial<RefusedSaleRecording> = {}): RefusedSaleRecording => ({
  sale: wrong,
  fingerprint: fingerprintSale(wrong),
  how: 'recorded_as_is',
  reason: 'O cliente pagou assim.',
  ...fields,
})
const remark = warning('recorded_as_is', { found: 'O cliente pagou assim.' })

describe('record a refused sale unchanged', () => {
  it('records the uploaded amounts with the reason, and moves stock [UP-17]', async () => {
    const scenario = await given(...shop)
    const decided = await scenario.when(recordRefusedSale, recording(), 'pdv')
    const { data } = recorded(decided)
    expect(data).to.deep.include({ total: '11.00', amount_received: '10.00', change: '0.00', warnings: [remark] })
    expect(await scenario.show(`sale/${FIRST_NEW_ID}`)).to.include({
      subtotal: '10.00',
      discount: '0.00',
      total: '11.00',
    })
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '4.000' })
  })

  it('names unknown products and payment types by number [UP-17]', async () => {
    const scenario = await given(...shop)
    const items = [{ product_id: 99, quantity: 1, price: 10, total: 10 }]
    const sale = input({ items, ...paidBy(77) })
    const { data } = recorded(await scenario.when(recordRefusedSale, recording({ sale }), 'pdv'))
    expect(data.items[0]).to.deep.include({ catalog_item_id: null, description: 'Produto 99', moves_stock: false })
    expect(data.payments[0]).to.deep.include({ payment_type_id: 77, name: 'Forma de pagamento 77', net: '10.00' })
    expect(data.warnings).to.deep.equal([
      remark,
      warning('product_unknown', { product_id: 99 }),
      warning('payment_type_unknown', { found: '77' }),
    ])
  })

  it('creates its receivables [UP-11, UP-17]', async () => {
    const scenario = await given(...shop)
    recorded(
      await scenario.when(recordRefusedSale, recording({ sale: input({ total: 11, ...paidBy(ACCOUNT) }) }), 'pdv'),
    )
    expect(await scenario.show(`receivable/${FIRST_NEW_ID}`)).to.include({ amount: '10.00', sale_id: FIRST_NEW_ID })
  })

  it('refuses sums above the limit', async () => {
    const scenario = await given(...shop)
    const item = { product_id: 10, quantity: 1, price: 9_999_999_999, total: 9_999_999_999 }
    const decided = await scenario.when(recordRefusedSale, recording({ sale: input({ items: [item, item] }) }), 'pdv')
    expect(decided.decision).to.include({ refused: 'validation_failed' })
  })
})

describe('record a refused sale corrected', () => {
  const corrected = (fields: Partial<RefusedSaleRecording> = {}) => recording({ how: 'recorded_corrected', ...fields })

  it('checks it like an upload [UP-17]', async () => {
    const scenario = await given(...shop)
    const decided = await scenario.when(recordRefusedSale, corrected(), 'pdv')
    expect(decided.decision).to.include({ refused: 'validation_failed' })
    const { warnings } = recorded(await scenario.when(recordRefusedSale, corrected({ sale: input() }), 'pdv'))
    expect(warnings).to.deep.equal([{ ...remark, code: 'recorded_corrected' }])
  })

  it('matches repeated uploads by fingerprint, and any upload with the same time [UP-17]', async () => {
    const scenario = await given(...shop)
    await scenario.when(recordRefusedSale, corrected({ sale: input() }), 'pdv')
    for (const sent of [wrong, input({ total: 12 })]) {
      const again = await scenario.when(recordOfflineSale, sent, 'pdv')
      again.accepts('unchanged')
      expect(again.decision).to.include({ subject: `sale/${FIRST_NEW_ID}` })
    }
    const other = await scenario.when(recordOfflineSale, input({ created_at: '2026-03-10T18:00:00.000Z' }), 'pdv')
    other.refuses('duplicate_resource', { field: 'offline_id', conflicting_id: FIRST_NEW_ID })
  })
})

describe('record a refused sale', () => {
  it('records it once [UP-17]', async () => {
    const scenario = await given(...shop)
    await scenario.when(recordRefusedSale, recording(), 'pdv')
    const again = await scenario.when(recordRefusedSale, recording(), 'pdv')
    again.accepts('unchanged')
  })

  it('refuses the identifier of another sale', async () => {
    const scenario = await given(...shop)
    await scenario.when(recordOfflineSale, input(), 'pdv')
    const decided = await scenario.when(recordRefusedSale, recording(), 'pdv')
    decided.refuses('duplicate_resource', { field: 'offline_id', conflicting_id: FIRST_NEW_ID })
  })
})
