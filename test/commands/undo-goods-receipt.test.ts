import { expect } from 'chai'
import { ReceiveGoodsInput, receiveGoods, undoGoodsReceipt } from '#commands/receive-goods.ts'
import { createNfeXml } from '#demo/companies/demo-seed.ts'
import { refuse } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import { stockMovements } from '#projections/stock.ts'
import { companyRegistered, itemCreated, stockCounted } from '../support/facts.ts'
import { given, FIRST_NEW_ID as N } from '../support/given.ts'

const { accessKey } = createNfeXml({ buyer: '11222333000181', lines: [] })
const bills = [
  { due_date: '2026-04-10', amount: '60.00' },
  { due_date: '2026-05-10', amount: '60.00' },
]
const input = (fields: object = {}) =>
  ReceiveGoodsInput.parse({
    access_key: accessKey,
    new_items: [{ name: 'Biscoito', price: '5.99' }],
    lines: [
      { catalog_item_id: 3, quantity: '2', factor: '12', cost: '96.00' },
      { catalog_item_id: 4, quantity: '1', factor: '1', cost: '2.00' },
      { new_item: 0, quantity: '10', factor: '1', cost: '22.00' },
    ],
    bills,
    ...fields,
  })

/** A receipt of a counted item, one that is not counted, and a new one. */
async function received(fields: object = {}) {
  const scenario = await given(
    companyRegistered(),
    itemCreated({ id: 3, stock: '5.000', cost: '9.00' }),
    itemCreated({ id: 4, cost: '1.00' }),
  )
  await scenario.when(receiveGoods, input(fields))
  return scenario
}

const repriced = (id: number, cost: string | null) => event('CatalogItemUpdated', { id, changes: { cost } })
const taken = { catalog_item_id: 3, before: '29.000', after: '5.000' }
const takenNew = { catalog_item_id: N, before: '10.000', after: '0.000' }
const undone = (left: number[]) => event('GoodsReceiptUndone', { id: N, stocks: [taken, takenNew], left })

describe('undo a goods receipt', () => {
  it('takes back stock, costs and unpaid bills, and frees the access key [STOCK-1330] [STOCK-1271]', async () => {
    const scenario = await received()
    ;(await scenario.when(receiveGoods, input())).refuses('duplicate_resource', {
      field: 'access_key',
      conflicting_id: N,
    })
    ;(await scenario.when(undoGoodsReceipt, { id: N })).accepts(
      'updated',
      undone([]),
      repriced(3, '9.00'),
      repriced(4, '1.00'),
      repriced(N, null),
      event('PayableDeleted', { id: N }),
      event('PayableDeleted', { id: N + 1 }),
    )
    expect(await scenario.show('catalog_item/3')).to.include({ stock: '5.000', cost: '9.00' })
    expect(await scenario.show('catalog_item/4')).to.include({ stock: null, cost: '1.00' })
    expect(await scenario.show(`catalog_item/${N}`)).to.include({ stock: '0.000', cost: null })
    expect(await scenario.show(`payable/${N}`)).to.equal(null)
    expect(scenario.changed(stockMovements).filter(({ quantity }) => quantity === '-24.000')).to.have.length(1)
    ;(await scenario.when(undoGoodsReceipt, { id: N })).accepts('unchanged')
    const again = await scenario.when(receiveGoods, input({ new_items: [], lines: input().lines.slice(0, 2) }))
    expect(again.decision).to.include({ outcome: 'created' })
    expect(await scenario.show('catalog_item/3')).to.include({ stock: '29.000', cost: '4.00' })
    expect(await scenario.show(`goods_receipt/${N}`)).to.include({ access_key: accessKey })
  })

  it('leaves and names costs that changed since, or that a later purchase gave again', async () => {
    const scenario = await received()
    await scenario.happens(repriced(4, '3.00'))
    const later = [{ catalog_item_id: N }]
    const decided = await scenario.when(undoGoodsReceipt, { id: N }, 'panel', 'user/1', null, later)
    decided.accepts(
      'updated',
      undone([4, N]),
      repriced(3, '9.00'),
      event('PayableDeleted', { id: N }),
      event('PayableDeleted', { id: N + 1 }),
    )
    expect(await scenario.show(`goods_receipt/${N}`)).to.deep.include({ left: [4, N] })
  })

  it('refuses a paid bill, and one paid in part, named; a deleted one is left', async () => {
    const scenario = await received()
    await scenario.happens(
      event('PayablePaymentMade', {
        ...{ id: N + 1, kind: 'payment', amount: '1.00', interest: '0.00', fine: '0.00', discount: '0.00' },
        ...{ excess: '0.00', paid_at: '2026-03-10T15:00:00.000Z', paid_on: '2026-03-10', payment_method: null },
      }),
    )
    ;(await scenario.when(undoGoodsReceipt, { id: N })).refuses('has_payments', { payable_ids: [N + 1] })
    const other = await received()
    await other.happens(event('PayableDeleted', { id: N }))
    const { decision } = await other.when(undoGoodsReceipt, { id: N })
    const deleted = 'events' in decision ? decision.events.filter(({ type }) => type === 'PayableDeleted') : []
    expect(deleted).to.deep.equal([event('PayableDeleted', { id: N + 1 })])
  })

  it('refuses what would leave less than no stock, as a movement does, and names each item', async () => {
    const scenario = await received()
    await scenario.happens(stockCounted(3, '29.000', '23.999'))
    const short = { catalog_item_id: 3, requested: '24.000', available: '23.999' }
    ;(await scenario.when(undoGoodsReceipt, { id: N })).refuses('insufficient_stock', { ...short, items: [short] })
    await scenario.happens(stockCounted(3, '23.999', null))
    const { decision } = await scenario.when(undoGoodsReceipt, { id: N })
    expect(decision).to.have.nested.property('events[0].data.stocks').that.deep.equals([takenNew])
  })

  it('needs both permissions, and a receipt', async () => {
    const scenario = await received()
    const missing = refuse('permission_required', { permission: 'edit_payables' })
    const decided = await scenario.when(undoGoodsReceipt, { id: N }, 'panel', 'user/1', null, [], (permission) =>
      permission === 'edit_payables' ? missing : {},
    )
    expect(decided.decision).to.deep.equal(missing)
    expect(undoGoodsReceipt.permission).to.equal('adjust_stock')
    ;(await scenario.when(undoGoodsReceipt, { id: 9 })).refuses('not_found')
  })
})
