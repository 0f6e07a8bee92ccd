import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { verbs as copying } from '#cli/ledger-copy.ts'
import type { Context } from '#cli/verb.ts'
import { DEFAULT_SHARD } from '#config/databases.ts'
import { companyIdOfStream, streamOf } from '#ledger/envelope.ts'
import { createEventStoreDb } from '#ledger/stores/eventstoredb.ts'
import { collect } from '../ledger/event-store-contract.ts'
import { useDatabase } from '../support/database.ts'
import { type FakeEventStoreDb, startFakeEventStoreDb } from '../support/fake-eventstoredb/server.ts'
import { SOUTH, type TwoShards } from '../support/shards.ts'
import { EVENTS, openShards, settleIn } from './shards-on-a-store.ts'

describe('ledgers of two shards', () => {
  const database = useDatabase()
  let eventStore: FakeEventStoreDb
  let dataDir: string
  let shards: TwoShards
  let ids: { readonly main: number[]; readonly south: number[] }

  before(async () => {
    eventStore = await startFakeEventStoreDb()
    dataDir = await mkdtemp(join(tmpdir(), 'tillbook-copy-'))
    shards = await openShards({ DATABASE_URL: database.url, DATA_DIR: dataDir })
    ids = await settleIn(shards, 2)
  })
  after(async () => {
    await shards.close()
    await eventStore.close()
    await rm(dataDir, { recursive: true })
  })

  const context = (): Context =>
    ({
      progress: { begin() {}, add() {}, end() {} },
      config: { SHARDS: [{ name: SOUTH, url: '' }] },
      core: async () => shards.cores.main,
      shards: async () => [DEFAULT_SHARD, SOUTH].map((name) => ({ name, core: shards.cores.at(name) })),
    }) as unknown as Context

  it('are copied to one event store, each from the shard of its company [SHARD-93]', async () => {
    const [moved] = ids.south as [number]
    const { main } = shards.cores
    // Leftovers on the default shard of a company that migrated, and has new events there.
    await main.pool.query(`insert into ops.ledgers (company_id, revision, hash, move) values ($1, 0, '', 'left')`, [
      moved,
    ])
    const [first] = await collect(shards.cores.at(SOUTH).store.pick(streamOf(moved), [0]))
    await main.pool.query(
      `insert into ledger.events (stream, revision, id, type, subject, recorded_at, envelope) values ($1, 0, $2, $3, $4, $5, $6)`,
      [first?.stream, first?.id, first?.type, first?.subject, first?.recorded_at, JSON.stringify(first)],
    )
    const report = await copying['ledger copy'].run(context(), { to: eventStore.url })
    expect(report).to.deep.equal({ streams: 2, events: 2 * EVENTS, known: 0 })
    const target = createEventStoreDb(eventStore.url)
    const copied = await collect(target.streams())
    expect(copied.map(companyIdOfStream).sort()).to.deep.equal([...ids.main, ...ids.south].sort())
    await target.close()
    expect(await copying['ledger copy'].run(context(), { to: eventStore.url })).to.include({ known: 2 * EVENTS })
  })
})
