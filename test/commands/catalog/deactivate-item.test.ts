import { expect } from 'chai'
import { deactivateItem } from '#commands/item-commands.ts'
import { event } from '#events/catalogue.ts'
import { companyRegistered, itemCreated } from '../../support/facts.ts'
import { given } from '../../support/given.ts'

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
