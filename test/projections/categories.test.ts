import { expect } from 'chai'
import { categories, categoryByExternalId, categoryById, categoryByName } from '#projections/catalog.ts'
import { categoryCreated, companyRegistered } from '../support/facts.ts'
import { COMPANY_ID, given, minute } from '../support/given.ts'

describe('categories projection', () => {
  it('makes a row that is found by id, name and external id', async () => {
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
        revision: 1,
        changed_at: minute(1),
        doc: { id: 5, external_id: 'b', name: 'Bebidas', created_at: at, updated_at: at },
      })
    }
  })
})
