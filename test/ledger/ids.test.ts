import { expect } from 'chai'
import type { Pool } from 'pg'
import { createIdAllocator, type IdLease } from '#ledger/write/ids.ts'
import { createPool } from '#postgres/pool.ts'
import { useDatabase } from '../support/database.ts'

describe('ids', () => {
  const database = useDatabase()
  let pool: Pool

  before(() => {
    pool = createPool(database.url, { max: 4 })
  })
  after(() => pool.end())

  const take = (lease: IdLease, count: number): number[] => Array.from({ length: count }, () => lease.next('sale'))

  it('are never given twice, whoever asks at once in however many processes [LEDGER-9]', async () => {
    const processes = [createIdAllocator(pool), createIdAllocator(pool)]
    const counts = [1, 500, 63, 64, 65, 2, 130, 1, 7, 200]
    const leases = await Promise.all(
      counts.flatMap((count) => processes.map((each) => each.lease({ sale: count, customer: 1 }))),
    )
    const ids = leases.flatMap((lease, position) => take(lease, counts[Math.floor(position / 2)] as number))
    expect(new Set(ids).size).to.equal(ids.length)
    expect(Math.min(...ids)).to.be.above(0)
  })

  it('grow within a lease', async () => {
    const ids = createIdAllocator(pool)
    const [some, more] = await Promise.all([ids.lease({ sale: 10 }), ids.lease({ sale: 10 })])
    more.giveBack()
    some.giveBack()
    const all = take(await ids.lease({ sale: 100 }), 100)
    expect(all).to.deep.equal([...all].sort((a, b) => a - b))
  })

  it('are taken from the sequence, and so for ever, before one of them is used [LEDGER-9]', async () => {
    const id = take(await createIdAllocator(pool).lease({ sale: 1 }), 1)[0] as number
    const { rows } = await pool.query('select last_value from ops.sale_ids')
    expect(rows[0].last_value).to.be.at.least(id)
  })

  it('that were not used are given to the next lease, those that were used never again', async () => {
    const ids = createIdAllocator(pool)
    const lease = await ids.lease({ sale: 5 })
    const used = take(lease, 2)
    lease.giveBack()
    lease.giveBack()
    const next = take(await ids.lease({ sale: 64 }), 64)
    expect(next[0]).to.equal((used[1] as number) + 1)
    expect(next.filter((id) => used.includes(id))).to.deep.equal([])
    expect(new Set(next).size).to.equal(64)
  })

  it('beyond what was announced, or after they were given back, are a bug', async () => {
    const lease = await createIdAllocator(pool).lease({ sale: 1, customer: 2 })
    lease.next('sale')
    expect(() => lease.next('sale')).to.throw('more ids of kind sale')
    expect(() => lease.next('user')).to.throw('more ids of kind user')
    lease.giveBack()
    expect(() => lease.next('customer')).to.throw('more ids of kind customer')
  })
})
