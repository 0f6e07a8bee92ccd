import { expect } from 'chai'
import { createCustomer, updateCustomer } from '#commands/people/customers.ts'
import { event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/envelope.ts'
import { categoryById } from '#projections/catalog.ts'
import { paymentTypeById } from '#projections/payment-types.ts'
import { customerById, customerByName, supplierById } from '#projections/people.ts'
import { listCustomers } from '#queries/people.ts'
import { useDatabase } from '../support/database.ts'
import {
  categoryCreated,
  companyRegistered,
  customerCreated,
  paymentTypeCreated,
  supplierCreated,
} from '../support/facts.ts'
import { COMPANY_ID, given } from '../support/given.ts'
import { openShop, recordsOf } from '../support/shop.ts'

const ana = customerCreated({ id: 3, name: 'Ana' })
const other = customerCreated({ id: 4, name: 'ANA' })

describe('duplicate names in an old ledger', () => {
  for (const { kind, events, byId } of [
    { kind: 'customers', events: [ana, other], byId: customerById },
    {
      kind: 'suppliers',
      events: [supplierCreated({ id: 3, name: 'Ana' }), supplierCreated({ id: 4, name: 'ANA' })],
      byId: supplierById,
    },
    {
      kind: 'categories',
      events: [categoryCreated({ id: 3, name: 'Ana' }), categoryCreated({ id: 4, name: 'ANA' })],
      byId: categoryById,
    },
    {
      kind: 'payment types',
      events: [paymentTypeCreated({ id: 3, name: 'Pix' }), paymentTypeCreated({ id: 4, name: 'PIX' })],
      byId: paymentTypeById,
    },
  ] as { kind: string; events: NewEvent[]; byId: typeof customerById }[]) {
    it(`belong to the first of the ${kind} [REC-8]`, async () => {
      const scenario = await given(companyRegistered(), ...events)
      const rows = await scenario.rows(byId(3), byId(4))
      expect(rows.get(byId(3))?.name_key).to.be.a('string')
      expect(rows.get(byId(4))?.name_key).to.equal(null)
    })
  }

  it('can be taken by another record once they are released', async () => {
    const scenario = await given(
      companyRegistered(),
      ana,
      other,
      event('CustomerDeleted', { id: 3 }),
      event('CustomerUpdated', { id: 4, changes: { name: 'Aná' } }),
      event('CustomerUpdated', { id: 4, changes: { name: 'Ana' } }),
    )
    const rows = await scenario.rows(customerByName('ana'))
    expect(rows.get(customerByName('ana'))?.id).to.equal(4)
  })

  it('can be kept by both records, and taken by no other [REC-8]', async () => {
    const scenario = await given(companyRegistered(), ana, other)
    const kept = await scenario.when(updateCustomer, { id: 4, changes: { name: 'ANA', notes: 'x' } })
    kept.accepts('updated', event('CustomerUpdated', { id: 4, changes: { notes: 'x' } }))
    const third = await scenario.when(createCustomer, { name: ' ana ' })
    third.refuses('duplicate_resource', { field: 'name', conflicting_id: 3 })
  })

  describe('in a database', () => {
    const database = useDatabase()

    it('are rebuilt from the ledger unchanged [REC-8]', async () => {
      const shop = await openShop(database.url)
      try {
        const twice = [paymentTypeCreated({ id: 1, name: 'Pix' }), paymentTypeCreated({ id: 2, name: 'PIX' })]
        for (const events of [[ana], [other], twice]) await shop.record(events)
        const { parity } = await shop.core.rebuild()
        expect(parity?.filter(({ equal }) => !equal)).to.deep.equal([])
        const page = await listCustomers(shop.core.pool, COMPANY_ID, { limit: 50, name: 'ana' })
        expect(recordsOf(page).map(({ name }) => name)).to.deep.equal(['Ana', 'ANA'])
      } finally {
        await shop.core.close()
      }
    })
  })
})
