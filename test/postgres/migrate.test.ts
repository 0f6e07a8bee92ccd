import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { migrate } from '#postgres/migrate.ts'
import { useDatabase } from '../support/database.ts'
import { administer } from '../support/server.ts'
import { until } from '../support/wait.ts'

describe('migrate', () => {
  const database = useDatabase()
  let folder: string
  let lines: string[]

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tillbook-migrations-'))
    lines = []
    await administer(database.ownerUrl, (client) =>
      client.query(
        'drop schema if exists ops cascade; drop schema if exists trial cascade; drop schema if exists ops_trial cascade',
      ),
    )
  })
  afterEach(() => rm(folder, { recursive: true }))

  const write = (name: string, sql: string): Promise<void> => writeFile(join(folder, name), sql)
  const run = (): Promise<void> => migrate(database.ownerUrl, { folder, log: (line) => lines.push(line) })
  const count = async (sql: string): Promise<number> =>
    administer(database.ownerUrl, async (client) => Number((await client.query(sql)).rows[0].count))

  it('applies the files in numerical order, each one once [OPS-11]', async () => {
    await write('001_schema.sql', 'create schema trial; create table trial.notes (id int primary key);')
    await write('002_rows.sql', `insert into trial.notes values (1); -- a comment with a '{brace}' ends the file`)
    await run()
    expect(lines).to.deep.equal(['migrations: 001_schema applied', 'migrations: 002_rows applied'])
    await write('003_more.sql', 'insert into trial.notes values (2);\n')
    await run()
    await run()
    expect(lines.slice(2)).to.deep.equal(['migrations: 003_more applied'])
    expect(await count('select count(*) from trial.notes')).to.equal(2)
  })

  it('applies everything once if two processes start together [OPS-11]', async () => {
    await write('001_schema.sql', 'create schema trial; create table trial.notes (id serial); select pg_sleep(0.1);')
    await write('002_rows.sql', 'insert into trial.notes default values;')
    await Promise.all([run(), run(), run()])
    expect(lines).to.have.length(2)
    expect(await count('select count(*) from trial.notes')).to.equal(1)
  })

  it('leaves no trace of a failed run, and reports the failing statement [OPS-11]', async () => {
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

  it('refuses a database of a newer version, and names the unknown migrations [OPS-11]', async () => {
    await write('001_schema.sql', 'create schema trial;')
    await write('002_future.sql', 'create table trial.future (id int);')
    await run()
    await rm(join(folder, '002_future.sql'))
    const failure = await run().catch((error) => error)
    expect(failure).to.match(/newer version.*002_future/)
  })

  it('locks nothing if there is nothing to do [OPS-36]', async () => {
    await write('001_schema.sql', 'create schema trial;')
    await run()
    await administer(database.ownerUrl, async (other) => {
      // Holds every lock that a migration needs; a migration that waits for one would hang.
      await other.query('begin; lock table ops.migrations in exclusive mode; select pg_advisory_lock(8314159266)')
      await run()
    })
    expect(lines).to.have.length(1)
  })

  it('upgrades only an empty database if upgrades are disabled [OPS-38]', async () => {
    await write('001_schema.sql', 'create schema trial;')
    const careful = () => migrate(database.ownerUrl, { folder, log: (line) => lines.push(line), upgrades: false })
    await careful()
    await careful()
    await write('002_more.sql', 'create table trial.notes (id int);')
    expect(await careful().catch((error) => error)).to.match(/older version of this program: start the service/)
    expect(lines).to.deep.equal(['migrations: 001_schema applied'])
  })

  it('a migration waits for a long reader without blocking others [OPS-36]', async () => {
    await write('001_schema.sql', 'create schema ops_trial; create table ops_trial.notes (id int); ')
    await run()
    await write(
      '002_more.sql',
      'create table ops_trial.more (id int); alter table ops_trial.notes add column text text;',
    )
    await administer(database.ownerUrl, async (dump) => {
      await dump.query(`set application_name = 'pg_dump'; begin; lock table ops_trial.notes in access share mode`)
      const { rows } = await dump.query('select pg_backend_pid() as pid')
      const migrating = run()
      let isDone = false
      const writing = administer(database.ownerUrl, async (writer) => {
        // Number of the attempts that were told when each row was written.
        const written: number[] = []
        for (; !isDone; written.push(lines.length)) await writer.query('insert into ops_trial.notes (id) values (1)')
        return written
      })
      await until(() => lines.length > 3, { what: 'several attempts' })
      expect(lines.at(-1)).to.match(
        new RegExp(`waits for process ${rows[0].pid} .pg_dump, idle in transaction, query of 20`),
      )
      isDone = true
      expect(await writing, 'written between all attempts').to.include.members([1, 2, 3])
      await dump.query('commit')
      await migrating
    })
    expect(lines.at(-1)).to.equal('migrations: 002_more applied')
  })
})

describe("the service's own migrations", () => {
  const database = useDatabase()

  it('are found without a setting, and are all applied in every test database', async () => {
    const lines: string[] = []
    await migrate(database.ownerUrl, { log: (line) => lines.push(line) })
    expect(lines).to.deep.equal([])
    const { rows } = await administer(database.ownerUrl, (client) =>
      client.query('select name from ops.migrations order by id'),
    )
    expect(rows[0].name).to.match(/^001_/)
  })
})
