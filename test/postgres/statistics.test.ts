import { EventEmitter } from 'node:events'
import { expect } from 'chai'
import pg, { type Pool, type QueryConfig } from 'pg'
import { createRoundRobin, purge } from '#lib/background-loops.ts'
import type { ByteRange } from '#lib/fair-sharing.ts'
import { claimSweeps } from '#payments/sweep.ts'
import { createPool } from '#postgres/pool.ts'
import { analyzeGrown } from '#postgres/requirements.ts'
import {
  asRowBytes,
  ByteClient,
  columnAt,
  columnReaders,
  type RowBytes,
  type RowsTogether,
  release,
  rowsIn,
} from '#postgres/row-bytes.ts'
import { RETENTION } from '#service/process-roles.ts'
import { startApi } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { startEncryptingProxy } from '../support/encrypting-proxy.ts'
import { administer } from '../support/server.ts'
import { openTwoCompanies, type TwoCompanies } from '../support/two-companies.ts'
import { until } from '../support/wait.ts'

/** Longer than one chunk of a socket. */
const LONG = 'ação 🧾 '.repeat(20_000)
const VALUES: Readonly<Record<keyof typeof columnReaders, readonly string[]>> = {
  bigint: ["'0'", "'-1'", "'9007199254740991'", "'-9007199254740991'"],
  oid: ["'0'", "'4294967295'"],
  boolean: ["'true'", "'false'"],
  text: ["''", "'ação 🧾'", `'${LONG}'`],
  timestamptz: [
    "'2026-11-21T09:30:00.123999-03:00'",
    "'1999-12-31T23:59:59.9995Z'",
    "'0001-01-01Z'",
    "'9999-12-31T23:59:59.999999Z'",
  ],
  date: ["'2026-02-28'", "'2000-01-01'", "'1900-03-01'"],
  uuid: ["'0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b'"],
}

describe('rows as bytes', () => {
  const database = useDatabase()
  let pool: pg.Pool

  before(() => {
    pool = createPool(database.url, { max: 1, pipeline: true })
  })
  after(() => pool.end())

  const read = async (text: string) => rowsIn(await pool.query<RowsTogether>(asRowBytes({ text })))
  const textsIn = (rows: readonly RowBytes[]) => rows.map((row) => columnReaders.text(columnAt(row, 0) as ByteRange))

  for (const [type, values] of Object.entries(VALUES) as [keyof typeof columnReaders, string[]][]) {
    it(`return the same ${type} as a pool`, async () => {
      const text = `select null::text, ${values.map((value, position) => `${value}::${type} as c${position}`).join(', ')}`
      const [bytes, expected] = await Promise.all([
        pool.query<RowsTogether>(asRowBytes({ text, name: `bytes_of_${type}` })),
        pool.query({ text, rowMode: 'array' }),
      ])
      const [row] = rowsIn(bytes) as [RowBytes]
      expect(columnAt(row, 0)).to.equal(null)
      const read = values.map((_value, position) => columnReaders[type](columnAt(row, position + 1) as ByteRange))
      expect([null, ...read]).to.deep.equal(expected.rows[0])
    })
  }

  it('refuse an integer that a number cannot represent exactly', async () => {
    const [row] = await read("select '9007199254740992'::bigint")
    expect(() => columnReaders.bigint(columnAt(row as RowBytes, 0) as ByteRange)).to.throw(RangeError)
  })

  it('do not change with later reads, and do not affect them', async () => {
    const text = `select repeat('ã', 1 + n % 700) from generate_series(1, 500) n`
    const [bytes, empty, others, failed] = await Promise.all([
      pool.query<RowsTogether>(asRowBytes({ text, name: 'many_rows' })),
      pool.query('select from generate_series(1, 3)'),
      pool.query<{ repeat: string }>(text),
      pool.query(asRowBytes({ text: 'select 1 / 0' })).catch((error) => error),
    ])
    expect(textsIn(rowsIn(bytes))).to.deep.equal(others.rows.map(({ repeat }) => repeat))
    expect(empty.rows).to.deep.equal([{}, {}, {}])
    expect(failed).to.have.property('code', '22012')
  })

  it('use memory that is reused once they are released, exactly once', async () => {
    const first = await read(`select repeat('a', 100_000)`)
    const memory = first[0]?.bytes.buffer
    release(first)
    expect(first).to.deep.equal([])
    const second = await read(`select repeat('b', 100_000) from generate_series(1, 2)`)
    expect(second.map(({ bytes }) => bytes.buffer)).to.include(memory)
    release(first)
    const third = await read(`select repeat('c', 100_000)`)
    expect(third[0]?.bytes.buffer).not.to.equal(memory)
    expect(textsIn(second)).to.deep.equal(['b', 'b'].map((letter) => letter.repeat(100_000)))
  })

  it('are the same over an encrypted connection', async () => {
    const proxy = await startEncryptingProxy(database.url)
    const encrypted = createPool(proxy.url, { max: 1, pipeline: true })
    try {
      const statement = asRowBytes({ text: `select repeat('ã', 70_000) from generate_series(1, 3)` })
      const [ours, plain] = await Promise.all([encrypted, pool].map((each) => each.query<RowsTogether>(statement)))
      const texts = [ours, plain].map((answer) => answer && textsIn(rowsIn(answer)))
      expect(texts[0]).to.have.length(3)
      expect(texts[0]).to.deep.equal(texts[1])
      expect(proxy.encrypted()).to.equal(1)
    } finally {
      await encrypted.end()
      await proxy.close()
    }
  })

  it('are the same for any chunking of the server’s answer', async () => {
    const answer = await recorded(async (client) => {
      await client.query(asRowBytes({ text: `select n, repeat('ã', n) from generate_series(0, 9) n`, name: 'pieces' }))
      await client.query('select 1 as one where false; select 2 as two')
    })
    const whole = messagesOf([answer])
    expect(whole.filter(({ name }) => name === 'dataRow')).to.have.length(2)
    expect(whole.flatMap(({ rows }) => rows ?? [])).to.have.length(10)
    for (const size of [1, 2, 3, 5, 7, 64, answer.length - 1]) {
      const pieces: Buffer[] = []
      for (let at = 0; at < answer.length; at += size) pieces.push(answer.subarray(at, at + size))
      expect(messagesOf(pieces), `pieces of ${size} bytes`).to.deep.equal(whole)
    }
  })

  /** Bytes sent by the server to a client of the driver, which cannot parse all of them. */
  async function recorded(work: (client: pg.Client) => Promise<void>): Promise<Buffer> {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    const chunks: Buffer[] = []
    client.connection.stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    try {
      await work(client)
    } finally {
      await client.end()
    }
    return Buffer.concat(chunks)
  }

  /** Messages; rows as bytes wherever they are stored. */
  function messagesOf(pieces: readonly Buffer[]): { name: string; rows?: string[] }[] {
    const { connection } = new ByteClient() as unknown as {
      connection: EventEmitter & { attachListeners(stream: EventEmitter): void }
    }
    const messages: { name: string; rows?: string[] }[] = []
    connection.emit = (_event, message) => {
      const [rows] = message.fields ?? []
      const isBytes = message.name === 'dataRow' && Array.isArray(rows)
      messages.push(isBytes ? { name: 'dataRow', rows: rows.map(hexOf) } : message)
      return true
    }
    const stream = new EventEmitter()
    connection.attachListeners(stream)
    for (const piece of pieces) stream.emit('data', piece)
    return messages
  }

  const hexOf = ({ bytes, start, end }: RowBytes): string => bytes.toString('hex', start, end)
})

const share = { limit: 8, companies: createRoundRobin(), isTest: false, failing: [] }

/** Recurring jobs over whole tables, with the column that finds their rows. */
const RECURRING: Record<string, readonly [column: string, run: (pool: Pool) => Promise<unknown>]> = {
  ...Object.fromEntries(
    RETENTION.map((rule) => [
      `purge of ${rule.table} after ${rule.keep}`,
      [
        rule.olderThan.replace(/^(least|greatest)\(.*/, (_, name: string) => name.toUpperCase()),
        (pool: Pool) => purge(pool, [rule], { onError: (error) => expect.fail(String(error)) }),
      ],
    ]),
  ),
  'claim of sweeps': ['attempted_at', (pool) => claimSweeps(pool, [60, 300], share)],
}

describe('recurring queries', () => {
  const database = useDatabase()
  let pool: Pool

  before(async () => {
    // Creates the tables of the read model.
    await (await startApi(database.url)).close()
    pool = createPool(database.url, { max: 1 })
    // Empty tables would be scanned sequentially.
    await pool.query('set enable_seqscan = off')
  })
  after(() => pool.end())

  /** Plans of all executed statements. */
  async function plansOf(run: (pool: Pool) => Promise<unknown>): Promise<string[]> {
    const plans: string[] = []
    const explaining = {
      async query(query: string | QueryConfig, given?: unknown[]) {
        const { text, values = given } = typeof query === 'string' ? { text: query } : query
        const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values)
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
        return { rows: [], rowCount: 0 }
      },
    }
    await run(explaining as unknown as Pool)
    return plans
  }

  it('delete rows by their place only in tables whose places are unique, which those of partitions are not', async () => {
    const tables = RETENTION.map(({ table }) => table)
    const { rows } = await pool.query(
      `select oid::regclass::text from pg_class where relkind = 'p' and oid = any($1::regclass[])`,
      [tables],
    )
    expect(rows).to.deep.equal([])
  })

  for (const [name, [column, run]] of Object.entries(RECURRING)) {
    it(`do not scan whole tables: ${name}`, async () => {
      const plans = await plansOf(run)
      expect(plans).not.to.deep.equal([])
      for (const plan of plans) expect(plan).to.match(new RegExp(`Index Cond: \\(.*${column}.* [<>] .*now\\(\\)`))
    })
  }
})

describe('statistics of growing tables', () => {
  const database = useDatabase()
  let shop: TwoCompanies
  let pool: Pool
  before(async () => {
    shop = await openTwoCompanies(database.url)
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
