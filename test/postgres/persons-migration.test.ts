import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { migrate } from '#postgres/migrate.ts'
import { useDatabase } from '../support/database.ts'
import { administer } from '../support/server.ts'

const MIGRATIONS = 'src/postgres/migrations'

describe('users of 0.1', () => {
  const database = useDatabase()
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tillbook-migrations-'))
    await administer(database.ownerUrl, (client) =>
      client.query('drop schema if exists ops cascade; drop schema if exists ledger cascade'),
    )
  })
  after(() => rm(folder, { recursive: true }))

  it('become persons with their passwords, and what they have open stays open [TOKEN-21, OPS-11]', async () => {
    const former = (await readdir(MIGRATIONS)).filter((name) => name < '017')
    for (const name of former) await cp(join(MIGRATIONS, name), join(folder, name))
    await migrate(database.ownerUrl, { folder, log: () => {} })
    await administer(database.ownerUrl, async (client) => {
      await client.query(
        `insert into ops.user_credentials values (7, 1, 'ana@a.example', 'hash a'), (9, 2, 'bia@b.example', 'hash b')`,
      )
      await client.query(
        `insert into ops.sync_tokens (hash, user_id, company_id, created_at, last_used_at) values ('x', 7, 1, now(), now())`,
      )
    })
    await migrate(database.ownerUrl, { log: () => {} })
    await administer(database.ownerUrl, async (client) => {
      const persons = await client.query('select email, password_hash, generation from ops.persons order by id')
      expect(persons.rows).to.deep.equal([
        { email: 'ana@a.example', password_hash: 'hash a', generation: 0 },
        { email: 'bia@b.example', password_hash: 'hash b', generation: 0 },
      ])
      const tokens = await client.query('select generation, person_generation from ops.sync_tokens')
      expect(tokens.rows).to.deep.equal([{ generation: 0, person_generation: 0 }])
    })
  })
})
