import { expect } from 'chai'
import fc from 'fast-check'
import { cancelSale } from '#commands/cancel-sale.ts'
import { ReturnBody, returnGoods } from '#commands/return-goods.ts'
import { fromCents, fromThousandths, lineTotal, toCents } from '#domain/money.ts'
import { shareDiscount } from '#domain/payment-rules.ts'
import type { DataOf } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import { companyRegistered, itemCreated, paymentTypeCreated, saleCompleted } from '../support/facts.ts'
import { given, type Scenario } from '../support/given.ts'
import { explore, TITLE } from '../support/random.ts'

const STOCK = 100_000
const FIRST_ITEM = 10
const [CASH, SALE] = [1, 8]

const line = fc.record({
  thousandths: fc.oneof(fc.constantFrom(1, 3, 1_000, 3_000), fc.integer({ min: 1, max: 5_000 })),
  price: fc.oneof(fc.constantFrom(0, 1, 333), fc.integer({ min: 0, max: 20_000 })),
  /** Percentages of the line. */
  discount: fc.constantFrom(0, 0, 7, 100),
})
type Line = typeof line extends fc.Arbitrary<infer T> ? T : never

const sale = fc.record({
  lines: fc.array(line, { minLength: 1, maxLength: 4 }),
  discount: fc.constantFrom(0, 0, 1, 13, 50, 100),
  fee: fc.constantFrom(0, 0, 1, 500),
})
type Sale = typeof sale extends fc.Arbitrary<infer T> ? T : never

/** A return of a part of lines, in thousandths of what was sold; more than that is too much. A rare cancellation. */
const step = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      parts: fc.uniqueArray(
        fc.record({ line: fc.nat(3), part: fc.constantFrom(1, 250, 333, 500, 999, 1_000), restock: fc.boolean() }),
        { selector: ({ line }) => line, minLength: 1, maxLength: 4 },
      ),
      withFee: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant('cancel' as const) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** What was paid for each line, and what came back of it so far. */
interface Known {
  readonly paid: number[]
  readonly sold: number[]
  readonly cents: number[]
  readonly thousandths: number[]
  readonly restocked: number[]
  fee: number
  isCancelled: boolean
}

async function sell({ lines, discount, fee }: Sale): Promise<{ scenario: Scenario; known: Known }> {
  const totals = lines.map(({ thousandths, price, discount }) => {
    const gross = lineTotal(thousandths, price)
    return gross - Math.floor((gross * discount) / 100)
  })
  const subtotal = totals.reduce((sum, total) => sum + total, 0)
  const less = Math.floor((subtotal * discount) / 100)
  const shares = shareDiscount(totals, less)
  const total = fromCents(subtotal - less + fee)
  const items = lines.map(({ thousandths, price, discount }: Line, place) => ({
    ...{ catalog_item_id: FIRST_ITEM + place, external_id: null, description: `Item ${place}`, moves_stock: true },
    quantity: fromThousandths(thousandths),
    unit_price: fromCents(price),
    ...(discount > 0 && { discount: fromCents(Math.floor((lineTotal(thousandths, price) * discount) / 100)) }),
    total: fromCents(totals[place] as number),
  }))
  const sold = saleCompleted({
    id: SALE,
    items,
    payments: [{ payment_type_id: CASH, name: 'Dinheiro', amount: total, surcharge: '0.00', net: total }],
    subtotal: fromCents(subtotal),
    ...(less > 0 && { discount: fromCents(less) }),
    delivery_fee: fromCents(fee),
    total,
  })
  const stocked = lines.map((_, place) =>
    itemCreated({ id: FIRST_ITEM + place, name: `Item ${place}`, stock: fromThousandths(STOCK) }),
  )
  const scenario = await given(companyRegistered(), paymentTypeCreated({ id: CASH }), ...stocked, sold)
  const none = () => lines.map(() => 0)
  return {
    scenario,
    known: {
      paid: totals.map((cents, place) => cents - (shares[place] as number)),
      sold: lines.map(({ thousandths }) => thousandths),
      cents: none(),
      thousandths: none(),
      restocked: none(),
      fee: 0,
      isCancelled: false,
    },
  }
}

/** Returns goods for exactly what the service says is due. */
async function giveBack(scenario: Scenario, fields: object): Promise<DataOf<'SaleReturned'> | string> {
  const asking = (refunds: object[]) =>
    scenario.when(returnGoods, { id: SALE, ...ReturnBody.parse({ reason: 'Defeito', refunds, ...fields }) })
  let { decision } = await asking([])
  if (isRefusal(decision) && decision.refused === 'payment_mismatch')
    decision = (await asking([{ payment_type_id: CASH, amount: String(decision.details?.due) }])).decision
  return isRefusal(decision) ? decision.refused : (decision.events[0]?.data as DataOf<'SaleReturned'>)
}

async function take(scenario: Scenario, known: Known, { lines, fee }: Sale, done: Exclude<Step, 'cancel'>) {
  const items = done.parts
    .filter(({ line }) => line < lines.length)
    .map(({ line, part, restock }) => ({
      line,
      restock,
      thousandths: Math.max(1, Math.round(((known.sold[line] as number) * part) / 1_000)),
    }))
  if (items.length === 0) return
  const sent = items.map(({ line, restock, thousandths }) => ({
    line,
    restock,
    quantity: fromThousandths(thousandths),
  }))
  const returned = await giveBack(scenario, { items: sent, delivery_fee: done.withFee })
  const isTooMuch = items.some(
    ({ line, thousandths }) => (known.thousandths[line] as number) + thousandths > (known.sold[line] as number),
  )
  const isFeeTwice = done.withFee && fee > 0 && known.fee === fee
  if (known.isCancelled) return void expect(returned).to.equal('sale_cancelled')
  if (isTooMuch || isFeeTwice) return void expect(returned).to.equal('already_returned')
  if (typeof returned === 'string') throw new Error(returned)
  for (const [place, { line, thousandths, restock }] of items.entries()) {
    const amount = toCents(returned.items[place]?.amount ?? '')
    const isLast = (known.thousandths[line] as number) + thousandths === known.sold[line]
    const share = ((known.paid[line] as number) * thousandths) / (known.sold[line] as number)
    if (!isLast) expect(amount, 'rounded share').to.be.at.most(share + 0.5)
    known.cents[line] = (known.cents[line] as number) + amount
    known.thousandths[line] = (known.thousandths[line] as number) + thousandths
    if (restock) known.restocked[line] = (known.restocked[line] as number) + thousandths
  }
  if (done.withFee) known.fee = fee
  const refunds = returned.refunds.reduce((sum, { amount }) => sum + toCents(amount), 0)
  expect(refunds).to.equal(toCents(returned.total))
}

interface ShownSale {
  readonly total: string
  readonly returned_total: string
  readonly items: readonly { readonly returned: string }[]
}

async function expectSums(scenario: Scenario, known: Known): Promise<void> {
  const shown = (await scenario.show(`sale/${SALE}`)) as ShownSale
  const back = known.cents.reduce((sum, cents) => sum + cents, known.fee)
  expect(toCents(shown.returned_total)).to.equal(back).and.at.most(toCents(shown.total))
  expect(shown.items.map(({ returned }) => returned)).to.deep.equal(known.thousandths.map(fromThousandths))
  for (const [place, sold] of known.sold.entries()) {
    expect(known.cents[place], `line ${place}`).to.be.within(0, known.paid[place] as number)
    if (known.thousandths[place] === sold)
      expect(known.cents[place], `all of line ${place}`).to.equal(known.paid[place])
    const left = STOCK - (known.isCancelled ? 0 : sold) + (known.restocked[place] as number)
    expect(await scenario.show(`catalog_item/${FIRST_ITEM + place}`)).to.include({ stock: fromThousandths(left) })
  }
}

describe(`random returns (${TITLE})`, () => {
  it('returns sum to what was paid; stock follows [RETURN-1] [RETURN-2] [RETURN-6]', () =>
    explore(
      fc.asyncProperty(sale, fc.array(step, { maxLength: 8 }), async (sold, steps) => {
        const { scenario, known } = await sell(sold)
        for (const done of steps) {
          if (done === 'cancel') {
            const { decision } = await scenario.when(cancelSale, { id: SALE })
            const hasReturns = known.thousandths.some((thousandths) => thousandths > 0)
            if (hasReturns) expect(decision).to.include({ refused: 'sale_returned' })
            else known.isCancelled = true
          } else await take(scenario, known, sold, done)
          await expectSums(scenario, known)
        }
        const left = known.sold.flatMap((thousandths, line) => {
          const rest = thousandths - (known.thousandths[line] as number)
          return rest > 0 ? [{ line, quantity: fromThousandths(rest) }] : []
        })
        if (known.isCancelled || left.length === 0) return
        const last = await giveBack(scenario, { items: left, delivery_fee: known.fee < sold.fee })
        if (typeof last === 'string') throw new Error(last)
        const { returned_total, total } = (await scenario.show(`sale/${SALE}`)) as ShownSale
        expect(returned_total).to.equal(total)
      }),
      150,
    ))
})
