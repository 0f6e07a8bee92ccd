import { expect } from 'chai'
import { registerCompany } from '#commands/company-commands.ts'
import { CreateStoreInput, createStore } from '#commands/store-commands.ts'
import { ensureLedger } from '#ledger/ledgers.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { findStore } from '#queries/store-queries.ts'
import { type Core, openCore } from '#service/core.ts'
import { useDatabase } from '../support/database.ts'
import { companyRegistered } from '../support/facts.ts'
import { untilBlocked } from '../support/lock-waits.ts'
import { masterKeys } from '../support/master-key.ts'

const COMPANIES = [1, 2]
const TAKEN = { refused: 'duplicate_resource', details: { field: 'alias' } }

const store = (alias: string) => CreateStoreInput.parse({ alias, commission_percentage: '5' })

describe('names that are unique in the whole installation', () => {
  const database = useDatabase()
  let core: Core

  before(async () => {
    core = await openCore({
      masterKeys,
      databaseUrl: database.url,
      queryConnections: 4,
      log: () => {},
      onOutdated: () => {},
    })
    for (const id of COMPANIES) {
      await ensureLedger(core.pool, id)
      await runAsSystem(core.writer, id, registerCompany, companyRegistered({ id }).data as never)
    }
  })
  after(() => core.close())

  it('belong to one store under concurrent requests of several companies and processes [STORE-1]', async () => {
    const another = await openCore({
      masterKeys,
      databaseUrl: database.url,
      queryConnections: 1,
      log: () => {},
      onOutdated: () => {},
    })
    try {
      const aliases = Array.from({ length: 10 }, (_, index) => `loja-${index}`)
      const asked = aliases.flatMap((alias) =>
        [core, another].flatMap(({ writer }) =>
          COMPANIES.map(async (id) => ({
            id,
            alias,
            answer: (await runAsSystem(writer, id, createStore, store(alias))) as Record<string, unknown>,
          })),
        ),
      )
      const answers = await Promise.all(asked)
      for (const alias of aliases) {
        const [opened, ...more] = answers.filter((each) => each.alias === alias && 'id' in each.answer)
        expect(more).to.deep.equal([])
        const holder = await findStore(core.pool, core.vault, alias)
        expect(holder).to.include({ companyId: opened?.id, id: opened?.answer.id })
        for (const { id, answer } of answers.filter((each) => each.alias === alias && each !== opened)) {
          // Only the store's own company gets its id.
          const own = id === opened?.id ? { conflicting_id: opened.answer.id } : {}
          expect(answer).to.deep.equal({ refused: 'duplicate_resource', details: { field: 'alias', ...own } })
        }
      }
    } finally {
      await another.close()
    }
  })

  it('are refused, without an internal error, if another process commits one during the command', async () => {
    const other = await core.pool.connect()
    try {
      await other.query('begin')
      await other.query(`insert into ops.store_secrets (store_id, company_id, alias) values (900, $1, 'padaria')`, [
        COMPANIES[0],
      ])
      const answer = runAsSystem(core.writer, COMPANIES[1] as number, createStore, store('padaria'))
      await untilBlocked(core.pool)
      await other.query('commit')
      expect(await answer).to.deep.equal(TAKEN)
    } finally {
      other.release()
    }
  })
})
