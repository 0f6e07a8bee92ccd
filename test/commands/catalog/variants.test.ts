import { expect } from 'chai'
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
import { event } from '#events/catalogue.ts'
import { companyRegistered, itemCreated } from '../../support/facts.ts'
import { given } from '../../support/given.ts'

const shirt = itemCreated({ id: 3, external_id: 'CAMISETA', name: 'Camiseta', cost: '9.00' })
const blue = { size: 'M', color: 'Azul' }
const variant = itemCreated({ id: 4, external_id: 'M-AZUL', parent_id: 3, variant: blue })
const begin = (...more: ReturnType<typeof event>[]) => given(companyRegistered(), shirt, variant, ...more)

const input = (fields: object) => CreateItemInput.parse({ name: 'Camiseta M', price: '1.00', ...fields })
const create = async (fields: object) => (await begin()).when(createItem, input(fields))
const wrong = (field: string, message: string) => ({ fields: { [field]: [message] }, unknown_fields: [] })

describe('variants of items', () => {
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
