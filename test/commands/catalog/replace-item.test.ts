import { expect } from 'chai'
import { ReplaceItemInput, replaceItem } from '#commands/item-commands.ts'
import { event } from '#events/catalogue.ts'
import { categoryCreated, companyRegistered, itemCreated, plainItem, stockCounted } from '../../support/facts.ts'
import { FIRST_NEW_ID, given } from '../../support/given.ts'

const input = (body: object = {}) => ReplaceItemInput.parse({ external_id: 'c', name: 'Café', price: '10.00', ...body })
const updated = (changes: object) => event('CatalogItemUpdated', { id: 3, changes })
const tracked = itemCreated({ id: 3, external_id: 'c', stock: '5.000' })
const deactivated = event('CatalogItemDeactivated', { id: 3 })

describe('replace catalog item', () => {
  it('creates a missing item, untracked unless stock is given', async () => {
    const scenario = await given(companyRegistered())
    const plain = await scenario.when(replaceItem, input())
    plain.accepts('created', itemCreated({ id: FIRST_NEW_ID, external_id: 'c' }))
    const stocked = await given(companyRegistered())
    const decided = await stocked.when(replaceItem, input({ stock: '1' }))
    decided.accepts('created', itemCreated({ id: FIRST_NEW_ID, external_id: 'c', stock: '1.000' }))
  })

  it('replaces the fields, and keeps absent stock unchanged', async () => {
    const before = itemCreated({ id: 3, external_id: 'c', sku: 'CF-1', cost: '4.00', category_id: 5, stock: '5.000' })
    const scenario = await given(companyRegistered(), categoryCreated({ id: 5 }), before)
    const decided = await scenario.when(replaceItem, input({ price: '11.00', cost: '4.00' }))
    decided.accepts('updated', updated({ sku: null, category_id: null, price: '11.00' }))
    expect(await scenario.show('catalog_item/3')).to.include({ stock: '5.000', price: '11.00', category_name: null })
  })

  it('records nothing when repeated, even with a different notation of the stock', async () => {
    const scenario = await given(companyRegistered(), tracked)
    for (const stock of ['5', '5.0', '5.000']) {
      const decided = await scenario.when(replaceItem, input({ stock }))
      decided.accepts('unchanged')
    }
  })

  it('compares codes by their digits, and clears absent ones [ITEM-10] [REC-2]', async () => {
    const codes = { gtin: '7891234567895', ncm: '09012100', cest: '1709600' }
    const scenario = await given(companyRegistered(), itemCreated({ id: 3, external_id: 'c', ...codes }))
    const same = await scenario.when(replaceItem, input({ ...codes, ncm: '0901.21.00', cest: '17.096.00' }))
    same.accepts('unchanged')
    const bare = await scenario.when(replaceItem, input({ ncm: '09012100' }))
    const cleared = event('CatalogItemUpdated', { id: 3, changes: { gtin: null, cest: null }, former_gtin: codes.gtin })
    bare.accepts('updated', cleared)
  })

  it('records a new stock in a separate event', async () => {
    const scenario = await given(companyRegistered(), tracked)
    const stock = await scenario.when(replaceItem, input({ stock: '8' }))
    stock.accepts('updated', stockCounted(3, '5.000', '8.000'))
    const both = await scenario.when(replaceItem, input({ stock: null, unit: 'kg' }))
    both.accepts('updated', stockCounted(3, '8.000', null), updated({ unit: 'kg' }))
  })

  it('removes the stock of a product that becomes a service', async () => {
    const scenario = await given(companyRegistered(), tracked)
    const decided = await scenario.when(replaceItem, input({ type: 'service' }))
    decided.accepts('updated', stockCounted(3, '5.000', null), updated({ type: 'service' }))
  })

  it('revives a deactivated item with its previous stock', async () => {
    const scenario = await given(companyRegistered(), tracked, deactivated)
    const decided = await scenario.when(replaceItem, input())
    const revived = event('CatalogItemRevived', { id: 3, ...plainItem, external_id: 'c', name: 'Café', price: '10.00' })
    decided.accepts('updated', revived)
    expect(await scenario.show('catalog_item/3')).to.include({ id: 3, stock: '5.000' })
  })

  it('revives an item and counts its stock in one request', async () => {
    const scenario = await given(companyRegistered(), tracked, deactivated)
    const decided = await scenario.when(replaceItem, input({ stock: '1' }))
    const revived = event('CatalogItemRevived', { id: 3, ...plainItem, external_id: 'c', name: 'Café', price: '10.00' })
    decided.accepts('updated', stockCounted(3, '5.000', '1.000'), revived)
  })

  it('refuses the barcode of another item, also when reviving', async () => {
    const other = itemCreated({ id: 4, barcode: '789' })
    const refusal = { field: 'barcode', conflicting_id: 4 }
    const live = await given(companyRegistered(), other, tracked)
    const replaced = await live.when(replaceItem, input({ barcode: '789' }))
    replaced.refuses('duplicate_resource', refusal)
    const before = itemCreated({ id: 3, external_id: 'c', barcode: '789' })
    const deleted = await given(companyRegistered(), before, deactivated, other)
    const revived = await deleted.when(replaceItem, input({ barcode: '789' }))
    revived.refuses('duplicate_resource', refusal)
  })

  it('refuses an unknown category', async () => {
    const scenario = await given(companyRegistered(), tracked)
    const decided = await scenario.when(replaceItem, input({ category_id: 9 }))
    decided.refuses('validation_failed', { fields: { category_id: ['categoria não encontrada'] }, unknown_fields: [] })
  })
})
