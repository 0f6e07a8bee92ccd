import { expect } from 'chai'
import {
  CountInventoryInput,
  closeInventory,
  countInventory,
  MAX_COUNTED_ITEMS,
  openInventory,
  recordStockMovement,
  StockMovementInput,
} from '#commands/stock-commands.ts'
import { event } from '#events/catalogue.ts'
import { stockById, toMovementId } from '#projections/stock.ts'
import { companyRegistered, itemCreated } from '../support/facts.ts'
import { type Decided, FIRST_NEW_ID, given, minute } from '../support/given.ts'

const coffee = itemCreated({ id: 3, external_id: 'CAFE', stock: '5.000', cost: '9.00' })
const untracked = itemCreated({ id: 4 })
const service = itemCreated({ id: 5, type: 'service' })
const deactivated = [itemCreated({ id: 6, stock: '5.000' }), event('CatalogItemDeactivated', { id: 6 })]
const past = [companyRegistered(), coffee, untracked, service, ...deactivated]

/** Decides a movement of the coffee after the six events. */
async function decide(fields: object) {
  const scenario = await given(...past)
  const input = StockMovementInput.parse({ catalog_item_id: 3, ...fields })
  const decided: Decided = await scenario.when(recordStockMovement, input)
  return { scenario, decided }
}

const recorded = (fields: object) =>
  event('StockMovementRecorded', {
    id: toMovementId(past.length),
    catalog_item_id: 3,
    kind: 'purchase',
    before: '5.000',
    after: '5.000',
    unit_cost: null,
    reason: null,
    reference: null,
    ...fields,
  })

describe('record stock movement', () => {
  it('adds a purchase, whose unit cost becomes the item’s cost', async () => {
    const { decided, scenario } = await decide({
      kind: 'purchase',
      quantity: '2',
      unit_cost: '11.00',
      document: 'NF 1',
    })
    decided.accepts(
      'created',
      recorded({ after: '7.000', unit_cost: '11.00', reference: 'NF 1' }),
      event('CatalogItemUpdated', { id: 3, changes: { cost: '11.00' } }),
    )
    expect(await scenario.show('catalog_item/3')).to.include({ stock: '7.000', cost: '11.00' })
  })

  it('leaves the cost alone without a unit cost, or with the same one', async () => {
    for (const unit_cost of [undefined, null, '9.00']) {
      const { decided } = await decide({ kind: 'purchase', quantity: '2', unit_cost })
      decided.accepts('created', recorded({ after: '7.000', unit_cost: unit_cost ?? null }))
    }
  })

  it('takes a count as it is, and one that finds the same too [STOCK-2]', async () => {
    for (const [quantity, after] of [
      ['1.5', '1.500'],
      ['0', '0.000'],
      ['5', '5.000'],
    ]) {
      const { decided } = await decide({ kind: 'count', quantity })
      decided.accepts('created', recorded({ kind: 'count', after }))
    }
  })

  it('subtracts a loss, with or without its sign [STOCK-2]', async () => {
    for (const quantity of ['2', '-2']) {
      const { decided } = await decide({ kind: 'loss', quantity, reason: 'quebrou' })
      decided.accepts('created', recorded({ kind: 'loss', after: '3.000', reason: 'quebrou' }))
    }
  })

  it('adds an adjustment with its sign, and finds an item by its external id [STOCK-2]', async () => {
    const { decided } = await decide({
      catalog_item_id: null,
      catalog_item_external_id: 'CAFE',
      kind: 'adjustment',
      quantity: '-0.5',
    })
    decided.accepts('created', recorded({ kind: 'adjustment', after: '4.500' }))
  })

  it('begins to track an item only by a count [STOCK-5]', async () => {
    const { decided, scenario } = await decide({ catalog_item_id: 4, kind: 'count', quantity: '7' })
    decided.accepts('created', recorded({ catalog_item_id: 4, kind: 'count', before: null, after: '7.000' }))
    expect((await scenario.rows(stockById(4))).get(stockById(4))?.stock).to.equal('7.000')
    const fields = { kind: ['o item não tem controle de estoque: comece por uma contagem'] }
    for (const kind of ['purchase', 'loss', 'adjustment']) {
      const refused = await decide({ catalog_item_id: 4, kind, quantity: '1' })
      refused.decided.refuses('validation_failed', { fields, unknown_fields: [] })
    }
  })

  it('refuses unknown and deactivated items, and services [STOCK-5]', async () => {
    const message = (id: number) => (id === 5 ? 'um serviço não tem estoque' : 'item não encontrado no catálogo')
    for (const catalog_item_id of [5, 6, 99]) {
      const { decided } = await decide({ catalog_item_id, kind: 'count', quantity: '1' })
      const fields = { catalog_item_id: [message(catalog_item_id)] }
      decided.refuses('validation_failed', { fields, unknown_fields: [] })
    }
  })

  it('refuses to take more than there is, and a stock beyond the limit [STOCK-5]', async () => {
    const short = { catalog_item_id: 3, requested: '5.001', available: '5.000' }
    for (const movement of [
      { kind: 'loss', quantity: '5.001' },
      { kind: 'adjustment', quantity: '-5.001' },
    ]) {
      const { decided } = await decide(movement)
      decided.refuses('insufficient_stock', { ...short, items: [short] })
    }
    const { decided } = await decide({ kind: 'purchase', quantity: '999999999' })
    const fields = { quantity: ['o estoque resultante é grande demais'] }
    decided.refuses('validation_failed', { fields, unknown_fields: [] })
  })

  const invalid: readonly [string, object][] = [
    ['quantity', { kind: 'purchase', quantity: '-1' }],
    ['quantity', { kind: 'purchase', quantity: '0' }],
    ['quantity', { kind: 'loss', quantity: '0' }],
    ['quantity', { kind: 'adjustment', quantity: '0.000' }],
    ['quantity', { kind: 'count', quantity: '-1' }],
    ['quantity', { kind: 'count', quantity: '1.0001' }],
    ['unit_cost', { kind: 'count', quantity: '1', unit_cost: '1.00' }],
    ['kind', { kind: 'sale', quantity: '1' }],
    ['catalog_item_id', { kind: 'count', quantity: '1', catalog_item_external_id: 'CAFE' }],
    ['catalog_item_id', { kind: 'count', quantity: '1', catalog_item_id: null }],
  ]
  for (const [field, input] of invalid) {
    it(`refuses ${JSON.stringify(input)} [STOCK-5]`, () => {
      const { error } = StockMovementInput.safeParse({ catalog_item_id: 3, ...input })
      expect(error?.issues.map(({ path }) => path.join('.'))).to.deep.equal([field])
    })
  }
})

const opened = event('InventoryOpened', { id: 1, name: 'Mercearia' })
const counted = (quantity: string | null, counted_items = 1) =>
  event('InventoryCounted', {
    id: 1,
    counts: [{ catalog_item_id: 3, quantity, counted_at: minute(0) }],
    counted_items,
  })
const count = (items: object[], mode = 'set') => CountInventoryInput.parse({ id: 1, mode, items })

describe('inventories', () => {
  const coffee = itemCreated({ id: 3, external_id: 'CAFE', barcode: '7891234567895', unit: 'UN', stock: '5.000' })
  const service = itemCreated({ id: 4, type: 'service' })

  const begin = (...more: ReturnType<typeof event>[]) => given(companyRegistered(), coffee, service, opened, ...more)

  it('are opened with a name', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(openInventory, { name: 'Mercearia' })
    decided.accepts('created', event('InventoryOpened', { id: FIRST_NEW_ID, name: 'Mercearia' }))
    expect(await scenario.show(`inventory/${FIRST_NEW_ID}`)).to.include({ status: 'open', counted_items: 0 })
  })

  for (const name of [
    { catalog_item_id: 3 },
    { catalog_item_external_id: 'CAFE' },
    { code: '7891234567895' },
    { code: 'CAFE' },
  ])
    it(`count an item named by ${JSON.stringify(name)}, at the time of the request [STOCK-111]`, async () => {
      const decided = await (await begin()).when(countInventory, count([{ ...name, quantity: '4' }]))
      const counts = [{ catalog_item_id: 3, quantity: '4.000', counted_at: minute(4) }]
      decided.accepts('updated', event('InventoryCounted', { id: 1, counts, counted_items: 1 }))
    })

  it('replace an earlier count, or add to it, and take an item out [STOCK-111]', async () => {
    const countsOf = async (items: object[], mode?: string) => {
      const scenario = await begin(counted('4.000'))
      const { decision } = await scenario.when(countInventory, count(items, mode))
      if ('refused' in decision) throw new Error(decision.refused)
      const [recorded] = decision.events as unknown as [{ data: object }]
      const { counts, counted_items } = recorded.data as {
        counts: { quantity: string }[]
        counted_items: number
      }
      return [counts.map(({ quantity }) => quantity), counted_items]
    }
    expect(await countsOf([{ catalog_item_id: 3, quantity: '2' }])).to.deep.equal([['2.000'], 1])
    expect(await countsOf([{ catalog_item_id: 3, quantity: '2' }], 'add')).to.deep.equal([['6.000'], 1])
    const twice = [
      { code: 'CAFE', quantity: '1' },
      { code: '7891234567895', quantity: '1' },
    ]
    expect(await countsOf(twice, 'add')).to.deep.equal([['6.000'], 1])
    expect(await countsOf([{ catalog_item_id: 3, quantity: null }])).to.deep.equal([[null], 0])
  })

  it('refuse a list with any line that names no product, or a time to come, whole [STOCK-111]', async () => {
    const lines = [
      { catalog_item_id: 3, quantity: '1' },
      { code: 'X', quantity: '1' },
      { catalog_item_id: 4, quantity: '1' },
      { catalog_item_id: 3, quantity: '1', counted_at: '2036-01-01T00:00:00Z' },
    ]
    const decided = await (await begin()).when(countInventory, count(lines))
    decided.refuses('validation_failed', {
      fields: {
        'items[1].code': ['item não encontrado no catálogo'],
        'items[2].catalog_item_id': ['um serviço não tem estoque'],
        'items[3].counted_at': ['não pode estar no futuro'],
      },
      unknown_fields: [],
    })
  })

  it('hold a bounded number of items [STOCK-111]', async () => {
    const full = event('InventoryCounted', { id: 1, counts: [], counted_items: MAX_COUNTED_ITEMS })
    const decided = await (await begin(full)).when(countInventory, count([{ catalog_item_id: 3, quantity: '1' }]))
    decided.refuses('validation_failed', {
      fields: { items: [`um inventário tem no máximo ${MAX_COUNTED_ITEMS} itens: abra outro para os demais`] },
      unknown_fields: [],
    })
  })

  it('take no counts once they are closed, and are closed once [STOCK-112]', async () => {
    const scenario = await begin(counted('4.000'), event('InventoryClosed', { id: 1, status: 'discarded' }))
    const late = await scenario.when(countInventory, count([{ catalog_item_id: 3, quantity: '1' }]))
    late.refuses('inventory_closed')
    const again = await scenario.when(closeInventory, { id: 1, apply: true })
    again.accepts('unchanged')
  })

  /** A row of the lookup. */
  const found = (fields: object) => ({
    id: 3,
    counted: '4.000',
    counted_at: minute(0),
    stock: '5.000',
    moved: '0.000',
    is_recounted: false,
    ...fields,
  })
  const close = async (rows: readonly object[], apply = true) => {
    const scenario = await begin(counted('4.000'))
    return { scenario, decided: await scenario.when(closeInventory, { id: 1, apply }, 'api', undefined, null, rows) }
  }
  const closed = (status: 'applied' | 'discarded') => event('InventoryClosed', { id: 1, status })

  it('change a stock by what was counted and what has moved since [STOCK-112]', async () => {
    const { decided, scenario } = await close([found({ moved: '-3.000', stock: '5.000' })])
    const stocks = [{ catalog_item_id: 3, before: '5.000', after: '1.000', counted_at: minute(0) }]
    const movement = event('InventoryApplied', { id: 1, stocks })
    decided.accepts('updated', closed('applied'), movement)
    expect(await scenario.show('catalog_item/3')).to.include({ stock: '1.000' })
    expect(await scenario.show(`stock_movement/${toMovementId(6)}`)).to.include({
      quantity: '-4.000',
      record: 'inventory/1',
      occurred_at: '2026-03-10T12:00:00.000-03:00',
    })
  })

  it('an inventory leaves alone what was counted again later [STOCK-112]', async () => {
    ;(await close([found({ stock: '4.000' })])).decided.accepts('updated', closed('applied'))
    ;(await close([found({ is_recounted: true })])).decided.accepts('updated', closed('applied'))
    const { decision } = (await close([found({ stock: null })])).decided
    expect('events' in decision && decision.events[1]?.data).to.deep.include({
      stocks: [{ catalog_item_id: 3, before: null, after: '4.000', counted_at: minute(0) }],
    })
  })

  it('change nothing when they are discarded [STOCK-112]', async () => {
    const { decided, scenario } = await close([found({})], false)
    decided.accepts('updated', closed('discarded'))
    expect(await scenario.show('inventory/1')).to.include({ status: 'discarded' })
  })
})
