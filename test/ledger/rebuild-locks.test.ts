import { expect } from 'chai'
import { type Core, openCore } from '../../src/core.ts'
import { ensureLedger } from '../../src/ledger/ledgers.ts'
import { useDatabase } from '../support/database.ts'
import { untilBlocked } from '../support/lock-waits.ts'

const COMPANY_ID = 1

describe('rebuild beside units of work', () => {
  const database = useDatabase()
  let core: Core

  before(async () => {
    core = await openCore({ databaseUrl: database.url, queryConnections: 4, log: () => {}, onOutdated: () => {} })
    await ensureLedger(core.pool, COMPANY_ID)
  })
  after(() => core.close())

  it('waits for one that holds its ledger, and lets it read the tables until it is done', async () => {
    const unit = await core.pool.connect()
    try {
      await unit.query('begin')
      await unit.query('select from ops.ledgers where company_id = $1 for update', [COMPANY_ID])
      const rebuilding = core.rebuild()
      await untilBlocked(core.pool)
      await unit.query("set local lock_timeout = '1s'")
      const { rowCount } = await unit.query('select from read.companies')
      await unit.query('commit')
      expect(rowCount).to.equal(0)
      expect(await rebuilding).to.equal(0)
    } finally {
      unit.release()
    }
  })
})
