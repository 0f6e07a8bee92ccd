import { expect } from 'chai'
import { registerCompany } from '#commands/company-commands.ts'
import { createUser, deactivateUser, updateUser } from '#commands/user-commands.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import { ensureLedger } from '#ledger/ledgers.ts'
import { runAs, runAsSystem } from '#ledger/write/run.ts'
import type { UserObject } from '#projections/users.ts'
import { type Core, openCore } from '#service/core.ts'
import { useDatabase } from '../support/database.ts'
import { companyRegistered } from '../support/facts.ts'
import { masterKeys } from '../support/master-key.ts'

const ROUNDS = 12

/** Owners that demote each other concurrently, each in a separate process. */
describe('the last owner of a company', () => {
  const database = useDatabase()
  let cores: Core[]

  before(async () => {
    const options = {
      masterKeys,
      databaseUrl: database.url,
      queryConnections: 2,
      log: console.error,
      onOutdated: () => {},
    }
    cores = [await openCore(options), await openCore(options)]
  })
  after(() => Promise.all(cores.map((core) => core.close())))

  for (const [what, command, input] of [
    ['demotes', updateUser, { role: 'clerk' }],
    ['deactivates', deactivateUser, {}],
  ] as const) {
    it(`remains if each of two ${what} the other [PANEL-8]`, async () => {
      const [core] = cores as [Core]
      for (let round = 1; round <= ROUNDS; round++) {
        const { rows } = await core.pool.query<{ id: number }>(`select nextval('ops.company_ids') as id`)
        const companyId = (rows[0] as { id: number }).id
        await ensureLedger(core.pool, companyId)
        await runAsSystem(core.writer, companyId, registerCompany, companyRegistered({ id: companyId }).data as never)
        const owners: number[] = []
        for (const name of ['ana', 'bia']) {
          const fields = { name, email: `${name}-${companyId}@loja.example`, role: 'owner' as const, password_hash: '' }
          owners.push(((await runAsSystem(core.writer, companyId, createUser, fields)) as UserObject).id)
        }
        const answers = await Promise.all(
          cores.map(({ writer }, me) => {
            const acting = { companyId, origin: 'pdv', actor: `user/${owners[me]}`, requestId: null } as const
            return runAs(writer, acting, command as Command<object>, { id: owners[1 - me], ...input })
          }),
        )
        const refused = answers.filter((answer) => isRefusal(answer))
        expect(refused).to.deep.equal([{ refused: 'last_owner' }])
        const { rows: left } = await core.pool.query(
          `select id from read.users
           where company_id = $1 and doc->>'role' = 'owner' and doc->>'status' = 'active'`,
          [companyId],
        )
        expect(left).to.have.length(1)
      }
    })
  }
})
