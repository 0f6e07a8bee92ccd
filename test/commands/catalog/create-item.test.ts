import { expect } from 'chai'
import { CreateItemInput, createItem } from '#commands/item-commands.ts'
import { event } from '#events/catalogue.ts'
import { categoryCreated, companyRegistered, itemCreated } from '../../support/facts.ts'
import { FIRST_NEW_ID, given } from '../../support/given.ts'

const input = (body: object) => CreateItemInput.parse({ name: 'Café', price: '10.00', ...body })

describe('create catalog item', () => {
  it('records an untracked product with name and price only', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(createItem, input({}))
    decided.accepts('created', itemCreated({ id: FIRST_NEW_ID }))
  })

  it('records every field, the stock with 3 decimals', async () => {
    const scenario = await given(companyRegistered(), categoryCreated({ id: 5 }))
    const fields = { external_id: 'c', sku: 'CF-1', barcode: '789', category_id: 5, unit: 'kg', cost: '4.00' }
    const codes = { gtin: '7891234567895', ncm: '09012100', cest: '1709600' }
    const decided = await scenario.when(createItem, input({ ...fields, ...codes, stock: '2.5' }))
    decided.accepts('created', itemCreated({ id: FIRST_NEW_ID, ...fields, ...codes, stock: '2.500' }))
    expect(await scenario.show(`catalog_item/${FIRST_NEW_ID}`)).to.include({ category_name: 'Bebidas', stock: '2.500' })
  })

  it('distinguishes zero stock from untracked stock', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(createItem, input({ stock: '0' }))
    decided.accepts('created', itemCreated({ id: FIRST_NEW_ID, stock: '0.000' }))
  })

  it('refuses an unknown category', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(createItem, input({ category_id: 5 }))
    decided.refuses('validation_failed', { fields: { category_id: ['categoria não encontrada'] }, unknown_fields: [] })
  })

  it('refuses the barcode of a live item, but not of a deleted one [ITEM-2]', async () => {
    const scenario = await given(companyRegistered(), itemCreated({ id: 3, barcode: '789' }))
    const refused = await scenario.when(createItem, input({ barcode: '789' }))
    refused.refuses('duplicate_resource', { field: 'barcode', conflicting_id: 3 })
    const free = await given(
      companyRegistered(),
      itemCreated({ id: 3, barcode: '789' }),
      event('CatalogItemDeactivated', { id: 3 }),
    )
    const created = await free.when(createItem, input({ barcode: '789' }))
    created.accepts('created', itemCreated({ id: FIRST_NEW_ID, barcode: '789' }))
  })

  it('refuses the external id of another item, and marks a deleted one [REC-4]', async () => {
    const other = itemCreated({ id: 3, external_id: 'c' })
    const live = await given(companyRegistered(), other)
    const refused = await live.when(createItem, input({ external_id: 'c' }))
    refused.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 3 })
    const deleted = await given(companyRegistered(), other, event('CatalogItemDeactivated', { id: 3 }))
    const refusedToo = await deleted.when(createItem, input({ external_id: 'c' }))
    refusedToo.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 3, deleted: true })
  })

  it('lets items share name and sku [ITEM-2]', async () => {
    const scenario = await given(companyRegistered(), itemCreated({ id: 3, sku: 'CF-1' }))
    const decided = await scenario.when(createItem, input({ sku: 'CF-1' }))
    decided.accepts('created', itemCreated({ id: FIRST_NEW_ID, sku: 'CF-1' }))
  })
})
