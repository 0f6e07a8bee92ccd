import { expect } from 'chai'
import { deactivateItem, reactivateItem } from '#commands/item-commands.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { companyRegistered, itemCreated } from '../../support/facts.ts'
import { given } from '../../support/given.ts'

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
