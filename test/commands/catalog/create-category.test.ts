import { expect } from 'chai'
import { CreateCategoryInput, createCategory } from '#commands/category-commands.ts'
import { categoryCreated, companyRegistered } from '../../support/facts.ts'
import { FIRST_NEW_ID, given } from '../../support/given.ts'

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
