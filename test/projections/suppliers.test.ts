import { expect } from 'chai'
import { event } from '#events/catalogue.ts'
import {
  customerByExternalId,
  supplierByExternalId,
  supplierById,
  supplierByName,
  suppliers,
} from '#projections/people.ts'
import { companyRegistered, noDetails, supplierCreated } from '../support/facts.ts'
import { COMPANY_ID, given, lineageOf, minute } from '../support/given.ts'

const created = supplierCreated({ id: 3, external_id: 'a', name: 'Moinho  Ltda', trade_name: 'Moinho' })
const byId = supplierById(3)

describe('suppliers projection', () => {
  it('writes a row with all columns, in a table separate from customers', async () => {
    const scenario = await given(companyRegistered(), created)
    const rows = await scenario.rows(byId, customerByExternalId('a'))
    expect(rows.get(byId)).to.have.all.keys(Object.keys(suppliers.columns))
    expect(rows.get(byId)).to.deep.equal({
      company_id: COMPANY_ID,
      id: 3,
      external_id: 'a',
      name_key: 'moinho ltda',
      sort_key: 'moinho ltda\nmoinho ltda',
      search: 'moinho ltda\nmoinho\na',
      document: null,
      phone_key: null,
      deleted_at: null,
      ...lineageOf(1),
      doc: {
        ...created.data,
        forgotten_at: null,
        forgetting_due_on: null,
        metadata: null,
        created_at: '2026-03-10T12:01:00.000-03:00',
        updated_at: '2026-03-10T12:01:00.000-03:00',
        deleted_at: null,
      },
    })
    expect(rows.get(customerByExternalId('a'))).to.equal(null)
  })

  it('releases the name of a deleted supplier, and revives it under its id [PERSON-10]', async () => {
    const deleted = event('SupplierDeleted', { id: 3 })
    const gone = await given(companyRegistered(), created, deleted)
    const rows = await gone.rows(byId, supplierByName('Moinho Ltda'), supplierByExternalId('a'))
    expect(rows.get(supplierByName('Moinho Ltda'))).to.equal(null)
    const forgotten = rows.get(supplierByExternalId('a'))
    expect(forgotten).to.include({ id: 3, deleted_at: minute(2) })
    expect(forgotten?.doc).to.include({ name: null, trade_name: null })
    const fields = { ...noDetails, external_id: 'a', name: 'Novo', trade_name: null }
    const back = await given(companyRegistered(), created, deleted, event('SupplierRevived', { id: 3, ...fields }))
    const row = (await back.rows(byId)).get(byId)
    expect(row).to.include({ deleted_at: null, name_key: 'novo', revision: 3 })
    expect(row?.doc).to.include({ trade_name: null, created_at: '2026-03-10T12:01:00.000-03:00' })
  })
})
