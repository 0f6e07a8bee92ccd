import { expect } from 'chai'
import {
  CreateSupplierInput,
  createSupplier,
  deleteSupplier,
  ReplaceSupplierInput,
  replaceSupplier,
  UpdateSupplierInput,
  updateSupplier,
} from '#commands/person-commands.ts'
import { describeIssues } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import { companyRegistered, customerCreated, noDetails, supplierCreated } from '../../support/facts.ts'
import { FIRST_NEW_ID, given } from '../../support/given.ts'

const patch = (changes: object) => UpdateSupplierInput.parse({ id: 3, changes })
const moinho = supplierCreated({ id: 3, external_id: 'a', trade_name: 'Moinho Azul' })
const granja = supplierCreated({ id: 4, external_id: 'b', name: 'Granja' })
const deleted = event('SupplierDeleted', { id: 3 })

describe('create supplier', () => {
  const input = (body: object) => CreateSupplierInput.parse(body)

  it('records a supplier with a name only', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(createSupplier, input({ name: ' Moinho ' }))
    decided.accepts('created', supplierCreated({ id: FIRST_NEW_ID }))
  })

  it('records a trade name, which need not be unique', async () => {
    const scenario = await given(companyRegistered(), moinho)
    const decided = await scenario.when(createSupplier, input({ name: 'Outro', trade_name: ' Moinho Azul ' }))
    decided.accepts('created', supplierCreated({ id: FIRST_NEW_ID, name: 'Outro', trade_name: 'Moinho Azul' }))
  })

  for (const trade_name of [7, '', 'x'.repeat(121)])
    it(`refuses the trade name ${JSON.stringify(trade_name).slice(0, 9)}`, () => {
      const { error } = CreateSupplierInput.safeParse({ name: 'Moinho', trade_name })
      expect(Object.keys(describeIssues(error!).fields)).to.deep.equal(['trade_name'])
    })

  it('refuses the name and the external id of another supplier [PERSON-2]', async () => {
    const scenario = await given(companyRegistered(), moinho)
    const name = await scenario.when(createSupplier, input({ name: 'MOINHO' }))
    name.refuses('duplicate_resource', { field: 'name', conflicting_id: 3, suggested_name: 'MOINHO (2)' })
    const externalId = await scenario.when(createSupplier, input({ name: 'Horta', external_id: 'a' }))
    externalId.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 3 })
  })

  it('marks the external id of a deleted supplier; the name is available', async () => {
    const scenario = await given(companyRegistered(), moinho, deleted)
    const decided = await scenario.when(createSupplier, input({ name: 'Moinho', external_id: 'a' }))
    decided.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 3, deleted: true })
    const named = await scenario.when(createSupplier, input({ name: 'Moinho' }))
    named.accepts('created', supplierCreated({ id: FIRST_NEW_ID }))
  })

  it('keeps suppliers separate from customers [PERSON-2]', async () => {
    const scenario = await given(companyRegistered(), customerCreated({ id: 3, name: 'Moinho', external_id: 'a' }))
    const decided = await scenario.when(createSupplier, input({ name: 'Moinho', external_id: 'a' }))
    decided.accepts('created', supplierCreated({ id: FIRST_NEW_ID, external_id: 'a' }))
  })
})

describe('replace supplier', () => {
  const input = (body: object) => ReplaceSupplierInput.parse({ external_id: 'a', ...body })

  it('creates a missing supplier [REC-2]', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(replaceSupplier, input({ name: 'Moinho', trade_name: 'M' }))
    decided.accepts('created', supplierCreated({ id: FIRST_NEW_ID, external_id: 'a', trade_name: 'M' }))
  })

  it('replaces the record, clears absent fields, and records nothing when repeated [REC-2, REC-3]', async () => {
    const scenario = await given(companyRegistered(), moinho)
    const decided = await scenario.when(replaceSupplier, input({ name: 'Moinho', phone: '11 5555-1234' }))
    const changes = { phone: '1155551234', trade_name: null }
    decided.accepts('updated', event('SupplierUpdated', { id: 3, changes }))
    const again = await scenario.when(replaceSupplier, input({ name: 'Moinho', phone: '11 5555-1234' }))
    again.accepts('unchanged')
    expect(again.decision).to.include({ subject: 'supplier/3' })
  })

  it('revives a deleted supplier unless the name was taken meanwhile', async () => {
    const scenario = await given(companyRegistered(), moinho, deleted)
    const decided = await scenario.when(replaceSupplier, input({ name: 'Moinho' }))
    const revived = { id: 3, ...noDetails, external_id: 'a', name: 'Moinho', trade_name: null }
    decided.accepts('updated', event('SupplierRevived', revived))
    const taken = await given(companyRegistered(), moinho, deleted, supplierCreated({ id: 5 }))
    const refused = await taken.when(replaceSupplier, input({ name: 'Moinho' }))
    refused.refuses('duplicate_resource', { field: 'name', conflicting_id: 5, suggested_name: 'Moinho (2)' })
  })
})

describe('update supplier', () => {
  it('changes the given fields only', async () => {
    const scenario = await given(companyRegistered(), moinho)
    const decided = await scenario.when(updateSupplier, patch({ trade_name: null, notes: 'entrega às terças' }))
    const changes = { trade_name: null, notes: 'entrega às terças' }
    decided.accepts('updated', event('SupplierUpdated', { id: 3, changes }))
    expect(await scenario.show('supplier/3')).to.include({ name: 'Moinho', ...changes })
  })

  it('records nothing for equal values', async () => {
    const scenario = await given(companyRegistered(), moinho)
    for (const changes of [{}, { trade_name: 'Moinho Azul' }, { external_id: 'a', name: 'Moinho' }]) {
      const decided = await scenario.when(updateSupplier, patch(changes))
      decided.accepts('unchanged')
    }
  })

  it('refuses name and external id of another supplier', async () => {
    const scenario = await given(companyRegistered(), moinho, granja)
    const name = await scenario.when(updateSupplier, patch({ name: 'granja' }))
    name.refuses('duplicate_resource', { field: 'name', conflicting_id: 4, suggested_name: 'granja (2)' })
    const externalId = await scenario.when(updateSupplier, patch({ external_id: 'b' }))
    externalId.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 4 })
  })
})

describe('delete supplier', () => {
  it('removes the supplier from lists', async () => {
    const scenario = await given(companyRegistered(), moinho)
    const decided = await scenario.when(deleteSupplier, { id: 3 })
    decided.accepts('deleted', deleted)
    expect(await scenario.show('supplier/3')).to.equal(null)
  })

  it('does not find missing or deleted suppliers, in changes either', async () => {
    const scenario = await given(companyRegistered(), moinho, deleted)
    for (const id of [3, 9]) {
      const removed = await scenario.when(deleteSupplier, { id })
      removed.refuses('not_found')
      const updated = await scenario.when(updateSupplier, { id, changes: {} })
      updated.refuses('not_found')
    }
  })
})
