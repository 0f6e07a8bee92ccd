import { expect } from 'chai'
import {
  CategoryChanges,
  CreateCategoryInput,
  createCategory,
  deleteCategory,
  ReplaceCategoryInput,
  replaceCategory,
  updateCategory,
} from '#commands/catalog-commands.ts'
import { createItem, replaceItem, updateItem } from '#commands/item-commands.ts'
import { event } from '#events/catalogue.ts'
import { categoryCreated, companyRegistered, itemCreated } from '../support/facts.ts'
import { FIRST_NEW_ID, given } from '../support/given.ts'

const input = (body: object) => CreateCategoryInput.parse(body)

describe('create category', () => {
  it('records name and external id', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(createCategory, input({ name: 'Doces', external_id: 'd' }))
    decided.accepts('created', categoryCreated({ id: FIRST_NEW_ID, name: 'Doces', external_id: 'd' }))
  })

  it('refuses name and external id of another category', async () => {
    const scenario = await given(companyRegistered(), categoryCreated({ id: 5, external_id: 'b' }))
    const name = await scenario.when(createCategory, input({ name: 'BEBIDAS' }))
    name.refuses('duplicate_resource', { field: 'name', conflicting_id: 5 })
    const externalId = await scenario.when(createCategory, input({ name: 'Doces', external_id: 'b' }))
    externalId.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 5 })
  })

  it('accepts names of 1 to 80 characters', () => {
    for (const name of ['', 'x'.repeat(81), null]) {
      expect(CreateCategoryInput.safeParse({ name }).success, String(name)).to.equal(false)
    }
    expect(CreateCategoryInput.safeParse({ name: 'x'.repeat(80) }).success).to.equal(true)
  })
})

const drinks = categoryCreated({ id: 5, external_id: 'b', name: 'Bebidas' })
const sweets = categoryCreated({ id: 6, external_id: 'd', name: 'Doces' })
const deleted = event('CategoryDeleted', { id: 5 })

const replacement = (external_id: string, name: string) => ReplaceCategoryInput.parse({ external_id, name })
const patch = (id: number, changes: object) => ({ id, changes: CategoryChanges.parse(changes) })

describe('replace category', () => {
  it('PUT creates a missing category, changes an existing one, and repeats silently [REC-2, REC-3]', async () => {
    const scenario = await given(companyRegistered(), drinks)
    const created = await scenario.when(replaceCategory, replacement('s', 'Salgados'))
    created.accepts('created', categoryCreated({ id: FIRST_NEW_ID, external_id: 's', name: 'Salgados' }))
    const changed = await scenario.when(replaceCategory, replacement('b', 'Sucos'))
    changed.accepts('updated', event('CategoryUpdated', { id: 5, changes: { name: 'Sucos' } }))
    const again = await scenario.when(replaceCategory, replacement('b', 'Sucos'))
    again.accepts('unchanged')
  })

  it('revives a deleted category, and refuses a name taken meanwhile [REC-4]', async () => {
    const scenario = await given(companyRegistered(), drinks, sweets, deleted)
    const taken = await scenario.when(replaceCategory, replacement('b', 'DOCES'))
    taken.refuses('duplicate_resource', { field: 'name', conflicting_id: 6 })
    const revived = await scenario.when(replaceCategory, replacement('b', 'Bebidas'))
    revived.accepts('updated', event('CategoryRevived', { id: 5, external_id: 'b', name: 'Bebidas' }))
  })
})

describe('update category', () => {
  it('changes the given fields, and null clears the external id [REC-5]', async () => {
    const scenario = await given(companyRegistered(), drinks)
    const changed = await scenario.when(updateCategory, patch(5, { name: 'bebidas', external_id: null }))
    const changes = { name: 'bebidas', external_id: null }
    changed.accepts('updated', event('CategoryUpdated', { id: 5, changes }))
    const none = await scenario.when(updateCategory, patch(5, {}))
    none.accepts('unchanged')
    expect(CategoryChanges.safeParse({ name: null }).success).to.equal(false)
  })

  it('refuses name and external id of another category, and does not find deleted ones', async () => {
    const scenario = await given(companyRegistered(), drinks, sweets)
    const name = await scenario.when(updateCategory, patch(6, { name: ' bebidas' }))
    name.refuses('duplicate_resource', { field: 'name', conflicting_id: 5 })
    const externalId = await scenario.when(updateCategory, patch(6, { external_id: 'b' }))
    externalId.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 5 })
    const gone = await given(companyRegistered(), drinks, deleted)
    for (const id of [5, 9]) {
      const updated = await gone.when(updateCategory, patch(id, {}))
      updated.refuses('not_found')
    }
  })
})

describe('delete category', () => {
  const item = itemCreated({ id: 3, external_id: 'c', category_id: 5 })

  it('leaves its items without a category until it is revived [ITEM-8]', async () => {
    const scenario = await given(companyRegistered(), drinks, item)
    const decided = await scenario.when(deleteCategory, { id: 5 })
    decided.accepts('deleted', deleted)
    expect(await scenario.show('catalog_item/3')).to.include({ category_id: null, category_name: null })
    await scenario.when(replaceCategory, replacement('b', 'Sucos'))
    expect(await scenario.show('catalog_item/3')).to.include({ category_id: 5, category_name: 'Sucos' })
  })

  it('does not find missing or deleted categories', async () => {
    const scenario = await given(companyRegistered(), drinks, deleted)
    for (const id of [5, 9]) {
      const decided = await scenario.when(deleteCategory, { id })
      decided.refuses('not_found')
    }
  })

  it('refuses items for a deleted category [REC-1]', async () => {
    const scenario = await given(companyRegistered(), drinks, item, deleted)
    const fields = { type: 'product', name: 'Chá', price: '1.00', category_id: 5 } as const
    for (const decided of [
      await scenario.when(createItem, fields),
      await scenario.when(replaceItem, { ...fields, external_id: 'x' }),
      await scenario.when(updateItem, { id: 3, changes: { category_id: 5 } }),
    ]) {
      expect(decided.decision).to.have.nested.property('details.fields.category_id')
    }
    const priced = await scenario.when(updateItem, { id: 3, changes: { price: '2.00' } })
    expect(priced.decision).to.include({ outcome: 'updated' })
  })
})
