import { expect } from 'chai'
import { deactivateItem, ReplaceItemInput, replaceItem, updateItem } from '#commands/item-commands.ts'
import { event } from '#events/catalogue.ts'
import {
  type CategoryFilters,
  getCategory,
  getItem,
  type ItemFilters,
  listCategories,
  listDeletedItems,
  listItems,
} from '#queries/item-queries.ts'
import { fullReader } from '#queries/reader.ts'
import { useDatabase } from '../support/database.ts'
import { categoryCreated, itemCreated } from '../support/facts.ts'
import { COMPANY_ID } from '../support/given.ts'
import { dataOf, idsOf, OTHER_COMPANY_ID, openShop, recordsOf, type Shop } from '../support/shop.ts'

const AWKWARD = 'Bebidas "frias" \\ 😀 "category_id":1,'

describe('queries on the catalog', () => {
  const database = useDatabase()
  let shop: Shop
  before(async () => {
    shop = await openShop(database.url)
    await shop.record([
      categoryCreated({ id: 1, name: AWKWARD, external_id: 'beb' }),
      categoryCreated({ id: 2, name: 'Doces' }),
      itemCreated({ id: 1, name: 'Café Torrado', external_id: 'c', sku: 'CF', barcode: '789', category_id: 1 }),
      itemCreated({ id: 2, name: 'Chá', sku: 'cf', category_id: 2, stock: '5.000' }),
      itemCreated({ id: 3, name: 'Frete', type: 'service' }),
    ])
    await shop.record([categoryCreated({ id: 9 }), itemCreated({ id: 9, category_id: 9 })], OTHER_COMPANY_ID)
  })
  after(() => shop.core.close())

  const items = async (filters: ItemFilters) =>
    idsOf(await listItems(fullReader(shop.core.pool, COMPANY_ID), { limit: 50, ...filters }))
  const categories = async (filters: CategoryFilters) =>
    idsOf(await listCategories(fullReader(shop.core.pool, COMPANY_ID), { limit: 50, ...filters }))

  it('filters items by each field, and by all together', async () => {
    expect(await items({})).to.deep.equal([1, 2, 3])
    expect(await items({ name: 'CAFÉ' })).to.deep.equal([1])
    expect(await items({ type: 'service' })).to.deep.equal([3])
    expect(await items({ category_id: 2 })).to.deep.equal([2])
    expect(await items({ sku: 'CF' })).to.deep.equal([1])
    expect(await items({ barcode: '789' })).to.deep.equal([1])
    expect(await items({ external_id: 'c' })).to.deep.equal([1])
    const every = { name: 'torrado', type: 'product', category_id: 1, sku: 'CF', barcode: '789' } as const
    expect(await items({ ...every, external_id: 'c' })).to.deep.equal([1])
    expect(await items({ ...every, external_id: 'x' })).to.deep.equal([])
  })

  it('finds words of name, SKU, barcode and external id in any order', async () => {
    expect(await items({ q: 'torrado CAFE' })).to.deep.equal([1])
    expect(await items({ q: 'cf 789' })).to.deep.equal([1])
    expect(await items({ q: 'CF' })).to.deep.equal([1, 2])
    expect(await items({ q: 'cha 789' })).to.deep.equal([])
  })

  it('shows the name of the category with the same bytes in lists, GET and responses', async () => {
    const listed = await listItems(fullReader(shop.core.pool, COMPANY_ID), { limit: 50 })
    expect(recordsOf(listed).map((item) => item.category_name)).to.deep.equal([AWKWARD, 'Doces', null])
    const input = { external_id: 'z', name: AWKWARD, price: '1.00', category_id: 1, stock: '2' }
    const answer = await shop.run(replaceItem, ReplaceItemInput.parse(input))
    const { id } = answer.record as { id: number }
    const found = await getItem(fullReader(shop.core.pool, COMPANY_ID), id)
    expect(found).to.deep.equal({ record: answer.json, revision: answer.revision })
    const alone = await listItems(fullReader(shop.core.pool, COMPANY_ID), { limit: 1, external_id: 'z' })
    expect(dataOf(alone)).to.equal(answer.json)
    await shop.run(deactivateItem, { id })
  })

  it('finds an item with a changed stock among the changed ones', async () => {
    const { synced_at } = (await listItems(fullReader(shop.core.pool, COMPANY_ID), { limit: 1 })) as {
      synced_at: string
    }
    await shop.run(updateItem, { id: 2, changes: { stock_adjustment: '-1' } })
    const changed = await listItems(fullReader(shop.core.pool, COMPANY_ID), {
      limit: 50,
      updated_since: new Date(Date.parse(synced_at) + 1).toISOString(),
    })
    expect(recordsOf(changed).map(({ id, stock }) => ({ id, stock }))).to.deep.equal([{ id: 2, stock: '4.000' }])
  })

  it('lists deactivated items separately', async () => {
    const deleted = await listDeletedItems(fullReader(shop.core.pool, COMPANY_ID), { limit: 50 })
    const [record] = recordsOf(deleted)
    expect(record).to.include({ external_id: 'z' })
    expect(await getItem(fullReader(shop.core.pool, COMPANY_ID), Number(record?.id))).to.include({ record: null })
    expect(await items({ external_id: 'z' })).to.deep.equal([])
  })

  it('filters and gets categories', async () => {
    expect(await categories({})).to.deep.equal([1, 2])
    expect(await categories({ name: 'FRIAS' })).to.deep.equal([1])
    expect(await categories({ external_id: 'beb' })).to.deep.equal([1])
    const listed = await listCategories(fullReader(shop.core.pool, COMPANY_ID), { limit: 1 })
    const found = await getCategory(fullReader(shop.core.pool, COMPANY_ID), 1)
    expect(dataOf(listed)).to.equal(found.record)
  })

  it('isolates companies', async () => {
    expect(await items({ category_id: 9 })).to.deep.equal([])
    expect(await getItem(fullReader(shop.core.pool, COMPANY_ID), 9)).to.include({ record: null })
    expect(await getCategory(fullReader(shop.core.pool, COMPANY_ID), 9)).to.include({ record: null })
    expect(idsOf(await listItems(fullReader(shop.core.pool, OTHER_COMPANY_ID), { limit: 50 }))).to.deep.equal([9])
  })

  it('shows an item without its deleted category, with the same bytes in lists, GET and responses [ITEM-8]', async () => {
    const category = categoryCreated({ id: 3, name: 'Sazonal' })
    await shop.record([category, event('CategoryDeleted', { id: 3 })])
    await shop.record([itemCreated({ id: 8, name: AWKWARD, category_id: 3 })])
    const answer = await shop.run(updateItem, { id: 8, changes: { price: '3.00' } })
    expect(answer.record).to.include({ category_id: null, category_name: null, name: AWKWARD })
    const found = await getItem(fullReader(shop.core.pool, COMPANY_ID), 8)
    expect(found.record).to.equal(answer.json)
    expect(await items({ category_id: 3 })).to.deep.equal([])
    await shop.record([event('CategoryRevived', { id: 3, external_id: null, name: 'De volta' })])
    expect(JSON.parse((await getItem(fullReader(shop.core.pool, COMPANY_ID), 8)).record ?? '')).to.include({
      category_id: 3,
      category_name: 'De volta',
    })
    expect(await items({ category_id: 3 })).to.deep.equal([8])
    await shop.run(deactivateItem, { id: 8 })
  })
})
