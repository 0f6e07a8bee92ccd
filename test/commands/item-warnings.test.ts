import { expect } from 'chai'
import {
  CreateItemInput,
  createItem,
  ReplaceItemInput,
  replaceItem,
  UpdateItemInput,
  updateItem,
} from '#commands/item-commands.ts'
import { OfflineSaleInput } from '#commands/offline-sale-input.ts'
import type { Warning } from '#commands/record-commands.ts'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import { recordStockMovement, StockMovementInput } from '#commands/stock-commands.ts'
import { event } from '#events/catalogue.ts'
import type { Command } from '#ledger/command.ts'
import { companyRegistered, itemCreated, paymentTypeCreated } from '../support/facts.ts'
import { given } from '../support/given.ts'
import { offlineSaleOf } from '../support/offline-sales.ts'

const coffee = itemCreated({ id: 3, external_id: 'CAFE', unit: 'UN', price: '10.00', cost: '6.00', stock: '5.000' })

async function decide<I>(command: Command<I>, input: I) {
  const { decision } = await (await given(companyRegistered(), coffee)).when(command, input)
  if ('refused' in decision) throw new Error(decision.refused)
  const { warnings = [] } = (decision.remarks ?? {}) as { warnings?: readonly Warning[] }
  return { events: decision.events, warnings: warnings.map(({ code, field }) => `${field} ${code}`) }
}

const create = (fields: object) => decide(createItem, CreateItemInput.parse({ name: 'Chá', price: '9.00', ...fields }))
const patch = (changes: object) => decide(updateItem, UpdateItemInput.parse({ id: 3, changes }))
const move = (fields: object) =>
  decide(recordStockMovement, StockMovementInput.parse({ catalog_item_id: 3, quantity: '1', ...fields }))

describe('warnings of catalog items', () => {
  it('name a price of zero and one below the cost, and the item is recorded [ITEM-101]', async () => {
    expect((await create({ price: '0.00', cost: '1.00' })).warnings).to.deep.equal(['price price_zero'])
    expect((await create({ price: '0.99', cost: '1.00' })).warnings).to.deep.equal(['price price_below_cost'])
    expect((await create({ price: '1.00', cost: '1.00' })).warnings).to.deep.equal([])
    expect((await create({ price: '0.01' })).events).to.have.length(1)
  })

  it('warns of a change with stored fields, and only if it sets price or cost [ITEM-101]', async () => {
    expect((await patch({ price: '5.99' })).warnings).to.deep.equal(['price price_below_cost'])
    expect((await patch({ cost: '10.01' })).warnings).to.deep.equal(['price price_below_cost'])
    expect((await patch({ cost: null, price: '1.00' })).warnings).to.deep.equal([])
    expect((await patch({ name: 'Café' })).warnings).to.deep.equal([])
  })

  it('name a purchase at more than the price [ITEM-101]', async () => {
    expect((await move({ kind: 'purchase', unit_cost: '10.01' })).warnings).to.deep.equal([
      'unit_cost price_below_cost',
    ])
    expect((await move({ kind: 'purchase', unit_cost: '10.00' })).warnings).to.deep.equal([])
  })

  it('name fractions of pieces, in every quantity of an item [ITEM-102]', async () => {
    const broken = ['stock quantity_not_whole', 'min_stock quantity_not_whole']
    expect((await create({ unit: 'un', stock: '1.5', min_stock: '0.5' })).warnings).to.deep.equal(broken)
    expect((await create({ unit: 'KG', stock: '1.5', min_stock: '0.5' })).warnings).to.deep.equal([])
    expect((await patch({ stock_adjustment: '0.001' })).warnings).to.deep.equal(['stock_adjustment quantity_not_whole'])
    expect((await patch({ unit: 'KG', stock: '0.5' })).warnings).to.deep.equal([])
    expect((await move({ kind: 'count', quantity: '2.5' })).warnings).to.deep.equal(['quantity quantity_not_whole'])
    expect((await move({ kind: 'count', quantity: '2.000' })).warnings).to.deep.equal([])
  })
})

describe('warnings of uploaded sales', () => {
  it('name fractions of pieces [ITEM-102]', async () => {
    const product = itemCreated({ id: 10, unit: 'UN', price: '10.00' })
    const sale = OfflineSaleInput.parse(
      offlineSaleOf({
        total: 15,
        amount_received: 15,
        payments: [{ payment_type_id: 1, amount: 15, status: 'completed' }],
        items: [{ product_id: 10, quantity: 1.5, price: 10, total: 15 }],
      }),
    )
    const { decision } = await (await given(companyRegistered(), paymentTypeCreated(), product)).when(
      recordOfflineSale,
      sale,
      'pdv',
    )
    if ('refused' in decision) throw new Error(JSON.stringify(decision))
    expect(decision.remarks).to.deep.equal({
      warnings: [{ code: 'quantity_not_whole', product_id: 10, found: '1.500', expected: null }],
    })
  })
})

describe('minimum stock', () => {
  it('is recorded with three decimals, and cleared by null [STOCK-101]', async () => {
    expect((await create({ min_stock: '6' })).events[0]?.data).to.include({ min_stock: '6.000' })
    expect((await create({ min_stock: null })).events[0]?.data).not.to.have.property('min_stock')
    const set = event('CatalogItemUpdated', { id: 3, changes: { min_stock: '2.000' } })
    expect((await patch({ min_stock: '2' })).events).to.deep.equal([set])
    const scenario = await given(companyRegistered(), coffee, set)
    expect(await scenario.show('catalog_item/3')).to.include({ min_stock: '2.000' })
    const same = await scenario.when(updateItem, { id: 3, changes: { min_stock: '2.000' } })
    same.accepts('unchanged')
    const cleared = await scenario.when(updateItem, { id: 3, changes: { min_stock: null } })
    cleared.accepts('updated', event('CatalogItemUpdated', { id: 3, changes: { min_stock: null } }))
  })

  it('is left alone by a PUT without it, also one that revives the item [STOCK-101]', async () => {
    const set = event('CatalogItemUpdated', { id: 3, changes: { min_stock: '2.000' } })
    const scenario = await given(companyRegistered(), coffee, set, event('CatalogItemDeactivated', { id: 3 }))
    const fields = { external_id: 'CAFE', name: 'Café', price: '10.00' }
    await scenario.when(replaceItem, ReplaceItemInput.parse(fields))
    expect(await scenario.show('catalog_item/3')).to.include({ min_stock: '2.000' })
    await scenario.when(replaceItem, ReplaceItemInput.parse({ ...fields, min_stock: '4' }))
    expect(await scenario.show('catalog_item/3')).to.include({ min_stock: '4.000' })
  })

  it('is refused of services [STOCK-101]', async () => {
    const service = { name: 'Moagem', price: '1.00', type: 'service', min_stock: '1' }
    expect(CreateItemInput.safeParse(service).success).to.equal(false)
    const scenario = await given(companyRegistered(), itemCreated({ id: 3, type: 'service' }))
    const decided = await scenario.when(updateItem, { id: 3, changes: { min_stock: '1.000' } })
    decided.refuses('validation_failed', { fields: { min_stock: ['um serviço não tem estoque'] }, unknown_fields: [] })
  })
})
