import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import pg from 'pg'
import { registerCompany } from '#commands/company-commands.ts'
import { createCustomer } from '#commands/person-commands.ts'
import { readConfig } from '#config/config.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { type Core, coreSettings, openCore } from '#service/core.ts'
import { killedOnce, tillbook } from '../cli/tillbook.ts'
import { useDatabase } from '../support/database.ts'
import { companyRegistered } from '../support/facts.ts'
import { type FakeEventStoreDb, startFakeEventStoreDb } from '../support/fake-eventstoredb/server.ts'
import { MASTER_KEY, masterKeys } from '../support/master-key.ts'
import { copyKeys } from '../support/person-keys.ts'
import { contentsOf } from './contents.ts'

/** Number of companies, and of the events of each. */
const [COMPANIES, EVENTS] = [3, 3]

describe('tillbook database rebuild', function () {
  this.timeout(120_000)
  const database = useDatabase()
  const [empty, keyless, alien] = [
    useDatabase('withoutReadModel'),
    useDatabase('withoutReadModel'),
    useDatabase('withoutReadModel'),
  ]
  let eventStore: FakeEventStoreDb
  let dataDir: string
  const ids: number[] = []

  const settings = (url: string) => ({
    DATABASE_URL: url,
    EVENTSTORE_URL: eventStore.url,
    DATA_DIR: dataDir,
    MASTER_KEY,
  })
  const rebuild = (url: string, ...words: string[]) => tillbook(settings(url), 'database', 'rebuild', ...words)
  async function rowsOf(connectionString: string, text: string): Promise<unknown[]> {
    const client = new pg.Client({ connectionString })
    await client.connect()
    try {
      return (await client.query({ text, rowMode: 'array' })).rows
    } finally {
      await client.end()
    }
  }
  const tablesOf = async (url: string) =>
    Object.entries(await contentsOf(url)).filter(([name]) => name.startsWith('read.'))

  const open = (url: string): Promise<Core> =>
    openCore({
      ...coreSettings(readConfig(settings(url))),
      databaseUrl: url,
      masterKeys,
      queryConnections: 2,
      log: () => {},
      onOutdated: () => {},
    })
  const addCustomer = (core: Core, companyId: number, name: string) =>
    runAsSystem(core.writer, companyId, createCustomer, { name, email: null } as never)

  before(async () => {
    eventStore = await startFakeEventStoreDb()
    dataDir = await mkdtemp(join(tmpdir(), 'tillbook-rebuild-'))
    const core = await open(database.url)
    for (let n = 0; n < COMPANIES; n++) {
      const { rows } = await core.pool.query<{ id: number }>(`select nextval('ops.company_ids') as id`)
      const { id } = rows[0] as { id: number }
      ids.push(id)
      await core.found(id)
      await runAsSystem(core.writer, id, registerCompany, companyRegistered({ id, name: `Loja ${id}` }).data as never)
      for (const name of ['Ana', 'Bento']) await addCustomer(core, id, name)
    }
    await core.installationCheck.note()
    await core.close()
    // A cloned database has the identity of its origin.
    for (const { url } of [empty, keyless, alien])
      await rowsOf(url, 'update ops.installation set id = gen_random_uuid()')
    await copyKeys(database.url, empty.url)
  })
  after(async () => {
    await eventStore.close()
    await rm(dataDir, { recursive: true })
  })

  it('lists the permanent losses, and starts only after confirmation [OPS-921]', async () => {
    const { code, stderr } = await rebuild(empty.url)
    expect(code).to.equal(1)
    expect(stderr)
      .to.match(/API keys/)
      .and.match(/keys of persons/)
      .and.match(/--yes/)
    expect(await rowsOf(empty.url, 'select version from ops.read_model')).to.deep.equal([])
  })

  it('continues with the missing companies after a kill -9, as the same installation [OPS-920]', async () => {
    const holder = new pg.Client({ connectionString: empty.url })
    await holder.connect()
    // Blocks the rebuild of this company.
    await holder.query('begin')
    await holder.query(`insert into ops.ledgers (company_id, hash) values ($1, '')`, [Math.max(...ids)])
    const isHalfway = async () => {
      const there = await rowsOf(empty.url, `select where to_regclass('read_next.filled_companies') is not null`)
      if (there.length === 0) return false
      return (await rowsOf(empty.url, 'select company_id from read_next.filled_companies')).length === COMPANIES - 1
    }
    await killedOnce(settings(empty.url), isHalfway, 'database', 'rebuild', '--yes')
    await holder.query('rollback')
    await holder.end()
    const { code, stdout, stderr } = await rebuild(empty.url, '--yes', '--json')
    expect(code, stderr).to.equal(0)
    const report = JSON.parse(stdout)
    expect(report).to.include({ companies: COMPANIES, events: EVENTS, lost_keys: 0 })
    expect(report.events_per_second).to.be.above(0)
    expect(await tablesOf(empty.url)).to.deep.equal(await tablesOf(database.url))
    for (const text of [
      'select id from ops.installation',
      'select company_id, revision, hash, last_recorded_at, ids::text from ops.ledgers order by 1',
    ])
      expect(await rowsOf(empty.url, text)).to.deep.equal(await rowsOf(database.url, text))
  })

  it('leaves a database that takes writes, and gives no company id twice [LEDGER-920]', async () => {
    const core = await open(empty.url)
    try {
      const { rows } = await core.pool.query(`select nextval('ops.company_ids') as id`)
      expect(rows[0].id).to.equal(Math.max(...ids) + 1)
      expect(await addCustomer(core, ids[0] as number, 'Caio')).to.include({ name: 'Caio' })
    } finally {
      await core.close()
    }
  })

  it('stops at a missing key of a person, and continues without it on request: its data is empty [OPS-922]', async () => {
    const stopped = await rebuild(keyless.url, '--yes')
    expect([stopped.code, stopped.stderr]).to.satisfy(
      ([code, text]: [number, string]) => code === 1 && /key [0-9a-f]{32} is not there/.test(text),
      stopped.stderr,
    )
    const { code, stdout, stderr } = await rebuild(keyless.url, '--yes', '--without-keys', '--json')
    expect(code, stderr).to.equal(0)
    expect(JSON.parse(stdout).lost_keys).to.be.above(0)
    const named = `select count(*)::int, count(*) filter (where doc->>'name' is not null)::int from read.customers`
    expect(await rowsOf(keyless.url, named)).to.deep.equal([[2 * COMPANIES + 1, 0]])
  })

  it('refuses a database with tables or of others, and leaves it as it is [OPS-921]', async () => {
    expect((await rebuild(database.url, '--yes')).stderr).to.match(/already has ledgers and tables/)
    await rowsOf(alien.ownerUrl, 'create table public.invoices (id int)')
    expect((await rebuild(alien.url, '--yes')).stderr).to.match(/neither empty nor of Tillbook.*public\.invoices/)
  })
})
