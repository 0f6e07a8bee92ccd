import { expect } from 'chai'
import fc from 'fast-check'
import { cancelSale } from '#commands/cancel-sale.ts'
import { updateItem } from '#commands/item-commands.ts'
import { registerSale } from '#commands/register-sale.ts'
import { recordStockMovement } from '#commands/stock-commands.ts'
import { fromThousandths, toThousandths } from '#domain/money.ts'
import { event } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import { movementById, stockById, stockMovements, toMovementId } from '#projections/stock.ts'
import {
  companyRegistered,
  itemCreated,
  orderPlaced,
  paymentTypeCreated,
  saleCompleted,
  stockCounted,
  storeCreated,
} from '../support/facts.ts'
import { from, given, minute, type Scenario } from '../support/given.ts'
import { explore, TITLE } from '../support/random.ts'

const tracked = itemCreated({ id: 3, stock: '5.000' })

const line = (quantity: string) => ({
  catalog_item_id: 3,
  external_id: null,
  description: 'Café',
  quantity,
  unit_price: '1.00',
  total: '1.00',
  moves_stock: true,
})

const movementOf = async (scenario: Scenario, revision: number, place = 0) => {
  const ref = movementById(toMovementId(revision, place))
  return (await scenario.rows(ref)).get(ref)
}

describe('stock projection', () => {
  it('notes the first stock as a count, and a count by its difference [STOCK-2]', async () => {
    const scenario = await given(companyRegistered(), tracked, stockCounted(3, '5.000', '3.500'))
    expect(await movementOf(scenario, 1)).to.include({ kind: 'count', quantity: '5.000', balance: '5.000' })
    expect(await movementOf(scenario, 2)).to.include({ kind: 'count', quantity: '-1.500', balance: '3.500' })
  })

  it('notes the end of tracking with its rest, and no balance [STOCK-2]', async () => {
    const scenario = await given(companyRegistered(), tracked, stockCounted(3, '5.000', null))
    expect(await movementOf(scenario, 2)).to.include({ kind: 'count', quantity: '-5.000', balance: null })
  })

  it('notes a sale once per item, with its own time, and its cancellation [STOCK-2]', async () => {
    const sold = saleCompleted({ id: 8, items: [line('1.250'), line('0.750')], sold_at: '2026-03-01T10:00:00.000Z' })
    const cancelled = event('SaleCancelled', {
      id: 8,
      reason: null,
      restock: [
        { catalog_item_id: 3, quantity: '1.250' },
        { catalog_item_id: 3, quantity: '0.750' },
      ],
    })
    const scenario = await given(companyRegistered(), tracked, from('pdv', sold), cancelled)
    const sale = { kind: 'sale', quantity: '-2.000', balance: '3.000', record: 'sale/8', document: null }
    expect(await movementOf(scenario, 2)).to.include({ ...sale, occurred_at: '2026-03-01T10:00:00.000Z' })
    expect(await movementOf(scenario, 2, 1)).to.equal(null)
    const cancel = { kind: 'cancel', quantity: '2.000', balance: '5.000', record: 'sale/8', occurred_at: null }
    expect(await movementOf(scenario, 3)).to.include({ ...cancel, changed_at: minute(3) })
  })

  it('names the order of returned goods [STOCK-2, ORDER-12]', async () => {
    const returned = event('StockAdjusted', { id: 3, reason: 'return', before: '5.000', after: '6.000', order_id: 7 })
    const scenario = await given(companyRegistered(), storeCreated(), orderPlaced({ id: 7 }), tracked, returned)
    expect(await movementOf(scenario, 4)).to.include({ kind: 'return', quantity: '1.000', record: 'order/7' })
  })
})

const item = fc.constantFrom(1, 2, 3)
const act = fc.oneof(
  fc.record({ sell: fc.array(fc.tuple(item, fc.constantFrom('0.5', '1', '3')), { minLength: 1, maxLength: 4 }) }),
  fc.record({ cancel: fc.nat({ max: 8 }) }),
  fc.record({
    move: fc.record({
      catalog_item_id: item,
      kind: fc.constantFrom('purchase' as const, 'count' as const, 'loss' as const, 'adjustment' as const),
      quantity: fc.constantFrom('1', '2.25', '-1', '40'),
    }),
  }),
  fc.record({ patch: fc.tuple(item, fc.constantFrom<string | null>('7', '0', null)) }),
  fc.record({ refund: item }),
)
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never

/** Plays an act on the scenario; refused ones change nothing. */
async function play(scenario: Scenario, one: Act, sales: number[]): Promise<void> {
  if ('sell' in one) {
    const items = one.sell.map(([catalog_item_id, quantity]) => ({ catalog_item_id, quantity, unit_price: '1.00' }))
    const total = one.sell.reduce((sum, [, quantity]) => sum + Number(quantity), 0)
    const payments = [{ payment_type_id: 1, amount: total.toFixed(2) }]
    const { decision } = await scenario.when(registerSale, { items, payments })
    if (!isRefusal(decision)) sales.push(Number(decision.subject.slice('sale/'.length)))
  } else if ('cancel' in one) {
    const id = sales[one.cancel]
    if (id !== undefined) await scenario.when(cancelSale, { id })
  } else if ('move' in one) await scenario.when(recordStockMovement, one.move)
  else if ('patch' in one) await scenario.when(updateItem, { id: one.patch[0], changes: { stock: one.patch[1] } })
  else {
    const before = (await scenario.rows(stockById(one.refund))).get(stockById(one.refund))?.stock ?? null
    if (before === null) return
    const after = fromThousandths(toThousandths(before) + 1_000)
    await scenario.happens(event('StockAdjusted', { id: one.refund, reason: 'return', before, after, order_id: 1 }))
  }
}

describe(`balances of stock movements (${TITLE})`, () => {
  it('are the sum of the quantities so far, and end at the stock', () =>
    explore(
      fc.asyncProperty(fc.array(act, { maxLength: 40 }), async (acts) => {
        const stocks = ['5.000', '100.000', null]
        const items = stocks.map((stock, n) => itemCreated({ id: n + 1, stock, name: `Item ${n}` }))
        const scenario = await given(
          companyRegistered(),
          storeCreated(),
          orderPlaced(),
          paymentTypeCreated({ id: 1 }),
          ...items,
        )
        const sales: number[] = []
        for (const one of acts) await play(scenario, one, sales)
        const moved = [...scenario.changed(stockMovements)]
        for (const id of [1, 2, 3]) {
          let sum = 0
          const own = moved.filter(({ catalog_item_id }) => catalog_item_id === id).sort((a, b) => a.id - b.id)
          for (const { quantity, balance } of own) {
            sum += toThousandths(quantity)
            expect(fromThousandths(sum)).to.equal(balance ?? '0.000')
          }
          const stock = (await scenario.rows(stockById(id))).get(stockById(id))?.stock ?? null
          expect(own.at(-1)?.balance ?? null).to.equal(stock)
        }
      }),
      30,
    ))
})
