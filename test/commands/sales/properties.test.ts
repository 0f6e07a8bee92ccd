import { expect } from 'chai'
import fc from 'fast-check'
import { cancelSale } from '#commands/cancel-sale.ts'
import { registerSale, type SaleInput } from '#commands/register-sale.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { fromThousandths, toThousandths } from '#domain/quantity.ts'
import type { DataOf } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import { companyRegistered, itemCreated, paymentTypeCreated } from '../../support/facts.ts'
import { type Decided, given, type Scenario } from '../../support/given.ts'

const fees = ['0.00', '0.01', '2.50', '33.33', '100.00']
const shop = [
  companyRegistered(),
  ...fees.map((fee_percentage, index) => paymentTypeCreated({ id: index + 1, name: fee_percentage, fee_percentage })),
  itemCreated({ id: 1, price: '3.33', stock: '4.000' }),
  itemCreated({ id: 2, name: 'Chá', price: '0.07', stock: '1.500' }),
  itemCreated({ id: 3, name: 'Água', price: '2.00' }),
]

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
/** All types are cash, so that any surplus is change. */
const sale: fc.Arbitrary<SaleInput> = fc.record({
  items: fc.array(fc.oneof(line, adHoc), { minLength: 1, maxLength: 6 }),
  payments: fc.array(payment, { minLength: 1, maxLength: 4 }),
  delivery_fee: fc.integer({ min: 0, max: 99_999 }).map(fromCents),
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
