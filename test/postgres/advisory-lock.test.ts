import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import type { Pool, PoolClient } from 'pg'
import { createPool } from '#postgres/pool.ts'
import { tryAdvisoryLock, withAdvisoryLock } from '#postgres/transaction.ts'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'

const KEY = 'tillbook test'
const ROOT = new URL('../../', import.meta.url)

describe('an advisory lock', () => {
  const database = useDatabase()
  let pool: Pool

  before(() => {
    pool = createPool(database.url, { max: 4, lock_timeout_ms: 5_000 })
  })
  after(() => pool.end())

  const busy = { key: KEY, ifTaken: () => 'taken' }
  const isFree = () => withAdvisoryLock(pool, { key: KEY, ifTaken: () => false }, async () => true)
  const waiting = async () => {
    const { rowCount } = await pool.query(`select from pg_locks where locktype = 'advisory' and not granted`)
    return rowCount === 1
  }

  it('excludes other sessions during its work, and admits them afterwards', async () => {
    const inner = await withAdvisoryLock(pool, { key: KEY }, () => withAdvisoryLock(pool, busy, async () => 'had'))
    expect(inner).to.equal('taken')
    expect(await withAdvisoryLock(pool, busy, async () => 'had')).to.equal('had')
  })

  it('fails with its name if another session holds it, unless a handler is given', async () => {
    const failure = await withAdvisoryLock(pool, { key: KEY }, () =>
      withAdvisoryLock(pool, { key: KEY }, isFree),
    ).catch((error) => error)
    expect(failure.message).to.equal('another session has the lock "tillbook test"')
  })

  it('waits up to the given time', async () => {
    const order: string[] = []
    let second: Promise<number> | undefined
    await withAdvisoryLock(pool, { key: KEY }, async () => {
      expect(await withAdvisoryLock(pool, { ...busy, wait_ms: 20 }, async () => 'had')).to.equal('taken')
      second = withAdvisoryLock(pool, { key: KEY, wait_ms: 30_000 }, async () => order.push('second'))
      await until(waiting, { what: 'the second session' })
      order.push('first')
    })
    await second
    expect(order).to.deep.equal(['first', 'second'])
  })

  it('restores the time-outs of its session, and leaves no transaction open', async () => {
    const settings = (client: PoolClient) =>
      client.query(
        `select current_setting('lock_timeout') as lock, current_setting('statement_timeout') as statement,
           now() = statement_timestamp() as alone`,
      )
    const { rows } = await withAdvisoryLock(pool, { key: KEY, wait_ms: 100 }, settings)
    expect(rows).to.deep.equal([{ lock: '5s', statement: '30s', alone: true }])
  })

  it('is released if its work fails, also in a transaction', async () => {
    const failure = await withAdvisoryLock(pool, { key: KEY }, async (client) => {
      await client.query('begin')
      await client.query('select 1 / 0')
    }).catch((error) => error)
    expect(failure).to.match(/division by zero/)
    expect(await isFree()).to.equal(true)
  })

  it('can be shared', async () => {
    const [one, two] = [await pool.connect(), await pool.connect()]
    expect(await tryAdvisoryLock(one, KEY, 'shared')).to.equal(true)
    expect(await tryAdvisoryLock(two, KEY, 'shared')).to.equal(true)
    expect(await isFree()).to.equal(false)
    one.release(true)
    two.release(true)
    await until(isFree, { what: 'the end of both sessions' })
  })

  it('has a key that is unique in the program', () => {
    const sources = ['src', 'demo'].flatMap((folder) =>
      readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.tsx?$/.test(name))
        .map((name) => readFileSync(new URL(`${folder}/${name}`, ROOT), 'utf8')),
    )
    const keys = sources.flatMap((text) =>
      [...text.matchAll(/\b(?:\w+_)?LOCK = ('[^']+'|[\d_]+)$/gm)].map(([, key]) => key),
    )
    expect(keys).to.have.length.above(8)
    expect(keys).to.deep.equal([...new Set(keys)])
  })
})
