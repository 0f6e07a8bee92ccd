import { expect } from 'chai'
import { event } from '#events/catalogue.ts'
import { categories, categoryByExternalId, categoryById, categoryByName } from '#projections/catalog.ts'
import { categoryCreated, companyRegistered } from '../support/facts.ts'
import { COMPANY_ID, given, lineageOf, minute } from '../support/given.ts'

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
