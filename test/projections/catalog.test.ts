import { expect } from 'chai'
import { ITEM_TAX_FIELDS } from '#domain/fiscal-values.ts'
import { event } from '#events/catalogue.ts'
import {
  catalogItems,
  categories,
  categoryByExternalId,
  categoryById,
  categoryByName,
  itemByBarcode,
  itemById,
} from '#projections/catalog.ts'
import { stockById } from '#projections/stock.ts'
import {
  categoryCreated,
  companyRegistered,
  itemCreated,
  plainItem,
  saleCompleted,
  stockCounted,
} from '../support/facts.ts'
import { COMPANY_ID, given, lineageOf, minute } from '../support/given.ts'

const tracked = itemCreated({ id: 3, external_id: 'c', sku: 'CF-1', barcode: '789', category_id: 5, stock: '5.000' })
const category = categoryCreated({ id: 5, name: 'Bebidas "frias"' })
const deactivated = event('CatalogItemDeactivated', { id: 3 })
const ref = itemById(3)
const at = (minutes: number) => `2026-03-10T12:0${minutes}:00.000-03:00`

function soldLine(quantity: string, moves_stock: boolean) {
  const line = { external_id: 'c', description: 'Café', unit_price: '1.00', total: '1.00' }
  return { ...line, catalog_item_id: 3, quantity, moves_stock }
}

/** An item without tax fields. */
const NO_TAXES = Object.fromEntries(ITEM_TAX_FIELDS.map((field) => [field, null]))

const NO_SHOP_FIELDS = { min_stock: null, picture_url: null, parent_id: null, variant: null, metadata: null }

describe('catalog items projection', () => {
  it('writes a row with all columns and the API’s object', async () => {
    const scenario = await given(companyRegistered(), tracked)
    const row = (await scenario.rows(ref)).get(ref)
    const { stock: _, ...fields } = tracked.data as { stock: string }
    expect(row).to.have.all.keys(Object.keys(catalogItems.columns))
    expect(row).to.deep.equal({
      company_id: COMPANY_ID,
      id: 3,
      external_id: 'c',
      name: 'Café',
      sort_key: 'cafe\ncafé',
      search: 'cafe\ncf-1\n789\nc',
      sku: 'CF-1',
      barcode: '789',
      category_id: 5,
      type: 'product',
      was_product: true,
      price: '10.00',
      min_stock: null,
      parent_id: null,
      picture_url: null,
      variant: null,
      variant_key: null,
      updated_at: minute(1),
      deleted_at: null,
      ...lineageOf(1),
      doc: { ...NO_TAXES, ...fields, ...NO_SHOP_FIELDS, created_at: at(1), updated_at: at(1), deleted_at: null },
    })
  })

  it('has no stock time for a never tracked stock', async () => {
    const scenario = await given(companyRegistered(), itemCreated({ id: 3 }))
    expect(await scenario.show('catalog_item/3')).to.include({ stock: null, stock_updated_at: null })
  })

  it('appends the name of the category', async () => {
    const scenario = await given(companyRegistered(), category, tracked, itemCreated({ id: 4 }))
    const shown = (await scenario.show('catalog_item/3')) as object
    expect(shown).to.include({ category_name: 'Bebidas "frias"' })
    expect(Object.keys(shown).at(-1)).to.equal('category_name')
    expect(await scenario.show('catalog_item/4')).to.include({ category_name: null })
  })

  it('fields move the item’s time, stock the stock’s time; lists find both [ITEM-5]', async () => {
    const updated = event('CatalogItemUpdated', { id: 3, changes: { price: '11.00' } })
    const scenario = await given(companyRegistered(), tracked, updated, stockCounted(3, '5.000', '7.000'))
    const rows = await scenario.rows(ref, stockById(3))
    expect(rows.get(ref)).to.include({ revision: 2, changed_at: minute(2) })
    expect(rows.get(stockById(3))).to.include({ revision: 3, changed_at: minute(3) })
    const shown = await scenario.show('catalog_item/3')
    expect(shown).to.include({ price: '11.00', stock: '7.000', updated_at: at(2), stock_updated_at: at(3) })
  })

  it('releases the barcode of a deactivated item', async () => {
    const scenario = await given(companyRegistered(), tracked, deactivated)
    const rows = await scenario.rows(ref, itemByBarcode('789'))
    expect(rows.get(itemByBarcode('789'))).to.equal(null)
    expect(rows.get(ref)).to.include({ external_id: 'c', barcode: null, deleted_at: minute(2), revision: 2 })
  })

  it('revives an item with its previous stock', async () => {
    const fields = { ...plainItem, external_id: 'c', barcode: '789', name: 'Café', price: '9.00' }
    const revived = event('CatalogItemRevived', { id: 3, ...fields })
    const scenario = await given(companyRegistered(), tracked, deactivated, revived)
    const rows = await scenario.rows(ref, itemByBarcode('789'))
    expect(rows.get(itemByBarcode('789'))).to.include({ id: 3, sku: null, deleted_at: null, revision: 3 })
    const shown = await scenario.show('catalog_item/3')
    expect(shown).to.include({ stock: '5.000', sku: null, price: '9.00', created_at: at(1), updated_at: at(3) })
  })
})

describe('stock in the catalog items projection', () => {
  it('is debited once per line of a sale that moves stock', async () => {
    const items = [soldLine('1.250', true), soldLine('0.750', true), soldLine('1.000', false)]
    const scenario = await given(companyRegistered(), tracked, saleCompleted({ items }))
    expect(await scenario.show('catalog_item/3')).to.include({ stock: '3.000', stock_updated_at: at(2) })
  })

  it('goes below zero by offline sales', async () => {
    const scenario = await given(companyRegistered(), tracked, saleCompleted({ items: [soldLine('7.000', true)] }))
    expect(await scenario.show('catalog_item/3')).to.include({ stock: '-2.000' })
  })

  it('is returned by a cancelled sale, also to a deactivated item, which stays deactivated', async () => {
    const sold = saleCompleted({ items: [soldLine('2.000', true)] })
    const restock = [{ catalog_item_id: 3, quantity: '2.000' }]
    const cancelled = event('SaleCancelled', { id: 1, reason: null, restock })
    const scenario = await given(companyRegistered(), tracked, sold, deactivated, cancelled)
    const rows = await scenario.rows(ref, stockById(3))
    expect(rows.get(ref)).to.include({ deleted_at: minute(3), barcode: null, revision: 3 })
    expect(rows.get(stockById(3))).to.include({ stock: '5.000', revision: 4 })
  })
})

describe('categories projection', () => {
  it('writes a row that is found by id, name and external id', async () => {
    const scenario = await given(companyRegistered(), categoryCreated({ id: 5, external_id: 'b', name: 'Bebidas' }))
    const refs = [categoryById(5), categoryByName('BEBIDAS'), categoryByExternalId('b')]
    const rows = await scenario.rows(...refs)
    const at = '2026-03-10T12:01:00.000-03:00'
    for (const ref of refs) {
      expect(rows.get(ref)).to.have.all.keys(Object.keys(categories.columns))
      expect(rows.get(ref)).to.deep.equal({
        company_id: COMPANY_ID,
        id: 5,
        external_id: 'b',
        name_key: 'bebidas',
        sort_key: 'bebidas\nbebidas',
        deleted_at: null,
        ...lineageOf(1),
        doc: { id: 5, external_id: 'b', name: 'Bebidas', created_at: at, updated_at: at, deleted_at: null },
      })
    }
  })

  it('renames, deletes and revives a category, and releases its name meanwhile', async () => {
    const created = categoryCreated({ id: 5, external_id: 'b', name: 'Bebidas' })
    const renamed = event('CategoryUpdated', { id: 5, changes: { name: 'Sucos' } })
    const deleted = event('CategoryDeleted', { id: 5 })
    const ref = categoryById(5)
    expect((await (await given(companyRegistered(), created, renamed)).rows(ref)).get(ref)).to.include({
      name_key: 'sucos',
      revision: 2,
    })
    const gone = await given(companyRegistered(), created, renamed, deleted)
    expect((await gone.rows(ref)).get(ref)).to.include({ name_key: null, deleted_at: minute(3), external_id: 'b' })
    expect(await gone.show('category/5')).to.equal(null)
    const revived = event('CategoryRevived', { id: 5, external_id: 'b', name: 'Chás' })
    const back = await given(companyRegistered(), created, deleted, revived)
    expect((await back.rows(ref)).get(ref)).to.include({ name_key: 'chás', deleted_at: null })
  })
})
