import { expect } from 'chai'
import type { Pool } from 'pg'
import { type Append, WrongExpectedRevision } from '#ledger/port.ts'
import { createPostgresStore } from '#ledger/stores/postgres-store.ts'
import { createPool, withPool } from '#postgres/pool.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { useDatabase } from '../support/database.ts'
import { createOutsideStore } from '../support/outside-store.ts'
import { until } from '../support/wait.ts'
import { appendOf, collect, describeEventStore } from './event-store-contract.ts'
import { describeOutsideStore } from './outside-store-contract.ts'
import { ordinary, sealedAfter } from './sealed-events.ts'

describe('event stores', () => {
  const database = useDatabase()

  describeEventStore('Postgres', async () => {
    const pool = createPool(database.url, { max: 8 })
    const store = createPostgresStore(pool)
    return {
      store,
      append: (appends) => inTransaction(pool, (tx) => store.append(appends, tx)),
      close: () => pool.end(),
    }
  })

  describeEventStore('the stand-in for one outside the transaction', async () => {
    const store = createOutsideStore()
    return {
      store,
      append: (appends) => store.append(appends, { query: () => Promise.reject(new Error('has no transaction')) }),
      close: async () => {},
    }
  })

  describeOutsideStore('the stand-in', createOutsideStore)

  describe('Postgres store, inside a transaction', () => {
    let pool: Pool
    before(() => {
      pool = createPool(database.url, { max: 3 })
    })
    after(() => pool.end())

    const streams = ['company-1', 'company-2', 'company-3'] as const
    const lengths = async (): Promise<number[]> => {
      const store = createPostgresStore(pool)
      return Promise.all(streams.map(async (stream) => (await collect(store.read(stream, 0))).length))
    }

    it('hides an append before its commit, and discards it on rollback', async () => {
      const store = createPostgresStore(pool)
      const appends = streams.map((stream) => appendOf(sealedAfter(stream, null, ordinary(2))))
      const failure = new Error('something after the append')
      const outcome = await inTransaction(pool, async (tx) => {
        await store.append(appends, tx)
        expect(await lengths()).to.deep.equal([0, 0, 0])
        throw failure
      }).catch((error: unknown) => error)
      expect(outcome).to.equal(failure)
      expect(await lengths()).to.deep.equal([0, 0, 0])
    })

    it('appends to and reads one partition of eight, also with a plan made for any company [OPS-940]', async () => {
      const { rows } = await withPool(database.url, { max: 1 }, (own) =>
        inTransaction(own, async (tx, client) => {
          await client.query('set local plan_cache_mode = force_generic_plan')
          const { append, read, pick, search, hashes, stored } = createPostgresStore(client as unknown as Pool)
          const stream = 'company-70'
          await append([appendOf(sealedAfter(stream, null, ordinary(3)))], tx)
          expect(await collect(read(stream, 0))).to.have.length(3)
          expect(await collect(pick(stream, [1]))).to.have.length(1)
          await search?.(stream, { fromRevision: 0, toRevision: 9, types: null, subject: 'sale/1', limit: 5 })
          if (hashes) await collect(hashes(stream, 0))
          if (stored) await collect(stored(stream, null))
          return client.query(
            `select count(*)::int as all, (count(*) filter (where idx_scan > 0 or seq_scan > 0 or n_tup_ins > 0))::int as used
             from pg_stat_xact_user_tables where schemaname = 'ledger' and relname <> 'events'`,
          )
        }),
      )
      expect(rows).to.deep.equal([{ all: 8, used: 1 }])
    })

    it('appends to none of several streams if one of them is at another revision', async () => {
      const store = createPostgresStore(pool)
      await inTransaction(pool, (tx) => store.append([appendOf(sealedAfter(streams[1], null, ordinary(1)))], tx))
      const appends = streams.map((stream) => appendOf(sealedAfter(stream, null, ordinary(2))))
      const outcome = await inTransaction(pool, (tx) => store.append(appends, tx)).catch((error: unknown) => error)
      expect(outcome).to.be.instanceOf(WrongExpectedRevision).and.to.include({ stream: streams[1] })
      expect(await lengths()).to.deep.equal([0, 1, 0])
    })

    it('reports a wrong revision if an append loses against one that was not yet committed', async () => {
      const store = createPostgresStore(pool)
      const [first, second] = [1, 2].map(() => [appendOf(sealedAfter('company-4', null, ordinary(1)))])
      let loser: Promise<unknown> | undefined
      await inTransaction(pool, async (tx) => {
        await store.append(first as Append[], tx)
        loser = inTransaction(pool, (other) => store.append(second as Append[], other)).catch((error: unknown) => error)
        await until(async () => {
          const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event = 'transactionid'`
          return (await pool.query(waiting)).rows.length > 0
        })
      })
      expect(await loser)
        .to.be.instanceOf(WrongExpectedRevision)
        .and.to.include({ stream: 'company-4' })
    })
  })
})
