import { expect } from 'chai'
import type { Pool, PoolClient } from 'pg'
import { createPool } from '#postgres/pool.ts'
import { assertCommitted, inTransaction, pipelined, transactionOn } from '#postgres/transaction.ts'
import { allowNoStrayRejections } from '../ledger/stray-rejections.ts'
import { useDatabase } from '../support/database.ts'

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
        const results = await pipelined(client, () => [1, 2, 3, 4, 5].map(select))
        stream._writev = original
        expect(results.map(({ rows }) => rows[0]?.value)).to.deep.equal([1, 2, 3, 4, 5])
        expect(writes).to.equal(1)
      })
    })

    it('throws the first failure after every statement has its answer', async () => {
      await withClient(async (client) => {
        let last = 'waiting'
        const error = await errorOf(
          pipelined(client, () => [
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
          pipelined(client, () => {
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
