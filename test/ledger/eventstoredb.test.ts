import type { OutsideStore } from '#ledger/port.ts'
import { createEventStoreDb } from '#ledger/stores/eventstoredb.ts'
import { findEventStoreDb } from '../support/eventstoredb.ts'
import { describeEventStore } from './event-store-contract.ts'
import { describeEventVersions } from './event-versions.ts'
import { describeServiceOn } from './outside-service.ts'
import { describeOutsideStore } from './outside-store-contract.ts'

/** A real server: that of EVENTSTORE_URL, or one in a Docker container. */
const server = await findEventStoreDb()

describe('EventStoreDB', function () {
  this.timeout(120_000)

  if (!server) {
    it('skipped: EVENTSTORE_URL is not set, and no Docker engine is available', function () {
      this.skip()
    })
    return
  }
  after(() => server.stop())

  const open = (): OutsideStore => createEventStoreDb(server.url)

  describeEventStore('EventStoreDB', async () => {
    const store = open()
    return {
      store,
      append: (appends) => store.append(appends, { query: () => Promise.reject(new Error('has no transaction')) }),
      close: () => store.close(),
    }
  })
  describeOutsideStore('EventStoreDB', open)
  describeServiceOn('EventStoreDB', open)
  describeEventVersions('EventStoreDB', open)
})
