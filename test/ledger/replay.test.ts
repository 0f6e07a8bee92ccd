import { expect } from 'chai'
import type { Pool } from 'pg'
import { type Envelope, GENESIS_HASH } from '#ledger/command.ts'
import type { ReadModel } from '#ledger/projection.ts'
import { replay } from '#ledger/rebuild/replay.ts'
import { createPool } from '#postgres/pool.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { useDatabase } from '../support/database.ts'
import { counterDdl, counterModel, counters } from './counters.ts'
import { allowNoStrayRejections } from './stray-rejections.ts'

const COMPANY_ID = 1
/** Several times the number of rows kept before a write. */
const EVENTS = 10_300
/** Each changes a few times, both nearby and thousands of events apart. */
const COUNTERS = 3_001

const counterOf = (revision: number): number => (revision % 10 === 0 ? 0 : revision % COUNTERS)

const eventAt = (revision: number, more: object = {}): Envelope => ({
  id: `00000000-0000-7000-8000-${String(revision).padStart(12, '0')}`,
  type: 'CounterAdded',
  version: 1,
  stream: `company-${COMPANY_ID}`,
  revision,
  recorded_at: '2026-03-10T15:00:00.000Z',
  subject: `counter/${counterOf(revision)}`,
  origin: 'system',
  actor: null,
  request_id: null,
  idempotency: null,
  previous_hash: GENESIS_HASH,
  hash: GENESIS_HASH,
  data: { id: counterOf(revision), by: revision, ...more },
})

/** Ledger that records the read position, and whether it was closed. */
function ledger(count: number, more: object = {}) {
  const seen = { read: 0, closed: false }
  async function* events(): AsyncGenerator<Envelope> {
    try {
      for (; seen.read < count; seen.read++) yield eventAt(seen.read, more)
    } finally {
      seen.closed = true
    }
  }
  return { seen, events: events() }
}

/** Sums of the counters, in order, up to a revision (inclusive). */
function sumsUpTo(revision: number): [number, number][] {
  const sums = new Map<number, number>()
  for (let n = 0; n <= revision; n++) sums.set(counterOf(n), (sums.get(counterOf(n)) ?? 0) + n)
  return [...sums].sort(([a], [b]) => a - b)
}

describe('replay', () => {
  const database = useDatabase()
  let pool: Pool
  allowNoStrayRejections()
  before(async () => {
    pool = createPool(database.url, { max: 2, pipeline: true })
    await pool.query(`drop schema if exists read cascade; create schema read; ${counterDdl}`)
  })
  beforeEach(() => pool.query('truncate counters'))
  after(() => pool.end())

  const stored = async (): Promise<unknown> => {
    const { rows } = await pool.query<{ id: number; value: number }>('select id, value from counters order by id')
    return rows.map(({ id, value }) => [id, value])
  }

  /** Row counts of the write statements, by the statement's first word. */
  async function replayAll(events: AsyncIterable<Envelope>, upTo = EVENTS, model: ReadModel = counterModel) {
    const written: [string, number][] = []
    const applied = await inTransaction(pool, (tx) =>
      replay(
        {
          query(statement, values) {
            const [column] = (values ?? []) as Buffer[]
            // The header of a binary array contains the number of elements.
            if (column && /^(replace|upsert)_/.test(statement.name ?? ''))
              written.push(['replace', column.readInt32BE(12)])
            return tx.query(statement, values)
          },
          copy(statement, lines) {
            written.push(['copy', lines.split('\n').length - 1])
            return tx.copy(statement, lines)
          },
        },
        model,
        COMPANY_ID,
        events,
        upTo,
      ),
    )
    return { applied, written }
  }

  it('writes nearby changes of a row once, with the same result [LEDGER-10]', async () => {
    const { written, applied } = await replayAll(ledger(EVENTS).events)
    expect(applied).to.equal(EVENTS)
    expect(await stored()).to.deep.equal(sumsUpTo(EVENTS - 1))
    const rowsBy = (way: string) => written.reduce((sum, [each, rows]) => sum + (each === way ? rows : 0), 0)
    expect(rowsBy('copy'), 'rows that were new').to.equal(COUNTERS)
    expect(rowsBy('replace'), 'rows that were there').to.be.within(1, EVENTS / 2)
  })

  it('keeps no more rows in memory for a longer ledger, and fewer for events with long lists', async () => {
    const most = async (events: AsyncIterable<Envelope>) =>
      Math.max(...(await replayAll(events)).written.map(([, rows]) => rows))
    expect(await most(ledger(EVENTS).events)).to.be.most(4_000)
    await pool.query('truncate counters')
    expect(await most(ledger(EVENTS, { items: Array(10).fill('…') }).events)).to.be.most(500)
    expect(await stored()).to.deep.equal(sumsUpTo(EVENTS - 1))
  })

  it('stops at a revision, closes the ledger there, and resumes later', async () => {
    const first = ledger(EVENTS)
    expect((await replayAll(first.events, 6_789)).applied).to.equal(6_790)
    expect(first.seen.closed).to.equal(true)
    expect(await stored()).to.deep.equal(sumsUpTo(6_789))
    const second = ledger(EVENTS)
    second.seen.read = 6_790
    expect((await replayAll(second.events)).applied).to.equal(EVENTS - 6_790)
    expect(await stored()).to.deep.equal(sumsUpTo(EVENTS - 1))
  })

  it('applies nothing for an empty ledger', async () => {
    expect(await replayAll(ledger(0).events)).to.deep.equal({ applied: 0, written: [] })
  })

  it('rolls back all rows if a projection fails, and closes the ledger', async () => {
    const failing: ReadModel = {
      ...counterModel,
      projections: counterModel.projections.map(({ on, ...projection }) => ({
        ...projection,
        on: {
          CounterAdded: {
            refs: (event) => on.CounterAdded?.refs(event) ?? [],
            apply(rows, event) {
              if (event.revision === 9_000) throw new Error('a bug in a projection')
              on.CounterAdded?.apply(rows, event)
            },
          },
        },
      })),
    }
    const { events, seen } = ledger(EVENTS)
    const failure = await replayAll(events, EVENTS, failing).catch((error: Error) => error)
    expect(failure).to.have.property('message', 'a bug in a projection')
    expect(seen.closed).to.equal(true)
    expect(await stored()).to.deep.equal([])
  })

  it('rolls back if reading the ledger fails', async () => {
    async function* broken(): AsyncGenerator<Envelope> {
      yield* ledger(5_000).events
      throw new Error('the store is gone')
    }
    const failure = await replayAll(broken()).catch((error: Error) => error)
    expect(failure).to.have.property('message', 'the store is gone')
    expect(await stored()).to.deep.equal([])
  })

  it('fails with the reason if rows cannot be written', async () => {
    const adding: ReadModel = {
      ...counterModel,
      projections: [
        {
          name: 'counters',
          tables: [counters],
          on: {
            CounterAdded: {
              refs: () => [],
              apply: (rows, { revision: id }) =>
                rows.add(counters, { company_id: 1, id, value: 1, doc: { id, value: 1, last: '' } }),
            },
          },
        },
      ],
    }
    await pool.query(`insert into counters (company_id, id) values (1, 1)`)
    const failure = await replayAll(ledger(EVENTS).events, EVENTS, adding).catch((error: unknown) => error)
    expect(failure).to.include({ code: '23505', constraint: 'counters_pkey' })
    expect(await stored()).to.deep.equal([[1, null]])
  })
})
