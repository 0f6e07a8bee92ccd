import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import pg from 'pg'
import { configOf } from '#config/config.ts'
import { DEFAULT_SHARD } from '#config/databases.ts'
import { knownCompanies } from '#integrity/proofs/known-companies.ts'
import type { Core } from '#service/core.ts'
import { rebuildShard, type ShardToRebuild } from '#service/rebuild-shard.ts'
import { createDirectoryHooks } from '#sharding/directory-hooks.ts'
import { createPlacementResolver } from '#sharding/placement.ts'
import { useDatabase } from '../support/database.ts'
import { type FakeEventStoreDb, startFakeEventStoreDb } from '../support/fake-eventstoredb/server.ts'
import { copyKeys } from '../support/person-keys.ts'
import { SOUTH, southOf, type TwoShards } from '../support/shards.ts'
import { addCustomer, EVENTS, ledgersOf, openShards, settingsOf, settleIn, tablesOf } from './shards-on-a-store.ts'

async function onClient(connectionString: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await work(client).finally(() => client.end())
}

const NOBODY = 'postgres://nobody@127.0.0.1:1/nothing'

describe('two shards on one event store', function () {
  this.timeout(120_000)
  const database = useDatabase()
  const [empty, keyless, alien] = [
    useDatabase('withoutReadModel'),
    useDatabase('withoutReadModel'),
    useDatabase('withoutReadModel'),
  ]
  let eventStore: FakeEventStoreDb
  let dataDir: string
  let shards: TwoShards
  let ids: { readonly main: number[]; readonly south: number[] }

  const places = () => ({ DATABASE_URL: database.url, EVENTSTORE_URL: eventStore.url, DATA_DIR: dataDir })

  before(async () => {
    eventStore = await startFakeEventStoreDb()
    dataDir = await mkdtemp(join(tmpdir(), 'tillbook-shards-'))
    shards = await openShards(places())
    ids = await settleIn(shards, 4)
    await shards.close()
    // Like a start after a crash: reads the whole store.
    await onClient(database.url, (client) => client.query('delete from ops.checkpoints'))
    shards = await openShards(places())
  })
  after(async () => {
    await eventStore.close()
    await rm(dataDir, { recursive: true })
  })

  it('contain only their own companies, also after a start that reads the whole store [SHARD-90]', async () => {
    const { cores } = shards
    expect([await ledgersOf(cores.main), await ledgersOf(cores.at(SOUTH))]).to.deep.equal([ids.main, ids.south])
    expect([await knownCompanies(cores.main, null), await knownCompanies(cores.at(SOUTH), null)]).to.deep.equal([
      ids.main,
      ids.south,
    ])
    expect([
      cores.main.installationCheck.inconsistency(),
      cores.at(SOUTH).installationCheck.inconsistency(),
    ]).to.deep.equal([null, null])
  })

  it('search other shards for a company that the directory lost; the default shard adopts companies found nowhere [SHARD-90]', async () => {
    const { directory } = shards
    const [known, forgotten, nowhere] = [ids.main[0], ids.south[0], 900] as [number, number, number]
    await directory.pool.query('delete from ops.company_shards where company_id = $1', [forgotten])
    const asked = (shard: string, url = southOf(database.url)) =>
      createPlacementResolver({ shard, directory, shards: [{ name: SOUTH, url }] })([known, forgotten, nowhere])
    expect([...(await asked(DEFAULT_SHARD)).values()]).to.deep.equal(['here', 'elsewhere', 'here'])
    expect([...(await asked(SOUTH)).values()]).to.deep.equal(['elsewhere', 'elsewhere', 'elsewhere'])
    expect([...(await asked(DEFAULT_SHARD, NOBODY)).values()], 'the other shard is away').to.deep.equal([
      'here',
      'unknown',
      'unknown',
    ])
    await directory.register(forgotten, SOUTH)
  })

  it('issue no id twice, even if the default shard is restored from a backup and the other has continued [SHARD-92]', async () => {
    const { main: core } = shards.cores
    const highest = Math.max(...ids.south)
    await core.pool.query(`select setval('ops.company_ids', 1); `)
    await core.pool.query('delete from ops.checkpoints')
    await shards.close()
    shards = await openShards(places())
    const { rows } = await shards.cores.main.pool.query(`select nextval('ops.company_ids') as id`)
    expect(rows[0].id).to.equal(highest + 1)
  })

  describe('after the loss of one shard', () => {
    const given = (databaseUrl: string, more: Partial<ShardToRebuild> = {}): ShardToRebuild => ({
      name: SOUTH,
      databaseUrl,
      ownerUrl: undefined,
      config: configOf(settingsOf(places()), SOUTH),
      eventStoreUrl: eventStore.url,
      giver: shards.cores.main.pool,
      hooks: createDirectoryHooks({ directory: shards.directory, shards: shards.cores, log: () => {} }, SOUTH, []),
      withoutKeys: false,
      tell: () => {},
      ...more,
    })
    before(async () => {
      // A cloned database has the identity of its origin.
      for (const { url } of [empty, keyless, alien])
        await onClient(url, (client) => client.query('update ops.installation set id = gen_random_uuid()'))
    })
    after(() => shards.close())

    it('rebuild it with all derived data, as the same shard of the same installation [SHARD-94]', async () => {
      await copyKeys(southOf(database.url), empty.url)
      const { core, report } = await rebuildShard(given(empty.url))
      expect(report).to.include({ companies: 2, lost_keys: 0 })
      expect(report.events).to.equal(2 * EVENTS)
      expect(await tablesOf(empty.url)).to.deep.equal(await tablesOf(southOf(database.url)))
      const rows = async (pool: Core['pool'], what: string) => (await pool.query(`select ${what}`)).rows
      const ledgers = 'company_id, revision, hash, last_recorded_at, ids from ops.ledgers order by 1'
      const old = shards.cores.at(SOUTH)
      expect(await rows(core.pool, ledgers)).to.deep.equal(await rows(old.pool, ledgers))
      const identity = 'id, name from ops.installation'
      expect(await rows(core.pool, identity)).to.deep.equal(await rows(old.pool, identity))
      const secrets = 'name, secret from ops.installation_secrets order by 1'
      expect(await rows(core.pool, secrets)).to.deep.equal(await rows(shards.cores.main.pool, secrets))
      await addCustomer(core, ids.south[0] as number, 'Caio')
      await core.close()
    })

    it('stop at a missing key of a person, and continue without it on request: its data is empty [SHARD-97]', async () => {
      const stopped = await rebuildShard(given(keyless.url)).catch((error: Error) => error)
      expect(stopped)
        .to.be.an('error')
        .with.property('message')
        .that.matches(/key [0-9a-f]{32} is not there/)
      const { core, report } = await rebuildShard(given(keyless.url, { withoutKeys: true }))
      expect(report.lost_keys).to.be.above(0)
      const { rows } = await core.pool.query(
        `select (select count(*)::int from customers) as customers, (select count(*)::int from customers where doc->>'name' is not null) as named`,
      )
      expect(rows).to.deep.equal([{ customers: 5, named: 0 }])
      await core.close()
    })

    it('do not rebuild into a database with tables or with other users [SHARD-95]', async () => {
      const refusal = (url: string, name = SOUTH) =>
        rebuildShard(given(url, { name })).catch((error: Error) => error.message)
      expect(await refusal(southOf(database.url))).to.match(/already has ledgers and tables/)
      expect(await refusal(database.url, DEFAULT_SHARD)).to.match(/already has ledgers and tables/)
      await onClient(alien.ownerUrl, (client) => client.query('create table public.invoices (id int)'))
      expect(await refusal(alien.url)).to.match(/neither empty nor a shard: it contains public\.invoices/)
    })
  })
})
