import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { migrate } from '#postgres/migrate.ts'
import { useDatabase } from '../support/database.ts'
import { administer } from '../support/server.ts'

describe('migrate', () => {
  const database = useDatabase()
  let folder: string
  let lines: string[]

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tillbook-migrations-'))
    lines = []
    await administer(database.url, (client) =>
      client.query('drop schema if exists ops cascade; drop schema if exists trial cascade'),
    )
  })
  afterEach(() => rm(folder, { recursive: true }))

  const write = (name: string, sql: string): Promise<void> => writeFile(join(folder, name), sql)
  const run = (): Promise<void> => migrate(database.url, { folder, log: (line) => lines.push(line) })
  const count = async (sql: string): Promise<number> =>
    administer(database.url, async (client) => Number((await client.query(sql)).rows[0].count))

  it('applies the files in the order of their numbers, each one once [OPS-11]', async () => {
    await write('001_schema.sql', 'create schema trial; create table trial.notes (id int primary key);')
    await write('002_rows.sql', `insert into trial.notes values (1); -- a comment with a '{brace}' ends the file`)
    await run()
    expect(lines).to.deep.equal(['migration 001_schema applied', 'migration 002_rows applied'])
    await write('003_more.sql', 'insert into trial.notes values (2);\n')
    await run()
    await run()
    expect(lines.slice(2)).to.deep.equal(['migration 003_more applied'])
    expect(await count('select count(*) from trial.notes')).to.equal(2)
  })

  it('lets two processes that start at once apply everything once [OPS-11]', async () => {
    await write('001_schema.sql', 'create schema trial; create table trial.notes (id serial); select pg_sleep(0.1);')
    await write('002_rows.sql', 'insert into trial.notes default values;')
    await Promise.all([run(), run(), run()])
    expect(lines).to.have.length(2)
    expect(await count('select count(*) from trial.notes')).to.equal(1)
  })

  it('leaves nothing behind of a run that fails, and says which statement it was [OPS-11]', async () => {
    await write('001_schema.sql', 'create schema trial;')
    await write('002_broken.sql', 'create table trial.notes (id nonsense);')
    const failure = await run().catch((error) => error)
    expect(failure).to.match(/nonsense/)
    expect(lines.join('\n')).to.contain('create table trial.notes (id nonsense)')
    expect(await count(`select count(*) from pg_namespace where nspname = 'trial'`)).to.equal(0)
    await write('002_broken.sql', 'create table trial.notes (id int);')
    await run()
    expect(await count('select count(*) from ops.migrations')).to.equal(2)
  })

  it('refuses a database of a newer version, naming what it does not know [OPS-11]', async () => {
    await write('001_schema.sql', 'create schema trial;')
    await write('002_future.sql', 'create table trial.future (id int);')
    await run()
    await rm(join(folder, '002_future.sql'))
    const failure = await run().catch((error) => error)
    expect(failure).to.match(/newer version.*002_future/)
  })
})

describe("the service's own migrations", () => {
  const database = useDatabase()

  it('are found without being told where, and are all applied in every test database', async () => {
    const lines: string[] = []
    await migrate(database.url, { log: (line) => lines.push(line) })
    expect(lines).to.deep.equal([])
    const { rows } = await administer(database.url, (client) =>
      client.query('select name from ops.migrations order by id'),
    )
    expect(rows[0].name).to.match(/^001_/)
  })
})
