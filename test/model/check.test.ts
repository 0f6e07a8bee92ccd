import { expect } from 'chai'
import type { Envelope } from '#ledger/command.ts'
import type { Call } from './calls.ts'
import { checkOrder } from './check.ts'
import type { Observation } from './play.ts'
import { answered, type Outcome, refused } from './state.ts'

const ITEM = { external_id: null, name: 'Café', price: '5.00', barcode: null }
const cafe = (stock: string): Outcome => answered(200, { id: 1, ...ITEM, stock })
const creation: Call = { act: 'createItem', body: { name: 'Café', price: 5, stock: 1 } }
const reading: Call = { act: 'getItem', id: 1 }
const adding = (stock_adjustment: number): Call => ({ act: 'patchItem', id: 1, body: { stock_adjustment } })
const lacking: Outcome = refused(422, 'insufficient_stock', {
  catalog_item_id: 1,
  requested: '1.000',
  available: '0.000',
  items: [{ catalog_item_id: 1, requested: '1.000', available: '0.000' }],
})

/** Call during an interval, with the revision of its response. */
const seen = (requestId: string, call: Call, outcome: Outcome, [began, ended]: [number, number], revision: number) =>
  ({ requestId, call, outcome, began, ended, revision, isReplayed: false }) satisfies Observation

/** Ledger with the events of these requests, after one earlier event. */
const ledger = (...causes: readonly (readonly [requestId: string, type: string])[]) =>
  [['', 'CompanyRegistered'] as const, ...causes].map(
    ([request_id, type], revision) => ({ request_id, type, revision, subject: 'catalog_item/1' }) as Envelope,
  )

const created = seen('a', creation, { ...cafe('1.000'), status: 201 }, [0, 1], 1)
const check = (observations: readonly Observation[], events: readonly Envelope[]) =>
  checkOrder({ companyId: 1, start: 0, observations }, events)

describe('linearizability check', () => {
  const two = ledger(['a', 'CatalogItemCreated'], ['b', 'StockAdjusted'])
  const taken = seen('b', adding(-1), cafe('0.000'), [2, 5], 2)

  it('accepts reads before, during and after a write', () => {
    const reads = [
      seen('c', reading, cafe('1.000'), [3, 6], 1),
      seen('d', reading, cafe('0.000'), [3, 4], 2),
      seen('e', reading, cafe('0.000'), [6, 7], 2),
    ]
    expect(check([created, taken, ...reads], two).items.get(1)).to.include({ stock: 0 })
  })

  it('rejects a write with a response other than the one at its revision', () => {
    const wrong = { ...taken, outcome: cafe('1.000') }
    expect(() => check([created, wrong], two)).to.throw('should be')
  })

  it('rejects two clients that both got the last unit', () => {
    const again = seen('c', adding(-1), cafe('0.000'), [2, 5], 3)
    const events = ledger(['a', 'CatalogItemCreated'], ['b', 'StockAdjusted'], ['c', 'StockAdjusted'])
    expect(() => check([created, taken, again], events)).to.throw('should be')
  })

  it('rejects a read older than an earlier response', () => {
    const stale = seen('c', reading, cafe('1.000'), [6, 7], 1)
    expect(() => check([created, taken, stale], two)).to.throw('though it had been answered at 1')
  })

  it('rejects a record that differs from the one at its revision', () => {
    const mixed = seen('c', reading, cafe('0.000'), [3, 6], 1)
    expect(() => check([created, taken, mixed], two)).to.throw('nowhere between 1 and 1')
  })

  it('accepts a refusal that was correct between request and response, and no other', () => {
    const refusal = (time: [number, number]) => seen('c', adding(-1), lacking, time, 1)
    expect(check([created, taken, refusal([3, 6])], two).items.get(1)).to.include({ stock: 0 })
    const later = seen('d', reading, cafe('1.000'), [2, 3], 1)
    expect(() => check([created, taken, refusal([1, 2]), { ...later, began: 2 }], two)).to.throw(
      'nowhere between 1 and 1',
    )
  })

  it('rejects a write ordered before one that had finished when it began', () => {
    const late = seen('a', creation, { ...cafe('1.000'), status: 201 }, [8, 9], 1)
    const early = seen('d', { act: 'listItems' }, answered(200, []), [0, 1], 0)
    const noted = { ...early, began: 6, ended: 7, revision: 1, outcome: answered(200, [cafe('1.000').body]) }
    expect(() => check([late, noted], ledger(['a', 'CatalogItemCreated']))).to.throw('was over before it began')
  })

  it('rejects events without a call, or too many for a call', () => {
    expect(() => check([created], two)).to.throw('has no call')
    expect(() => check([created], ledger(['a', 'CatalogItemCreated'], ['a', 'StockAdjusted']))).to.throw(
      'which should be 1',
    )
  })
})
