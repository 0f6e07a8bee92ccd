import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { verbs as copying } from '#cli/ledger-copy.ts'
import type { Context } from '#cli/verb.ts'
import { DEFAULT_SHARD } from '#config/databases.ts'
import { companyIdOfStream } from '#ledger/envelope.ts'
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
    const report = await copying['ledger copy'].run(context(), { to: eventStore.url })
    expect(report).to.deep.equal({ streams: 2, events: 2 * EVENTS, known: 0 })
    const target = createEventStoreDb(eventStore.url)
    const copied = await collect(target.streams())
    expect(copied.map(companyIdOfStream).sort()).to.deep.equal([...ids.main, ...ids.south].sort())
    await target.close()
    expect(await copying['ledger copy'].run(context(), { to: eventStore.url })).to.include({ known: 2 * EVENTS })
  })
})
