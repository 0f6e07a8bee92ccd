import { expect } from 'chai'
import fc from 'fast-check'
import {
  CreateItemInput,
  createItem,
  deactivateItem,
  ReplaceItemInput,
  reactivateItem,
  replaceItem,
  UpdateItemInput,
  updateItem,
} from '#commands/item-commands.ts'
import { ItemChanges } from '#commands/record-commands.ts'
import { fromThousandths } from '#domain/money.ts'
import { describeIssues, type Problems } from '#domain/refusals.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import { categoryCreated, companyRegistered, itemCreated, plainItem, stockCounted } from '../support/facts.ts'
import { FIRST_NEW_ID, given } from '../support/given.ts'

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

const deactivated = event('CatalogItemDeactivated', { id: 3 })

describe('replace catalog item', () => {
  const input = (body: object = {}) =>
    ReplaceItemInput.parse({ external_id: 'c', name: 'Café', price: '10.00', ...body })
  const tracked = itemCreated({ id: 3, external_id: 'c', stock: '5.000' })

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

  it('compares codes by their digits, and clears absent ones [ITEM-12] [REC-2]', async () => {
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

describe('deactivate catalog item', () => {
  it('removes the item from lists', async () => {
    const scenario = await given(companyRegistered(), itemCreated({ id: 3 }))
    const decided = await scenario.when(deactivateItem, { id: 3 })
    decided.accepts('deleted', event('CatalogItemDeactivated', { id: 3 }))
    expect(await scenario.show('catalog_item/3')).to.equal(null)
  })

  it('does not find missing or deleted items', async () => {
    const scenario = await given(
      companyRegistered(),
      itemCreated({ id: 3 }),
      event('CatalogItemDeactivated', { id: 3 }),
    )
    for (const id of [3, 9]) {
      const decided = await scenario.when(deactivateItem, { id })
      decided.refuses('not_found')
    }
  })
})

type ItemData = DataOf<'CatalogItemCreated'>

const gone = event('CatalogItemDeactivated', { id: 3 })

describe('reactivate catalog item', () => {
  it('restores a deactivated item once, with its previous fields [ITEM-11]', async () => {
    const created = itemCreated({ id: 3, barcode: '789' })
    const scenario = await given(companyRegistered(), created)
    const before = await scenario.show('catalog_item/3')
    await (await scenario.when(deactivateItem, { id: 3 })).accepts('deleted', gone)
    const { stock: _, ...fields } = created.data as ItemData
    await (await scenario.when(reactivateItem, { id: 3 })).accepts('updated', event('CatalogItemRevived', fields))
    const { updated_at: _then, ...was } = before as { updated_at: string }
    expect(await scenario.show('catalog_item/3')).to.deep.include(was)
    await (await scenario.when(reactivateItem, { id: 3 })).accepts('unchanged')
  })

  it('does not find missing items, and refuses a barcode that another item has now [ITEM-11]', async () => {
    const taken = itemCreated({ id: 4, barcode: '789' })
    const scenario = await given(companyRegistered(), itemCreated({ id: 3, barcode: '789' }), gone, taken)
    ;(await scenario.when(reactivateItem, { id: 9 })).refuses('not_found')
    ;(await scenario.when(reactivateItem, { id: 3 })).refuses('duplicate_resource', {
      field: 'barcode',
      conflicting_id: 4,
    })
  })
})

const NONE: Problems = { fields: {}, unknown_fields: [] }

function problemsOf(body: object): Problems {
  const { error } = CreateItemInput.safeParse(body)
  return error ? describeIssues(error) : NONE
}

function patchProblems(changes: object): Problems {
  const { error } = ItemChanges.safeParse(changes)
  return error ? describeIssues(error) : NONE
}

const wrongFields = (body: object) => Object.keys(problemsOf({ name: 'Café', price: '1.00', ...body }).fields)

describe('catalog item input', () => {
  it('requires name and price only, and defaults to a product', () => {
    expect(CreateItemInput.parse({ name: 'Café', price: '1.00' })).to.deep.equal({
      type: 'product',
      name: 'Café',
      price: '1.00',
    })
    expect(problemsOf({}).fields).to.deep.equal({ name: ['preencha este campo'], price: ['preencha este campo'] })
  })

  it('accepts null for optional fields only', () => {
    const empty = {
      external_id: null,
      type: null,
      sku: null,
      barcode: null,
      category_id: null,
      unit: null,
      cost: null,
      gtin: null,
      ncm: null,
      cest: null,
      stock: null,
    }
    expect(wrongFields(empty)).to.deep.equal([])
    expect(wrongFields({ name: null, price: null })).to.have.members(['name', 'price'])
  })

  it('refuses malformed values', () => {
    const malformed = {
      type: 'kit',
      price: '1.5',
      cost: 2,
      stock: '-1',
      category_id: 0,
      sku: 'x'.repeat(61),
      barcode: '',
      unit: 'x'.repeat(11),
      gtin: '7891234567894',
      ncm: '0901210',
      cest: '170960',
    }
    expect(wrongFields(malformed)).to.have.members(Object.keys(malformed))
  })

  it('reports fields of the service as unknown', () => {
    const read = ['id', 'category_name', 'stock_updated_at', 'created_at', 'updated_at']
    const body = Object.fromEntries(read.map((field) => [field, null]))
    expect(problemsOf({ name: 'Café', price: '1.00', ...body }).unknown_fields).to.have.members(read)
    expect(patchProblems(body).unknown_fields).to.have.members(read)
  })

  it('refuses stock for a service, but accepts null', () => {
    expect(wrongFields({ type: 'service', stock: '0' })).to.deep.equal(['stock'])
    expect(wrongFields({ type: 'service', stock: null })).to.deep.equal([])
  })

  it('accepts a stock adjustment in PATCH only, and not together with a count', () => {
    expect(problemsOf({ name: 'Café', price: '1.00', stock_adjustment: '1' }).unknown_fields).to.deep.equal([
      'stock_adjustment',
    ])
    for (const stock_adjustment of ['-1.5', null]) expect(patchProblems({ stock_adjustment })).to.deep.equal(NONE)
    for (const stock of ['1', null]) {
      expect(patchProblems({ stock, stock_adjustment: '1' }).fields).to.have.keys('stock_adjustment')
    }
    for (const stock_adjustment of ['0', 1]) {
      expect(patchProblems({ stock_adjustment }).fields).to.have.keys('stock_adjustment')
    }
  })

  it('requires an external id in inputs that identify the record by it', () => {
    expect(ReplaceItemInput.safeParse({ name: 'Café', price: '1.00' }).success).to.equal(false)
  })
})

const shirt = itemCreated({ id: 3, external_id: 'CAMISETA', name: 'Camiseta', cost: '9.00' })
const blue = { size: 'M', color: 'Azul' }
const variant = itemCreated({ id: 4, external_id: 'M-AZUL', parent_id: 3, variant: blue })
const begin = (...more: ReturnType<typeof event>[]) => given(companyRegistered(), shirt, variant, ...more)

describe('variants of items', () => {
  const input = (fields: object) => CreateItemInput.parse({ name: 'Camiseta M', price: '1.00', ...fields })
  const create = async (fields: object) => (await begin()).when(createItem, input(fields))

  it('are items with a parent, a size and a colour [ITEM-120]', async () => {
    const scenario = await begin()
    expect(await scenario.show('catalog_item/4')).to.deep.include({ parent_id: 3, variant: blue })
    const { decision } = await scenario.when(createItem, input({ parent_id: 3, variant: { size: 'G' } }))
    expect('events' in decision && decision.events[0]?.data).to.deep.include({
      parent_id: 3,
      variant: { size: 'G', color: null },
    })
  })

  it('need both fields, and one of size and colour [ITEM-120]', () => {
    for (const fields of [
      { parent_id: 3 },
      { variant: blue },
      { parent_id: 3, variant: {} },
      { parent_id: null, variant: blue },
    ]) {
      expect(
        CreateItemInput.safeParse({ name: 'x', price: '1.00', ...fields }).success,
        JSON.stringify(fields),
      ).to.equal(false)
      expect(UpdateItemInput.safeParse({ id: 4, changes: fields }).success).to.equal(false)
    }
  })

  it('refuse an unknown item, a variant and themselves as parent [ITEM-120]', async () => {
    ;(await create({ parent_id: 99, variant: blue })).refuses(
      'validation_failed',
      wrong('parent_id', 'item não encontrado no catálogo'),
    )
    ;(await create({ parent_id: 4, variant: blue })).refuses('validation_failed', wrong('parent_id', 'é uma variação'))
    const own = await (await begin()).when(updateItem, { id: 3, changes: { parent_id: 3, variant: blue } })
    own.refuses('validation_failed', wrong('parent_id', 'é uma variação'))
  })

  it('are one for each size and colour, case and accents aside [ITEM-120]', async () => {
    const again = await create({ parent_id: 3, variant: { size: 'm', color: 'AZUL' } })
    again.refuses('duplicate_resource', { field: 'variant', conflicting_id: 4 })
    ;(await (await begin()).when(updateItem, { id: 4, changes: { parent_id: 3, variant: blue } })).accepts('unchanged')
  })

  it('stay what they are under a PUT without them, and end by null in both [ITEM-120]', async () => {
    const scenario = await begin()
    const fields = { external_id: 'M-AZUL', name: 'Camiseta azul', price: '1.00' }
    await scenario.when(replaceItem, ReplaceItemInput.parse(fields))
    expect(await scenario.show('catalog_item/4')).to.deep.include({
      name: 'Camiseta azul',
      parent_id: 3,
      variant: blue,
    })
    await scenario.when(updateItem, { id: 4, changes: { parent_id: null, variant: null } })
    expect(await scenario.show('catalog_item/4')).to.deep.include({ parent_id: null, variant: null })
  })

  it('variants are one level deep by PATCH and PUT [ITEM-122]', async () => {
    const scenario = await begin(itemCreated({ id: 5, name: 'Roupa' }))
    const changes = { parent_id: 5, variant: { size: 'G', color: null } }
    const fields = { external_id: 'CAMISETA', name: 'Camiseta', price: '1.00', ...changes }
    const put = ReplaceItemInput.parse(fields)
    const refusal = wrong('parent_id', 'o item tem variações')
    ;(await scenario.when(updateItem, { id: 3, changes })).refuses('validation_failed', refusal)
    ;(await scenario.when(replaceItem, put)).refuses('validation_failed', refusal)
    await scenario.when(updateItem, { id: 4, changes: { parent_id: null, variant: null } })
    await scenario.when(replaceItem, put)
    expect(await scenario.show('catalog_item/3')).to.deep.include(changes)
  })

  it('prevent that their item is deleted, also after they were deleted and revived [ITEM-122]', async () => {
    const scenario = await begin()
    const revive = { external_id: 'M-AZUL', name: 'Camiseta azul', price: '1.00' }
    ;(await scenario.when(deactivateItem, { id: 3 })).refuses('has_variants')
    for (const [command, input] of [
      [reactivateItem, { id: 4 }],
      [replaceItem, ReplaceItemInput.parse(revive)],
    ] as const) {
      await scenario.when(deactivateItem, { id: 4 })
      await scenario.when<never>(command, input as never)
      ;(await scenario.when(deactivateItem, { id: 3 })).refuses('has_variants')
    }
    await scenario.when(deactivateItem, { id: 4 })
    expect((await scenario.when(deactivateItem, { id: 3 })).decision).to.include({ outcome: 'deleted' })
  })

  it('have the cost of their item if they are created without one [ITEM-123]', async () => {
    const scenario = await begin()
    for (const [cost, expected] of [
      [undefined, '9.00'],
      [null, null],
      ['5.00', '5.00'],
    ] as const) {
      const variant = { size: expected ?? 'U' }
      const { decision } = await scenario.when(createItem, input({ cost, parent_id: 3, variant }))
      expect('events' in decision && decision.events[0]?.data, `${cost}`).to.include({ cost: expected })
    }
  })

  it('are not revived beside another of the same size and colour [ITEM-120]', async () => {
    const other = itemCreated({ id: 5, parent_id: 3, variant: blue })
    const scenario = await begin(event('CatalogItemDeactivated', { id: 4 }), other)
    const taken = { field: 'variant', conflicting_id: 5 }
    ;(await scenario.when(reactivateItem, { id: 4 })).refuses('duplicate_resource', taken)
    const fields = { external_id: 'M-AZUL', name: 'Camiseta azul', price: '1.00' }
    ;(await scenario.when(replaceItem, ReplaceItemInput.parse(fields))).refuses('duplicate_resource', taken)
  })
})
