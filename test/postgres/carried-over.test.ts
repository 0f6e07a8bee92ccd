import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { migrate } from '#postgres/migrate.ts'
import { useDatabase } from '../support/database.ts'
import { administer } from '../support/server.ts'

const MIGRATIONS = 'src/postgres/migrations'

describe('what 0.1 has stored', () => {
  const database = useDatabase()
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tillbook-migrations-'))
    await administer(database.url, (client) =>
      client.query('drop schema if exists ops cascade; drop schema if exists ledger cascade'),
    )
  })
  after(() => rm(folder, { recursive: true }))

  it('of users: they become persons with their passwords, and what they have open stays open [TOKEN-21, OPS-11]', async () => {
    const former = (await readdir(MIGRATIONS)).filter((name) => name < '017')
    for (const name of former) await cp(join(MIGRATIONS, name), join(folder, name))
    await migrate(database.url, { folder, log: () => {} })
    await administer(database.url, async (client) => {
      await client.query(
        `insert into ops.user_credentials values (7, 1, 'ana@a.example', 'hash a'), (9, 2, 'bia@b.example', 'hash b')`,
      )
      await client.query(
        `insert into ops.sync_tokens (hash, user_id, company_id, created_at, last_used_at) values ('x', 7, 1, now(), now())`,
      )
      await client.query(
        `insert into ops.ledgers (company_id, revision, hash) values (1, 2, ''), (2, 8, ''), (3, -1, '')`,
      )
      await client.query(
        `insert into ledger.events (stream, revision, id, type, subject, recorded_at, envelope)
         select 'company-1', place - 1, gen_random_uuid(), 'X', subject, now(), '{}'
         from unnest(array['company/1', 'customer/9', 'sale/40', 'sale/7']) with ordinality as e(subject, place)`,
      )
      await client.query(
        `select setval('ops.sale_ids', 44), setval('ops.customer_ids', 12), setval('ops.company_ids', 3)`,
      )
      await client.query(
        `insert into ops.api_key_secrets values (2, 5, 'x'); insert into ops.api_key_uses values (5, now()), (6, now())`,
      )
    })
    await migrate(database.url, { log: () => {} })
    await administer(database.url, async (client) => {
      const persons = await client.query('select email, password_hash, generation from ops.persons order by id')
      expect(persons.rows).to.deep.equal([
        { email: 'ana@a.example', password_hash: 'hash a', generation: 0 },
        { email: 'bia@b.example', password_hash: 'hash b', generation: 0 },
      ])
      const tokens = await client.query('select generation, person_generation from ops.sync_tokens')
      expect(tokens.rows).to.deep.equal([{ generation: 0, person_generation: 0 }])
    })
  })

  it('of ids: each company goes on from its largest, or from that of all where its ledger is elsewhere [LEDGER-9]', () =>
    administer(database.url, async (client) => {
      const { rows } = await client.query('select ids from ops.ledgers order by company_id')
      const ofAll = { customer: 12, sale: 44 }
      expect(rows.map(({ ids }) => ids)).to.deep.equal([{ customer: 9, sale: 40 }, ofAll, {}])
      const uses = await client.query('select company_id, api_key_id from ops.api_key_uses')
      expect(uses.rows.map(({ company_id, api_key_id }) => [company_id, api_key_id].map(Number))).to.deep.equal([
        [2, 5],
      ])
    }))
})
