import { expect } from 'chai'
import type { Envelope } from '#ledger/envelope.ts'
import { movementsIn } from '#queries/catalog/stock-movements.ts'

const ITEM = 7

const happened = (revision: number, type: string, data: object): [number, Envelope] => [
  revision,
  { revision, type, data, recorded_at: '2026-11-20T12:00:00.000Z', actor: 'user/1' } as unknown as Envelope,
]
const sold = (id: number, ...quantities: string[]) => ({
  id,
  items: [
    ...quantities.map((quantity) => ({ catalog_item_id: ITEM, quantity, moves_stock: true })),
    { catalog_item_id: ITEM + 1, quantity: '9', moves_stock: true },
    { catalog_item_id: ITEM, quantity: '5', moves_stock: false },
  ],
})

describe('stock movements', () => {
  it('go back from the current stock, each with its reason and the remaining stock [PANEL-164]', () => {
    const events = new Map([
      happened(1, 'CatalogItemCreated', { id: ITEM, stock: '10.000' }),
      happened(2, 'SaleCompleted', sold(31, '1.5', '0.5')),
      happened(3, 'CatalogItemUpdated', { id: ITEM, changes: { name: 'Café' } }),
      happened(4, 'StockAdjusted', { id: ITEM, reason: 'count', before: '8.000', after: '5.000' }),
      happened(5, 'OfflineSaleCompleted', sold(32, '6')),
      happened(6, 'SaleCancelled', { id: 31, reason: null, restock: [{ catalog_item_id: ITEM, quantity: '2' }] }),
      happened(7, 'StockAdjusted', { id: ITEM, reason: 'adjustment', before: '1.000', after: '0.250' }),
      happened(8, 'StockAdjusted', { id: ITEM, reason: 'count', before: '0.250', after: null }),
    ])
    const part = { revision: 8, revisions: [...events.keys()], stock: null }
    const told = movementsIn(part, events, ITEM).map((one) => [
      one.revision,
      one.reason,
      one.sale_id,
      one.change,
      one.after,
    ])
    expect(told).to.deep.equal([
      [8, 'count', null, null, null],
      [7, 'adjustment', null, '-0.750', '0.250'],
      [6, 'cancellation', 31, '2.000', '1.000'],
      [5, 'sale', 32, '-6.000', '-1.000'],
      [4, 'count', null, '-3.000', '5.000'],
      [2, 'sale', 31, '-2.000', '8.000'],
      [1, 'created', null, '10.000', '10.000'],
    ])
  })

  it('of an earlier page start at the stock after its last movement [PANEL-164]', () => {
    const events = new Map([happened(40, 'SaleCompleted', sold(1, '1')), happened(41, 'SaleCompleted', sold(2, '2'))])
    const [last, first] = movementsIn({ revision: 41, revisions: [40, 41], stock: '7.000' }, events, ITEM)
    expect([last?.after, first?.after]).to.deep.equal(['7.000', '9.000'])
  })
})
