import { expect } from 'chai'
import { describe, it } from 'mocha'
import { streamOf } from '#ledger/command.ts'
import type { TestCompany } from '../support/api.ts'
import { rowsOf } from '../support/company-rows.ts'
import { createOutsideStore } from '../support/outside-store.ts'
import { callAt, untilLogged, useTwoCells } from './two-cells.ts'

describe('company with its ledger outside Postgres', () => {
  const stores = { north: createOutsideStore(), south: createOutsideStore() }
  const cells = useTwoCells({ north: { store: stores.north }, south: { store: stores.south } })

  async function exported(): Promise<{
    readonly company: TestCompany
    readonly path: string
    readonly stream: string
  }> {
    const company = await cells.north.api.company()
    await company.post('/customers', { name: 'Ana', email: null })
    const path = cells.path()
    await cells.north.exportTo(path, company.id)
    return { company, path, stream: streamOf(company.id) }
  }

  it('moves with its stream, which the former cell keeps and does not follow [CELL-11]', async () => {
    const { company, path, stream } = await exported()
    const { north, south } = cells
    const customers = await company.get('/customers')
    await untilLogged(north, customers)
    const { note } = await south.importFrom(path)
    expect(stores.south.events(stream)).to.deep.equal(stores.north.events(stream))
    await north.remove(company.id, note)
    const following = north.api.core.follow()
    try {
      expect((await callAt(south, company, 'GET', '/customers')).text).to.equal(customers.text)
      const added = await callAt(south, company, 'POST', '/customers', { name: 'Bia' })
      expect(added.status).to.equal(201)
      const back = cells.path()
      await south.exportTo(back, company.id)
      expect(await rowsOf(north.cell.pool, company.id)).to.equal(0)
      await south.remove(company.id, (await north.importFrom(back)).note)
      expect(stores.north.events(stream)).to.deep.equal(stores.south.events(stream))
      expect((await company.get('/customers')).body.data).to.deep.include(added.body.data)
      expect((await company.post('/customers', { name: 'Caio' })).status).to.equal(201)
    } finally {
      await following?.stop()
    }
  })

  it('is imported by another run if the store failed during the append [CELL-11]', async () => {
    const { company, path, stream } = await exported()
    const { south } = cells
    const following = south.api.core.follow()
    try {
      stores.south.faults.push('after')
      const failed = await south.importFrom(path).catch((error: Error) => error.message)
      expect(failed).to.include('UNAVAILABLE')
      expect(stores.south.events(stream)).to.deep.equal(stores.north.events(stream))
      expect(await rowsOf(south.cell.pool, company.id)).to.equal(0)
      await south.importFrom(path)
      expect(stores.south.events(stream)).to.deep.equal(stores.north.events(stream))
      expect((await callAt(south, company, 'POST', '/customers', { name: 'Bia' })).status).to.equal(201)
    } finally {
      await following?.stop()
    }
  })
})
