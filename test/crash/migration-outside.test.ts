import { expect } from 'chai'
import { before, describe, it } from 'mocha'
import { verifyLedger } from '#integrity/audit/verify.ts'
import { migrateCompany } from '#sharding/migration/migrate-company.ts'
import { send } from '../support/api.ts'
import { rowsOf, tracesOf, useTwoShards } from '../support/migrating.ts'
import { createOutsideStore, type FaultyStore } from '../support/outside-store.ts'

describe('migration of a company with its ledger outside Postgres', () => {
  const store: FaultyStore = createOutsideStore()
  const shards = useTwoShards({ store, log: () => {} })
  before('take writes', () => {
    store.faults.length = 0
  })

  it('leaves the ledger in its store, and moves all other data [SHARD-50]', async () => {
    const company = await shards.main.company()
    await shards.register(company.id)
    const cash = await company.paymentType('cash')
    const sale = {
      items: [{ description: 'Café', quantity: '1', unit_price: '5.00' }],
      payments: [{ payment_type_id: cash, amount: '5.00' }],
    }
    const sold = await company.post('/sales', sale, { 'idempotency-key': 'a' })
    expect(sold.status).to.equal(201)
    const { revision } = await migrateCompany(shards.moving(company.id))
    const there = (body: object, headers = {}) =>
      send(`${shards.south.url}/api/v1/sales`, 'POST', body, { authorization: `Bearer ${company.key}`, ...headers })
    expect((await there(sale, { 'idempotency-key': 'a' })).text).to.equal(sold.text)
    expect((await there(sale)).body.data.id).to.equal(sold.body.data.id + 1)
    const { pool } = shards.south.core
    expect(await verifyLedger({ pool, store }, company.id)).to.include({ valid: true, revision: revision + 1 })
    expect(await shards.south.core.verifyTables(company.id)).to.deep.include({ differences: [] })
    expect(await tracesOf(shards.main.databaseUrl, company.id)).to.deep.equal(['left'])
    expect(await rowsOf(shards.main.core.pool, company.id)).to.equal(0)
  })
})
