import { expect } from 'chai'
import fc from 'fast-check'
import { UpdateItemInput, updateItem } from '#commands/item-commands.ts'
import { fromThousandths } from '#domain/quantity.ts'
import { event } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import { categoryCreated, companyRegistered, itemCreated, stockCounted } from '../../support/facts.ts'
import { given } from '../../support/given.ts'

const patch = (changes: object, id = 3) => UpdateItemInput.parse({ id, changes })
const updated = (changes: object) => event('CatalogItemUpdated', { id: 3, changes })
const adjusted = (before: string, after: string) =>
  event('StockAdjusted', { id: 3, reason: 'adjustment', before, after })
const wrong = (field: string, message: string) => ({ fields: { [field]: [message] }, unknown_fields: [] })
const tracked = itemCreated({ id: 3, external_id: 'c', category_id: 5, cost: '4.00', stock: '5.000' })
const bebidas = categoryCreated({ id: 5 })

describe('update catalog item', () => {
  it('changes the given fields; null clears optional ones', async () => {
    const scenario = await given(companyRegistered(), bebidas, tracked)
    const decided = await scenario.when(updateItem, patch({ price: '12.00', category_id: null, cost: null }))
    decided.accepts('updated', updated({ price: '12.00', category_id: null, cost: null }))
    expect(await scenario.show('catalog_item/3')).to.include({ price: '12.00', category_name: null, stock: '5.000' })
  })

  it('records nothing for {} and for equal values', async () => {
    const scenario = await given(companyRegistered(), bebidas, tracked)
    for (const changes of [{}, { price: '10.00', category_id: 5, sku: null }, { stock: '5' }, { external_id: 'c' }]) {
      const decided = await scenario.when(updateItem, patch(changes))
      decided.accepts('unchanged')
    }
  })

  it('records fields and stock in separate events', async () => {
    const scenario = await given(companyRegistered(), bebidas, tracked)
    const decided = await scenario.when(updateItem, patch({ name: 'Café torrado', stock: '7.25' }))
    decided.accepts('updated', stockCounted(3, '5.000', '7.250'), updated({ name: 'Café torrado' }))
  })

  it('starts and stops tracking stock', async () => {
    const scenario = await given(companyRegistered(), bebidas, tracked)
    const stopped = await scenario.when(updateItem, patch({ stock: null }))
    stopped.accepts('updated', stockCounted(3, '5.000', null))
    const again = await scenario.when(updateItem, patch({ stock: null }))
    again.accepts('unchanged')
    const started = await scenario.when(updateItem, patch({ stock: '0' }))
    started.accepts('updated', stockCounted(3, null, '0.000'))
  })

  it('refuses stock for a service', async () => {
    const scenario = await given(companyRegistered(), itemCreated({ id: 3, type: 'service' }))
    const count = await scenario.when(updateItem, patch({ stock: '1' }))
    count.refuses('validation_failed', wrong('stock', 'um serviço não tem estoque'))
    const adjustment = await scenario.when(updateItem, patch({ stock_adjustment: '1' }))
    adjustment.refuses('validation_failed', wrong('stock_adjustment', 'um serviço não tem estoque'))
    const product = await scenario.when(updateItem, patch({ type: 'product', stock: '1' }))
    product.accepts('updated', stockCounted(3, null, '1.000'), updated({ type: 'product' }))
  })

  it('removes the stock of a product that becomes a service', async () => {
    const scenario = await given(companyRegistered(), bebidas, tracked)
    const refused = await scenario.when(updateItem, patch({ type: 'service', stock_adjustment: '1' }))
    refused.refuses('validation_failed', wrong('stock_adjustment', 'um serviço não tem estoque'))
    const decided = await scenario.when(updateItem, patch({ type: 'service' }))
    decided.accepts('updated', stockCounted(3, '5.000', null), updated({ type: 'service' }))
  })

  it('refuses an unknown category, and barcode and external id of another item', async () => {
    const other = itemCreated({ id: 4, external_id: 'd', barcode: '789' })
    const scenario = await given(companyRegistered(), bebidas, tracked, other)
    const category = await scenario.when(updateItem, patch({ category_id: 9 }))
    category.refuses('validation_failed', wrong('category_id', 'categoria não encontrada'))
    const barcode = await scenario.when(updateItem, patch({ barcode: '789' }))
    barcode.refuses('duplicate_resource', { field: 'barcode', conflicting_id: 4 })
    const externalId = await scenario.when(updateItem, patch({ external_id: 'd' }))
    externalId.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 4 })
  })

  it('does not find missing or deleted items', async () => {
    const scenario = await given(companyRegistered(), tracked, event('CatalogItemDeactivated', { id: 3 }))
    for (const id of [3, 9]) {
      const decided = await scenario.when(updateItem, patch({}, id))
      decided.refuses('not_found')
    }
  })
})

describe('stock adjustment', () => {
  it('adds to the stock and subtracts from it, down to zero [ITEM-4]', async () => {
    const scenario = await given(companyRegistered(), tracked)
    const more = await scenario.when(updateItem, patch({ stock_adjustment: '1.5' }))
    more.accepts('updated', adjusted('5.000', '6.500'))
    const less = await scenario.when(updateItem, patch({ stock_adjustment: '-6.5' }))
    less.accepts('updated', adjusted('6.500', '0.000'))
  })

  it('refuses to subtract more than the stock [ITEM-4]', async () => {
    const scenario = await given(companyRegistered(), tracked)
    const decided = await scenario.when(updateItem, patch({ stock_adjustment: '-5.001' }))
    const short = { catalog_item_id: 3, requested: '5.001', available: '5.000' }
    decided.refuses('insufficient_stock', { ...short, items: [short] })
  })

  it('accepts incoming goods and a count while the stock is negative, and takes none out [UP-6]', async () => {
    const scenario = await given(companyRegistered(), tracked, stockCounted(3, '5.000', '-2.000'))
    const out = await scenario.when(updateItem, patch({ stock_adjustment: '-1' }))
    const short = { catalog_item_id: 3, requested: '1.000', available: '-2.000' }
    out.refuses('insufficient_stock', { ...short, items: [short] })
    const decided = await scenario.when(updateItem, patch({ stock_adjustment: '1' }))
    decided.accepts('updated', adjusted('-2.000', '-1.000'))
    const counted = await scenario.when(updateItem, patch({ stock: '3' }))
    counted.accepts('updated', stockCounted(3, '-1.000', '3.000'))
  })

  it('requires tracked stock, and a result within the limit', async () => {
    const untracked = await given(companyRegistered(), itemCreated({ id: 3 }))
    const none = await untracked.when(updateItem, patch({ stock_adjustment: '1' }))
    none.refuses('validation_failed', wrong('stock_adjustment', 'o item não tem controle de estoque'))
    const scenario = await given(companyRegistered(), tracked)
    const beyond = await scenario.when(updateItem, patch({ stock_adjustment: '999999999.999' }))
    beyond.refuses('validation_failed', wrong('stock_adjustment', 'o estoque resultante é grande demais'))
  })

  it('keeps the sum of accepted adjustments, and never goes below zero [ITEM-4]', async () => {
    const thousandths = fc.integer({ min: -9_000, max: 9_000 }).filter((n) => n !== 0)
    await fc.assert(
      fc.asyncProperty(fc.array(thousandths, { maxLength: 12 }), async (adjustments) => {
        const scenario = await given(companyRegistered(), tracked)
        let expected = 5_000
        for (const adjustment of adjustments) {
          const { decision } = await scenario.when(updateItem, patch({ stock_adjustment: fromThousandths(adjustment) }))
          expect(isRefusal(decision)).to.equal(expected + adjustment < 0)
          if (!isRefusal(decision)) expected += adjustment
        }
        expect(await scenario.show('catalog_item/3')).to.include({ stock: fromThousandths(expected) })
      }),
    )
  })
})
