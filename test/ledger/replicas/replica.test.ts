import { expect } from 'chai'
import type { Pool } from 'pg'
import { createReplica } from '#ledger/replicas/replicas.ts'
import { createKeyedSemaphore } from '#lib/fair-sharing.ts'

const TABLES = 16_400
const COMPANY = 7

/** Replica with these rows, poll by poll; an error is a poll without a response. */
function standbyWith(...looks: ({ revision: number; tables?: number } | null | Error)[]) {
  const asked: number[][] = []
  const watch = {
    query: async ({ values: [ids] }: { values: [number[]] }) => {
      asked.push(ids)
      const look = looks[Math.min(asked.length, looks.length) - 1] ?? null
      if (look instanceof Error) throw look
      return { rows: look ? [{ company_id: COMPANY, tables: TABLES, ...look }] : [] }
    },
  }
  const never = { query: () => new Promise(() => {}), end: async () => {} }
  const replica = createReplica({
    name: '1',
    openPool: () => never as unknown as Pool,
    watch: watch as unknown as Pool,
    turns: createKeyedSemaphore({ running: 4, waiting: 4 }),
  })
  replica.become('up', 0)
  return { replica, asked }
}

describe('a read replica shows a ledger', () => {
  const shows = (...looks: Parameters<typeof standbyWith>) =>
    standbyWith(...looks).replica.shows(COMPANY, { revision: 5, tables: TABLES }, 0)

  it('once it has replayed the required revision, in the required tables [READ-921]', async () => {
    expect(await shows({ revision: 5 })).to.equal(true)
    expect(await shows({ revision: 4 })).to.equal(false)
    expect(await shows({ revision: 9, tables: TABLES + 1 }), 'a rebuild is not there yet').to.equal(false)
    expect(await shows(null), 'a company of a moment ago').to.equal(false)
    expect(await shows(new Error('canceling statement'))).to.equal(false)
    const { replica } = standbyWith({ revision: 5 })
    expect(await replica.shows(COMPANY, { revision: 0 }, 0), 'any tables').to.equal(true)
  })

  it('after a wait within the wait budget, if it lags no further than that [READ-921]', async () => {
    const { replica, asked } = standbyWith({ revision: 3 }, { revision: 4 }, { revision: 5 })
    expect(await replica.shows(COMPANY, { revision: 5 }, 1_000)).to.equal(true)
    expect(asked).to.have.length(3)
    const late = standbyWith({ revision: 3 })
    late.replica.become('up', 2_000)
    expect(await late.replica.shows(COMPANY, { revision: 5 }, 1_000)).to.equal(false)
    expect(late.asked).to.have.length(1)
  })

  it('to all waiting readers with one query [READ-921]', async () => {
    const { replica, asked } = standbyWith({ revision: 4 })
    const wanted = [3, 4, 5].map((revision) => replica.shows(COMPANY, { revision }, 0))
    expect(await Promise.all([...wanted, replica.shows(8, { revision: 0 }, 0)])).to.deep.equal([
      true,
      true,
      false,
      false,
    ])
    expect(asked).to.deep.equal([[COMPANY, 8]])
  })

  it('no longer once it is unreachable: no reader waits for its time-out [READ-925]', async () => {
    const { replica } = standbyWith({ revision: 5 })
    const reading = replica.query(COMPANY, 'select 1').then(
      () => 'answered',
      (error: Error) => error.message,
    )
    replica.become('down', null)
    expect(await reading).to.equal('the replica is away')
  })
})
