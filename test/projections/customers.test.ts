import { expect } from 'chai'
import { type DataOf, EVENT_TYPES, event } from '#events/catalogue.ts'
import { customerByExternalId, customerById, customerByName, customers } from '#projections/people.ts'
import { companyRegistered, customerCreated, noDetails } from '../support/facts.ts'
import { COMPANY_ID, given, lineageOf, minute } from '../support/given.ts'

const created = customerCreated({ id: 3, external_id: 'a', name: 'José  Silva', document: '52998224725' })
const deleted = event('CustomerDeleted', { id: 3 })
const byId = customerById(3)

describe('customers projection', () => {
  it('writes a row with all columns and the API’s object', async () => {
    const scenario = await given(companyRegistered(), created)
    const row = (await scenario.rows(byId)).get(byId)
    expect(row).to.have.all.keys(Object.keys(customers.columns))
    expect(row).to.deep.equal({
      company_id: COMPANY_ID,
      id: 3,
      external_id: 'a',
      name_key: 'josé silva',
      sort_key: 'jose silva\njosé silva',
      search: 'jose silva\na',
      document: '52998224725',
      phone_key: null,
      deleted_at: null,
      ...lineageOf(1),
      doc: {
        ...created.data,
        state_registration: null,
        ie_indicator: null,
        metadata: null,
        forgotten_at: null,
        forgetting_due_on: null,
        created_at: '2026-03-10T12:01:00.000-03:00',
        updated_at: '2026-03-10T12:01:00.000-03:00',
        deleted_at: null,
      },
    })
  })

  it('keeps the order of the fields through every change', async () => {
    const scenario = await given(companyRegistered(), created)
    const before = Object.keys((await scenario.show('customer/3')) as object)
    const changes = { notes: 'n', name: 'José Souza' }
    const updated = event('CustomerUpdated', { id: 3, changes })
    const revived = event('CustomerRevived', { ...created.data, name: 'José' } as DataOf<'CustomerRevived'>)
    const changed = await given(companyRegistered(), created, updated)
    expect(Object.keys((await changed.show('customer/3')) as object)).to.deep.equal(before)
    const back = await given(companyRegistered(), created, deleted, revived)
    expect(Object.keys((await back.show('customer/3')) as object)).to.deep.equal(before)
  })

  it('updates the time of change and the columns that repeat fields of the object', async () => {
    const changes = { name: 'Zé', external_id: null, document: null }
    const scenario = await given(companyRegistered(), created, event('CustomerUpdated', { id: 3, changes }))
    const row = (await scenario.rows(byId)).get(byId)
    expect(row).to.include({ name_key: 'zé', external_id: null, document: null, revision: 2, changed_at: minute(2) })
    expect(row?.doc).to.include({
      created_at: '2026-03-10T12:01:00.000-03:00',
      updated_at: '2026-03-10T12:02:00.000-03:00',
      deleted_at: null,
    })
  })

  it('releases the name of a deleted customer and keeps its external id', async () => {
    const scenario = await given(companyRegistered(), created, deleted)
    const rows = await scenario.rows(byId, customerByName('José Silva'), customerByExternalId('a'))
    expect(rows.get(customerByName('José Silva'))).to.equal(null)
    const row = rows.get(customerByExternalId('a'))
    expect(row).to.include({ id: 3, name_key: null, deleted_at: minute(2), revision: 2, changed_at: minute(2) })
    expect(await scenario.show('customer/3')).to.equal(null)
  })

  it('erases all personal fields of a deleted customer [PERSON-10]', async () => {
    const address = { zip: '1', street: 'Rua', number: '9', complement: 'a', district: 'b', city: 'c', state: 'SP' }
    const told = { phone: '11999990000', email: 'jose@ex.example', notes: 'alérgico', address }
    const scenario = await given(companyRegistered(), customerCreated({ ...created.data, ...told }), deleted)
    const row = (await scenario.rows(byId)).get(byId)
    expect(row).to.include({ name_key: null, sort_key: '\n', search: 'a', document: null, external_id: 'a' })
    const personal = Object.entries(EVENT_TYPES.CustomerCreated.data.shape).filter(
      ([, field]) => field.meta()?.personal,
    )
    expect(personal).to.have.length(6)
    for (const [name] of personal) expect(row?.doc, name).to.have.property(name).that.is.oneOf([null, ''])
  })

  it('revives a customer under its id, with its time of creation', async () => {
    const revived = event('CustomerRevived', { id: 3, ...noDetails, external_id: 'a', name: 'Ana' })
    const scenario = await given(companyRegistered(), created, deleted, revived)
    const row = (await scenario.rows(byId)).get(byId)
    expect(row).to.include({ deleted_at: null, name_key: 'ana', document: null, revision: 3 })
    expect(row?.doc).to.deep.equal({
      ...revived.data,
      state_registration: null,
      ie_indicator: null,
      metadata: null,
      forgotten_at: null,
      forgetting_due_on: null,
      created_at: '2026-03-10T12:01:00.000-03:00',
      updated_at: '2026-03-10T12:03:00.000-03:00',
      deleted_at: null,
    })
  })
})
