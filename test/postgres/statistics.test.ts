import { expect } from 'chai'
import type { Pool } from 'pg'
import { analyzeGrown } from '#postgres/requirements.ts'
import { useDatabase } from '../support/database.ts'
import { administer } from '../support/server.ts'
import { openShop, type Shop } from '../support/shop.ts'
import { until } from '../support/wait.ts'

describe('statistics of growing tables', () => {
  const database = useDatabase()
  let shop: Shop
  let pool: Pool
  before(async () => {
    shop = await openShop(database.url)
    pool = shop.core.pool
    await administer(database.ownerUrl, (client) =>
      client.query('create table ops.growing (n int) with (autovacuum_enabled = false)'),
    )
  })
  after(() => shop.core.close())

  const analyzed = async () => (await analyzeGrown(pool)).filter((name) => name === 'ops.growing')
  const rowsKnown = async () =>
    (await pool.query("select reltuples from pg_class where oid = 'ops.growing'::regclass")).rows[0].reltuples

  /** Postgres counts the changes of a connection with a delay, unless it is forced to count them now. */
  async function grow(rows: number): Promise<void> {
    const count = "select pg_stat_get_live_tuples('ops.growing'::regclass) as live"
    const before = (await pool.query(count)).rows[0].live
    await pool.query(`insert into ops.growing select generate_series(1, ${rows}); ${COUNT_NOW}`)
    await until(async () => (await pool.query(count)).rows[0].live === before + rows, {
      what: 'the growth to be known',
    })
  }

  it('are collected after the first rows, and again after these have doubled', async () => {
    await grow(199)
    expect(await analyzed()).to.deep.equal([])
    await grow(1)
    expect(await analyzed()).to.deep.equal(['ops.growing'])
    expect(await rowsKnown()).to.equal(200)
    await grow(199)
    expect(await analyzed()).to.deep.equal([])
    await grow(1)
    expect(await analyzed()).to.deep.equal(['ops.growing'])
    expect(await rowsKnown()).to.equal(400)
  })

  it('skip a locked table without waiting', async () => {
    await grow(400)
    await administer(database.ownerUrl, async (holder) => {
      await holder.query('begin; lock table ops.growing in share update exclusive mode')
      await analyzed()
      expect(await rowsKnown()).to.equal(400)
    })
    await analyzed()
    expect(await rowsKnown()).to.equal(800)
  })

  it('let the planner choose the index of a key over another index of the company', async () => {
    const text = `explain (costs off) select id from sales where company_id = $1 and external_id = $2`
    await pool.query('alter table sales set (autovacuum_enabled = false)')
    await pool.query(`${SALES}; ${COUNT_NOW}`)
    await until(async () => (await analyzeGrown(pool)).includes('read.sales'), { what: 'sales to have grown' })
    const plan = JSON.stringify((await pool.query({ text, values: [1, 'pedido-1'] })).rows)
    expect(plan).to.include('sales_external_key')
  })
})

const COUNT_NOW = 'select pg_stat_force_next_flush()'

const SALES = `
  insert into sales (company_id, id, external_id, status, origin, sold_at, total_cents, stock_moves, receivable_ids, payment_type_ids, revision, changed_at, doc)
  select 1, n, 'pedido-' || n, 'completed', 'api', now(), 100, '[]', '[]', '[]', n, now(), '{}' from generate_series(1, 1000) n`
