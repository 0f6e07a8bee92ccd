import { expect } from 'chai'
import { recordStockMovement, StockMovementInput } from '#commands/stock-commands.ts'
import { event } from '#events/catalogue.ts'
import { movementIdOf, stockById } from '#projections/stock.ts'
import { companyRegistered, itemCreated } from '../support/facts.ts'
import { type Decided, given } from '../support/given.ts'

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
    id: movementIdOf(past.length),
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

  it('takes a count as it is, and one that finds the same too [STOCK-3]', async () => {
    for (const [quantity, after] of [
      ['1.5', '1.500'],
      ['0', '0.000'],
      ['5', '5.000'],
    ]) {
      const { decided } = await decide({ kind: 'count', quantity })
      decided.accepts('created', recorded({ kind: 'count', after }))
    }
  })

  it('subtracts a loss, with or without its sign [STOCK-3]', async () => {
    for (const quantity of ['2', '-2']) {
      const { decided } = await decide({ kind: 'loss', quantity, reason: 'quebrou' })
      decided.accepts('created', recorded({ kind: 'loss', after: '3.000', reason: 'quebrou' }))
    }
  })

  it('adds an adjustment with its sign, and finds an item by its external id [STOCK-3]', async () => {
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
