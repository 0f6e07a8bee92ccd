import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { assertLeast, migrate, migrateAsOwner, SERVICE_ROLE } from '#postgres/migrate.ts'
import { createPool } from '#postgres/pool.ts'
import { startApi } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { administer, onDatabase } from '../support/server.ts'
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

/** SQLSTATE of a statement's error. */
const codeOf = (statement: Promise<unknown>): Promise<string> =>
  statement.then(
    () => 'done',
    (error: { code: string }) => error.code,
  )

const DENIED = '42501'
const ONLY_ADDED_TO = 'TB002'

/** Tampering requires one of these. */
const TAMPERING = [
  `update ledger.events set subject = 'x'`,
  'delete from ledger.events',
  'truncate ledger.events',
  'alter table ledger.events disable trigger append_only',
  'drop trigger append_only on ledger.events',
  'create trigger quietly before insert on ledger.events for each row execute function suppress_redundant_updates_trigger()',
  'create rule quietly as on insert to ledger.events do instead nothing',
  'alter table ledger.events set schema read',
  'drop table ledger.events',
  'drop schema ledger cascade',
  'create table ledger.more ()',
  'create function ops.refuse_change(text) returns void language sql as $$ $$',
  `create or replace function ledger.append_events(text[], bigint[], text[], bigint[], uuid[], text[], text[], timestamptz[], json[])
     returns void language sql as $$ $$`,
  'drop function ops.refuse_change cascade',
  'set session_replication_role = replica',
  'delete from ops.migrations',
  `select ops.append_only('ops.ledgers')`,
  `copy ledger.events to program 'cat'`,
]

describe('the role of the service', () => {
  const database = useDatabase()
  let pool: Pool
  before(() => {
    pool = createPool(database.url, { max: 2 })
  })
  after(() => pool.end())

  const asOwner = (text: string) => administer(database.ownerUrl, (client) => client.query(text))
  const prepare = () => migrateAsOwner({ pool, databaseUrl: database.url, ownerUrl: database.ownerUrl })
  const judged = () =>
    assertLeast(pool, { onExcess: null }).then(
      () => '',
      (error: Error) => error.message,
    )

  it('may only add to ledgers, and cannot change the tables that protect them [OPS-100]', async () => {
    expect(await codeOf(pool.query('select from ledger.events'))).to.equal('done')
    for (const statement of TAMPERING) expect(await codeOf(pool.query(statement)), statement).to.equal(DENIED)
    for (const table of ['pg_temp.t', 'read.t'])
      expect(await codeOf(pool.query(`create table ${table} ()`))).to.equal('done')
    await pool.query('drop table read.t')
    expect(await judged()).to.equal('')
  })

  it('collects statistics of tables of the service only [OPS-100]', async () => {
    expect(await codeOf(pool.query(`select ops.analyze_table('ledger.events')`))).to.equal('done')
    expect(await codeOf(pool.query(`select ops.analyze_table('pg_catalog.pg_authid')`))).to.equal('P0001')
  })

  it('cannot change append-only tables, and neither can the owner, even as a replication role [OPS-101]', async () => {
    const { rows } = await asOwner(`select relid::text as name from pg_partition_tree('ledger.events') where isleaf`)
    const partitions: string[] = rows.map(({ name }) => name)
    expect(partitions).to.have.length(8)
    const ofPartitions = partitions.flatMap((name) => [`delete from ${name}`, `truncate ${name}`])
    for (const statement of [...TAMPERING.slice(0, 3), ...ofPartitions]) {
      expect(await codeOf(asOwner(statement)), statement).to.equal(ONLY_ADDED_TO)
      expect(await codeOf(asOwner(`set session_replication_role = replica; ${statement}`)), statement).to.equal(
        ONLY_ADDED_TO,
      )
    }
  })

  it('can use objects of later migrations, and only append to the tables they mark [OPS-101] [OPS-103]', async () => {
    await asOwner(`create table ops.notes (id int generated by default as identity); create sequence ops.numbers`)
    expect(await codeOf(pool.query(`insert into ops.notes default values; select nextval('ops.numbers')`))).to.equal(
      'done',
    )
    await asOwner(`select ops.append_only('ops.notes')`)
    expect(await codeOf(pool.query('insert into ops.notes default values'))).to.equal('done')
    expect(await codeOf(pool.query('update ops.notes set id = 3'))).to.equal(DENIED)
    expect(await codeOf(asOwner('delete from ops.notes'))).to.equal(ONLY_ADDED_TO)
    expect(await judged()).to.equal('')
    const before = await asOwner('select relacl from pg_class order by oid')
    await prepare()
    expect((await asOwner('select relacl from pg_class order by oid')).rows, 'nothing was to do').to.deep.equal(
      before.rows,
    )
  })

  it('reports excess and missing privileges, and grants the right ones [OPS-102] [OPS-103]', async () => {
    await asOwner(
      `grant update (subject), trigger, delete on ledger.events to ${SERVICE_ROLE}; grant create on schema ops to ${SERVICE_ROLE};
       alter table ops.notes disable trigger append_only`,
    )
    expect(await judged())
      .to.include('may create in schema ops, may DELETE, TRIGGER, UPDATE ledger.events, ')
      .and.to.include('finds ops.notes without the trigger that refuses changes')
    // Column privileges can be revoked by their grantor only.
    await asOwner(`revoke update (subject) on ledger.events from ${SERVICE_ROLE}`)
    await prepare()
    expect(await judged()).to.equal('')
    await asOwner(`revoke insert on ledger.events from ${SERVICE_ROLE}`)
    expect(await judged()).to.match(/lacks INSERT on ledger.events: see docs.operations.install.md/)
    await prepare()
    expect(await judged()).to.equal('')
  })

  it('can be the owner with a warning, but not if another role is set as the owner [OPS-102]', async () => {
    const heard: (readonly string[])[] = []
    const api = await startApi(database.ownerUrl, { onExcess: (privileges) => heard.push(privileges) })
    await api.core.rebuild()
    await api.close()
    expect(heard).to.deep.equal([['is a superuser']])
    expect((await pool.query(OWNERS_OF_TABLES)).rows, 'after a rebuild by the owner').to.deep.equal([
      { owner: SERVICE_ROLE },
    ])
    const refused = await startApi(database.ownerUrl, { ownerUrl: database.ownerUrl }).catch((error: Error) => error)
    expect(refused)
      .to.have.property('message')
      .that.match(/the role of DATABASE_URL is a superuser, and should not/)
  })
})

const OWNERS_OF_TABLES = `select distinct tableowner as owner from pg_tables where schemaname = 'read'`

describe('an owner without superuser rights', () => {
  const database = useDatabase('withoutReadModel')
  const owner = `t_owner_${process.pid}`
  let folder: string
  let url: string
  let service: Pool
  before(async () => {
    const server = onDatabase(database.ownerUrl, 'postgres')
    await administer(server, async (client) => {
      await client.query(`create role ${owner} login password 'owner'; grant ${SERVICE_ROLE} to ${owner}`)
      await client.query(`create database ${owner} owner ${owner} template template0`)
    })
    const reached = new URL(onDatabase(server, owner))
    reached.username = owner
    reached.password = 'owner'
    url = reached.href
    service = createPool(onDatabase(database.url, owner), { max: 1 })
    folder = await mkdtemp(join(tmpdir(), 'tillbook-owner-'))
  })
  after(async () => {
    await service.end()
    await administer(onDatabase(database.ownerUrl, 'postgres'), async (client) => {
      await client.query(`drop database ${owner} with (force)`)
      await client.query(`drop role ${owner}`)
    })
    await rm(folder, { recursive: true })
  })

  const prepare = (ownerUrl?: string) =>
    migrateAsOwner({ pool: service, databaseUrl: onDatabase(database.url, owner), ownerUrl }, { log: () => {} })

  it('sets up objects that the service may not create [OPS-103]', async () => {
    const refused = await prepare().catch((error: Error) => error)
    expect(refused)
      .to.have.property('message')
      .that.match(/permission denied.*tillbook database prepare.*DATABASE_OWNER_URL/)
  })

  it('transfers tables of the read model, but not ledgers, from a single former role [OPS-103]', async () => {
    await migrate(url, { log: () => {} })
    await administer(url, (client) => client.query('create schema read; create table read.kept as select 1 as id'))
    const alone = createPool(url, { max: 1 })
    const heard: (readonly string[])[] = []
    await assertLeast(alone, { onExcess: (privileges) => heard.push(privileges) })
    await alone.end()
    expect(heard[0]?.slice(0, 3)).to.deep.equal(['owns the database', 'owns schema ledger', 'owns schema ops'])

    await prepare(url)
    await assertLeast(service, { onExcess: null })
    await service.query('alter table read.kept add column more text')
    expect(
      await codeOf(administer(url, (client) => client.query('select * from read.kept'))),
      'a process of before',
    ).to.equal('done')
    expect(await codeOf(service.query('delete from ledger.events'))).to.equal(DENIED)
    expect(await codeOf(administer(url, (client) => client.query('delete from ledger.events')))).to.equal(ONLY_ADDED_TO)
  })

  it('resolves no names in schemas that the service can create objects in [OPS-104]', async () => {
    await service.query(`create schema ${owner}; create function ${owner}.now() returns text language sql as $$ select 'trap' $$;
      create table ${owner}.target ()`)
    await writeFile(join(folder, '001_schema.sql'), 'select * from target;')
    const failure = await migrate(url, { folder, log: () => {} }).catch((error: Error) => error)
    expect(failure)
      .to.have.property('message')
      .that.match(/newer version|"target" does not exist/)
  })
})
