import { EventEmitter } from 'node:events'
import { expect } from 'chai'
import pg from 'pg'
import type { ByteRange } from '#lib/memory.ts'
import { createPool } from '#postgres/pool.ts'
import {
  asRowBytes,
  ByteClient,
  columnAt,
  columnOf,
  type RowBytes,
  type RowsTogether,
  release,
  rowsIn,
} from '#postgres/row-bytes.ts'
import { useDatabase } from '../support/database.ts'
import { startEncryptingProxy } from '../support/encrypting-proxy.ts'

/** Longer than one chunk of a socket. */
const LONG = 'ação 🧾 '.repeat(20_000)
const VALUES: Readonly<Record<keyof typeof columnOf, readonly string[]>> = {
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
  const textsIn = (rows: readonly RowBytes[]) => rows.map((row) => columnOf.text(columnAt(row, 0) as ByteRange))

  for (const [type, values] of Object.entries(VALUES) as [keyof typeof columnOf, string[]][]) {
    it(`return the same ${type} as a pool`, async () => {
      const text = `select null::text, ${values.map((value, position) => `${value}::${type} as c${position}`).join(', ')}`
      const [bytes, expected] = await Promise.all([
        pool.query<RowsTogether>(asRowBytes({ text, name: `bytes_of_${type}` })),
        pool.query({ text, rowMode: 'array' }),
      ])
      const [row] = rowsIn(bytes) as [RowBytes]
      expect(columnAt(row, 0)).to.equal(null)
      const read = values.map((_value, position) => columnOf[type](columnAt(row, position + 1) as ByteRange))
      expect([null, ...read]).to.deep.equal(expected.rows[0])
    })
  }

  it('refuse an integer that a number cannot represent exactly', async () => {
    const [row] = await read("select '9007199254740992'::bigint")
    expect(() => columnOf.bigint(columnAt(row as RowBytes, 0) as ByteRange)).to.throw(RangeError)
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
