import type { OutsideStore } from '#ledger/port.ts'
import { createEventStoreDb } from '#ledger/stores/eventstoredb.ts'
import { type FakeEventStoreDb, startFakeEventStoreDb } from '../support/fake-eventstoredb/server.ts'
import { describeEventStore } from './event-store-contract.ts'
import { describeEventVersions } from './event-versions.ts'
import { describeServiceOn } from './outside-service.ts'
import { describeOutsideStore } from './outside-store-contract.ts'
import { allowNoStrayRejections } from './stray-rejections.ts'

/** The adapter with a fake server of the protocol; eventstoredb.test.ts tests a real one. */
describe('EventStoreDB adapter', () => {
  allowNoStrayRejections()
  let server: FakeEventStoreDb
  before(async () => {
    server = await startFakeEventStoreDb()
  })
  after(() => server.close())

  const open = (): OutsideStore => createEventStoreDb(server.url)

  describeEventStore('EventStoreDB adapter', async () => {
    const store = open()
    return {
      store,
      append: (appends) => store.append(appends, { query: () => Promise.reject(new Error('has no transaction')) }),
      close: () => store.close(),
    }
  })
  describeOutsideStore('EventStoreDB adapter', open)
  describeServiceOn('EventStoreDB adapter', open)
  describeEventVersions('EventStoreDB adapter', open)
})
