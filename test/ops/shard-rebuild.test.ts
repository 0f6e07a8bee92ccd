import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import pg from 'pg'
import { killedOnce, tillbook } from '../cli/tillbook.ts'
import { EVENTS, openShards, settleIn, tablesOf } from '../sharding/shards-on-a-store.ts'
import { useDatabase } from '../support/database.ts'
import { type FakeEventStoreDb, startFakeEventStoreDb } from '../support/fake-eventstoredb/server.ts'
import { MASTER_KEY } from '../support/master-key.ts'
import { copyKeys } from '../support/person-keys.ts'
import { SOUTH, southOf } from '../support/shards.ts'

describe('tillbook shard rebuild', function () {
  this.timeout(120_000)
  const database = useDatabase()
  const [newSouth, newMain] = [useDatabase('withoutReadModel'), useDatabase('withoutReadModel')]
  let eventStore: FakeEventStoreDb
  let dataDir: string
  let ids: { readonly main: number[]; readonly south: number[] }

  const places = () => ({ DATABASE_URL: database.url, EVENTSTORE_URL: eventStore.url, DATA_DIR: dataDir })
  const rebuilding = (main: string, south: string, ...words: string[]) =>
    [
      { ...places(), DATABASE_URL: main, SHARDS: `${SOUTH}=${south}`, MASTER_KEY },
      'shard',
      'rebuild',
      ...words,
    ] as const
  async function rowsOf(connectionString: string, text: string): Promise<unknown[]> {
    const client = new pg.Client({ connectionString })
    await client.connect()
    try {
      return (await client.query({ text, rowMode: 'array' })).rows
    } finally {
      await client.end()
    }
  }

  before(async () => {
    eventStore = await startFakeEventStoreDb()
    dataDir = await mkdtemp(join(tmpdir(), 'tillbook-rebuild-'))
    const shards = await openShards(places())
    ids = await settleIn(shards, 6)
    await shards.close()
    // A cloned database has the identity of its origin.
    for (const { url } of [newSouth, newMain]) await rowsOf(url, 'update ops.installation set id = gen_random_uuid()')
    await copyKeys(southOf(database.url), newSouth.url)
  })
  after(async () => {
    await eventStore.close()
    await rm(dataDir, { recursive: true })
  })

  it('lists the permanent losses, and starts only after confirmation [SHARD-95]', async () => {
    const { code, stderr } = await tillbook(...rebuilding(database.url, newSouth.url, SOUTH))
    expect(code).to.equal(1)
    expect(stderr)
      .to.match(/API keys/)
      .and.match(/keys of persons/)
      .and.match(/--yes/)
    expect(await rowsOf(newSouth.url, 'select version from ops.read_model')).to.deep.equal([])
  })

  it('continues with the missing companies after a kill -9, and reports its speed [SHARD-94]', async () => {
    const last = Math.max(...ids.south)
    const holder = new pg.Client({ connectionString: newSouth.url })
    await holder.connect()
    // Blocks the rebuild of this company.
    await holder.query('begin')
    await holder.query(`insert into ops.ledgers (company_id, hash) values ($1, '')`, [last])
    const isHalfway = async () => {
      const there = await rowsOf(newSouth.url, `select where to_regclass('read_next.filled_companies') is not null`)
      if (there.length === 0) return false
      return (await rowsOf(newSouth.url, 'select company_id from read_next.filled_companies')).length === 2
    }
    await killedOnce(...killing(isHalfway, rebuilding(database.url, newSouth.url, SOUTH, '--yes')))
    await holder.query('rollback')
    await holder.end()
    const { code, stdout, stderr } = await tillbook(...rebuilding(database.url, newSouth.url, SOUTH, '--yes', '--json'))
    expect(code, stderr).to.equal(0)
    const report = JSON.parse(stdout)
    expect(report).to.include({ shard: SOUTH, companies: 3, events: EVENTS, lost_keys: 0 })
    expect(report.events_per_second).to.be.above(0)
    expect(await tablesOf(newSouth.url)).to.deep.equal(await tablesOf(southOf(database.url)))
  })

  it('rebuilds the default shard, with a directory of the data of all shards [SHARD-96]', async () => {
    const words = rebuilding(newMain.url, newSouth.url, 'main', '--yes', '--without-keys', '--json')
    const { code, stdout, stderr } = await tillbook(...words)
    expect(code, stderr).to.equal(0)
    expect(JSON.parse(stdout)).to.include({ shard: 'main', companies: 3, events: 3 * EVENTS })
    const shards = 'select company_id::int, shard from ops.company_shards order by 1'
    const expected = [...ids.main.map((id) => [id, 'main']), ...ids.south.map((id) => [id, SOUTH])]
    expect(await rowsOf(newMain.url, shards)).to.deep.equal(expected.sort(([a], [b]) => Number(a) - Number(b)))
    const identity = 'select id, name from ops.installation'
    expect(await rowsOf(newMain.url, identity)).to.deep.equal(await rowsOf(database.url, identity))
    const emails = `select company_id::int from ops.directory_entries where kind = 'email' order by 1`
    expect(await rowsOf(newMain.url, emails), 'those of main are sealed with lost keys').to.deep.equal(
      ids.south.map((id) => [id]),
    )
    const next = await rowsOf(newMain.url, `select nextval('ops.company_ids')::int`)
    expect(next).to.deep.equal([[Math.max(...ids.main, ...ids.south) + 1]])
  })
})

const killing = <E, W extends readonly string[]>(
  isSo: () => Promise<boolean>,
  [env, ...words]: readonly [E, ...W],
): readonly [E, () => Promise<boolean>, ...W] => [env, isSo, ...words]
