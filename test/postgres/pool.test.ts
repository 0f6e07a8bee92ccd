import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import type pg from 'pg'
import type { Pool, PoolClient } from 'pg'
import { isOutage } from '#postgres/database.ts'
import { createPool } from '#postgres/pool.ts'
import { binaryArray, type ElementType } from '#postgres/row-bytes.ts'
import {
  assertCommitted,
  inTransaction,
  runPipelined,
  transactionOn,
  tryAdvisoryLock,
  withAdvisoryLock,
} from '#postgres/transaction.ts'
import { allowNoStrayRejections } from '../ledger/stray-rejections.ts'
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

const errorOf = (promise: Promise<unknown>): Promise<{ message: string; code?: string }> =>
  promise.then(
    () => expect.fail('it succeeded'),
    (error) => error,
  )

describe('transaction', () => {
  const database = useDatabase()
  let pool: Pool
  allowNoStrayRejections()

  before(async () => {
    pool = createPool(database.ownerUrl, { max: 2, pipeline: true })
    await pool.query('create table ops.notes (id integer primary key)')
  })
  beforeEach(() => pool.query('truncate ops.notes'))
  after(() => pool.end())

  const note = (client: PoolClient, id: number) =>
    transactionOn(client).query({ name: 'note', text: 'insert into ops.notes values ($1)' }, [id])
  const notes = async (): Promise<number[]> =>
    (await pool.query('select id from ops.notes order by id')).rows.map(({ id }) => id)
  const withClient = async (work: (client: PoolClient) => Promise<void>): Promise<void> => {
    const client = await pool.connect()
    await work(client).finally(() => client.release())
  }

  describe('pipelined', () => {
    it('writes all statements to the socket at once, and returns their results in order', async () => {
      await withClient(async (client) => {
        const { stream } = (client as unknown as { connection: { stream: { writev?: unknown; _writev: unknown } } })
          .connection
        const original = stream._writev as (...args: unknown[]) => unknown
        let writes = 0
        stream._writev = function (this: unknown, ...args: unknown[]) {
          writes += 1
          return original.apply(this, args)
        }
        const select = (value: number) => client.query<{ value: number }>('select $1::int as value', [value])
        const results = await runPipelined(client, () => [1, 2, 3, 4, 5].map(select))
        stream._writev = original
        expect(results.map(({ rows }) => rows[0]?.value)).to.deep.equal([1, 2, 3, 4, 5])
        expect(writes).to.equal(1)
      })
    })

    it('throws the first failure after every statement has its answer', async () => {
      await withClient(async (client) => {
        let last = 'waiting'
        const error = await errorOf(
          runPipelined(client, () => [
            client.query('select 1'),
            client.query('select 1/0'),
            client.query('select nowhere'),
            client.query('select 2').then(() => (last = 'answered')),
          ]),
        )
        expect(error.code).to.equal('22012')
        expect(last).to.equal('answered')
      })
    })

    it('leaves the connection usable if statements could not be built', async () => {
      await withClient(async (client) => {
        const failure = new Error('a bug while making statements')
        const thrown = await errorOf(
          runPipelined(client, () => {
            throw failure
          }),
        )
        expect(thrown).to.equal(failure)
        expect((await client.query('select 7 as seven')).rows[0].seven).to.equal(7)
      })
    })
  })

  it('does not report a failed transaction as committed, even if COMMIT is answered', async () => {
    await withClient(async (client) => {
      const sent = [client.query('begin'), note(client, 1), note(client, 1), client.query('commit')] as const
      const outcomes = await Promise.allSettled(sent)
      expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
      const commit = await sent[3]
      expect(() => assertCommitted(commit)).to.throw('not committed: ROLLBACK')
    })
    expect(await notes()).to.deep.equal([])
  })

  it('commits the work and returns its value', async () => {
    const value = await inTransaction(pool, async (_, client) => {
      await note(client, 1)
      expect(await notes()).to.deep.equal([])
      return 'value'
    })
    expect([value, await notes()]).to.deep.equal(['value', [1]])
  })

  it('rolls back and releases the connection after any failure', async () => {
    const failures: ((client: PoolClient) => Promise<unknown>)[] = [
      () => Promise.reject(new Error('a bug')),
      (client) => client.query('select 1/0'),
      (client) => client.query('select 1/0').catch(() => 'swallowed'),
      (client) => client.query('select pg_terminate_backend(pg_backend_pid())'),
    ]
    // More often than there are connections: none may stay in a transaction or checked out.
    for (const fail of [...failures, ...failures]) {
      await errorOf(
        inTransaction(pool, async (_, client) => {
          await note(client, 1)
          await fail(client)
        }),
      )
      expect(await notes()).to.deep.equal([])
    }
    expect(pool.totalCount - pool.idleCount).to.equal(0)
  })
})

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
