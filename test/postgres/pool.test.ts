import { expect } from 'chai'
import type pg from 'pg'
import { isOutage } from '#postgres/outage.ts'
import { createPool } from '#postgres/pool.ts'
import { binaryArray, type ElementType } from '#postgres/row-bytes.ts'
import { useDatabase } from '../support/database.ts'
import { startSlowProxy } from '../support/slow-proxy.ts'
import { until } from '../support/wait.ts'

describe('pool', () => {
  const database = useDatabase()
  let pool: pg.Pool
  const lost: Error[] = []

  before(() => {
    pool = createPool(database.url, {
      max: 2,
      pipeline: true,
      lock_timeout_ms: 50,
      on_error: (error) => lost.push(error),
    })
  })
  after(() => pool.end())

  const valueFrom = async (expression: string): Promise<unknown> => {
    const { rows } = await pool.query(`select ${expression} as value`)
    return rows[0].value
  }

  it('reads int8 as a number, and refuses values that a number cannot represent exactly', async () => {
    expect(await valueFrom('9007199254740991::int8')).to.equal(9007199254740991)
    expect(await valueFrom('array[1, null, -5]::int8[]')).to.deep.equal([1, null, -5])
    await expectRejection(valueFrom('9007199254740992::int8'), /9007199254740992/)
    expect(await valueFrom('1'), 'the connection is still usable').to.equal(1)
  })

  it('reads timestamptz as an ISO string in UTC with milliseconds, for any offset of the input', async () => {
    expect(await valueFrom(`'2026-11-21T09:30:00-03:00'::timestamptz`)).to.equal('2026-11-21T12:30:00.000Z')
    expect(await valueFrom(`'2026-11-21T09:30:00.1Z'::timestamptz`)).to.equal('2026-11-21T09:30:00.100Z')
    expect(await valueFrom(`'2026-11-21T09:30:00.123999Z'::timestamptz`)).to.equal('2026-11-21T09:30:00.123Z')
    expect(await valueFrom(`array['2026-11-21T09:30:00Z'::timestamptz]`)).to.deep.equal(['2026-11-21T09:30:00.000Z'])
    await expectRejection(valueFrom(`'infinity'::timestamptz`), /infinity/)
  })

  it('leaves date, timestamp and numeric as text and parses json', async () => {
    expect(await valueFrom(`'2026-02-01'::date`)).to.equal('2026-02-01')
    expect(await valueFrom(`array['2026-02-01'::date]`)).to.deep.equal(['2026-02-01'])
    expect(await valueFrom(`'2026-02-01 10:00'::timestamp`)).to.equal('2026-02-01 10:00:00')
    expect(await valueFrom('12.30::numeric')).to.equal('12.30')
    expect(await valueFrom(`'{"a": [1, null]}'::json`)).to.deep.equal({ a: [1, null] })
    expect(await valueFrom(`'{"a": [1, null]}'::jsonb`)).to.deep.equal({ a: [1, null] })
  })

  it('accepts binary arrays unchanged', async () => {
    const cases: [ElementType, unknown[]][] = [
      ['bigint', [0, -1, 5, null, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, -4294967296]],
      ['integer', [2147483647, -2147483648, null]],
      ['boolean', [true, false, null]],
      ['text', ['', 'a"b\\c', 'ação 🧾', 'NULL', '{,}', null, ' \n']],
      ['json', ['{"a": "\\"x\\""}', null]],
      ['bytea', [Buffer.from([0, 255]), Buffer.alloc(0), null]],
      ['text', []],
    ]
    for (const [type, items] of cases) {
      const { rows } = await pool.query(`select $1::${type}[] as value`, [binaryArray(type, items)])
      const expected = type === 'json' ? items.map((item) => item && JSON.parse(item as string)) : items
      expect(rows[0].value, type).to.deep.equal(expected)
    }
  })

  it('runs in UTC with bounded waits, under its own application name', async () => {
    const { rows } = await pool.query(
      `select name, setting from pg_settings where name in
         ('TimeZone', 'application_name', 'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')`,
    )
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).to.deep.equal({
      TimeZone: 'UTC',
      application_name: 'tillbook',
      statement_timeout: '30000',
      lock_timeout: '50',
      idle_in_transaction_session_timeout: '60000',
    })
  })

  it('times out while it waits for a lock', async () => {
    const [holder, waiter] = [await pool.connect(), await pool.connect()]
    await holder.query('begin')
    await holder.query('select pg_advisory_xact_lock(1)')
    await expectRejection(waiter.query('select pg_advisory_xact_lock(1)'), /lock timeout/)
    await holder.query('rollback')
    holder.release()
    waiter.release()
  })

  it('survives the loss of an idle connection and of a checked-out one', async () => {
    const [idle, busy] = [await pool.connect(), await pool.connect()]
    const pids = await Promise.all(
      [idle, busy].map(async (c) => (await c.query('select pg_backend_pid() as pid')).rows[0].pid),
    )
    idle.release()
    const ended = new Promise((done) => busy.once('end', done))
    await pool.query('select 1')
    const killer = createPool(database.url, { max: 1 })
    await killer.query('select pg_terminate_backend(pid) from unnest($1::int[]) as pid', [pids])
    await killer.end()
    await ended
    await until(() => lost.length === 1, { what: 'the report of the idle connection' })
    busy.release(true)
    expect(await valueFrom('1')).to.equal(1)
  })

  it('reports success for COMMIT of a failed transaction, as ROLLBACK, if statements are pipelined', async () => {
    const client = await pool.connect()
    const results = await Promise.allSettled([
      client.query('begin'),
      client.query('select 1 / 0'),
      client.query('select 1'),
      client.query('commit'),
    ])
    client.release()
    expect(results.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
    expect((results[3] as PromiseFulfilledResult<pg.QueryResult>).value.command).to.equal('ROLLBACK')
  })

  it('sends the second statement before the first answer only with pipeline', async () => {
    const { hostname, port } = new URL(database.url)
    const proxy = await startSlowProxy(hostname, Number(port))
    try {
      expect(await sendsAhead(proxy, true)).to.equal(true)
      expect(await sendsAhead(proxy, false)).to.equal(false)
    } finally {
      await proxy.close()
    }
  })

  for (const pipeline of [true, false]) {
    it(`drops a connection that no longer responds, ${pipeline ? 'with' : 'without'} pipeline`, async () => {
      const { hostname, port } = new URL(database.url)
      const proxy = await startSlowProxy(hostname, Number(port))
      const url = new URL(database.url)
      url.port = String(proxy.port)
      const proxied = createPool(url.href, { max: 1, pipeline, statement_timeout_ms: 100 })
      try {
        await proxied.query('select 1')
        proxy.holdAnswersUntil('what nobody sends')
        const error = await proxied.query('select 1').catch((reason: unknown) => reason)
        expect(error).to.match(/Query read timeout/)
        expect(isOutage(error), 'nothing is wrong with the request').to.equal(true)
        expect(proxied.totalCount, 'the connection is not used again').to.equal(0)
      } finally {
        await proxied.end()
        await proxy.close()
      }
    })
  }

  /** Holds answers until the second statement arrives: a client that waits for the first answer times out. */
  async function sendsAhead(proxy: Awaited<ReturnType<typeof startSlowProxy>>, pipeline: boolean): Promise<boolean> {
    const url = new URL(database.url)
    url.port = String(proxy.port)
    const proxied = createPool(url.href, { max: 1, pipeline })
    const client = await proxied.connect()
    proxy.holdAnswersUntil('second statement')
    const both = Promise.all([client.query(`select 'first statement'`), client.query(`select 'second statement'`)])
    const patience = pipeline ? 5_000 : 300
    const outcome = await Promise.race([
      both.then(() => true),
      new Promise<boolean>((done) => setTimeout(() => done(false), patience)),
    ])
    both.catch(() => {})
    client.release(true)
    await proxied.end()
    return outcome
  }
})

async function expectRejection(promise: Promise<unknown>, message: RegExp): Promise<void> {
  const error = await promise.then(
    () => null,
    (reason) => reason,
  )
  expect(error, 'a rejection').to.be.instanceOf(Error)
  expect(error.message).to.match(message)
}
