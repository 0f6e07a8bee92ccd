import { expect } from 'chai'
import type { PoolClient } from 'pg'
import type { Refusal } from '#domain/refusals.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Answer } from '#ledger/write/idempotency.ts'
import type { Request } from '#ledger/write/unit-of-work.ts'
import { writeRequest } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import { useDatabase } from '../support/database.ts'
import type { CommitFault } from '../support/flaky-pool.ts'
import { administer } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { addition, additions } from './counters.ts'
import { allowNoStrayRejections } from './stray-rejections.ts'
import { assertLedger, empty, type Harness, openHarness, WRITER } from './writer-harness.ts'

const ONE = { id: 1, by: 1 }
const times = <T>(count: number, make: (number: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n))

describe('writer, during Postgres failures', () => {
  const database = useDatabase()
  let harness: Harness
  allowNoStrayRejections()

  beforeEach(async () => {
    harness = await openHarness(database.url, null, [1, 2, 3])
    await empty(harness)
  })
  afterEach(() => harness.close())

  const run = async (company: number, key?: string): Promise<Answer> => {
    const answer = await writeRequest(harness.writer, addition(company, ONE, key))
    if (isRefusal(answer)) throw new Error(answer.refused)
    return answer
  }
  /** Retries until there is an answer. */
  const insist = (request: Request, tries = 10): Promise<Answer | Refusal> =>
    writeRequest(harness.writer, request).catch((error: unknown) => {
      if (!(error instanceof Unavailable) || tries === 0) throw error
      return insist(request, tries - 1)
    })
  /** Error of a promise that must fail. */
  const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      (value) => expect.fail(`succeeded with ${JSON.stringify(value)}`),
      (error: unknown) => error,
    )
  /** Locks rows while `work` runs, so that the writer blocks at a known statement. */
  const holding = async (statement: string, work: (holder: PoolClient) => Promise<void>): Promise<void> => {
    const holder = await harness.pool.connect()
    try {
      await holder.query('begin')
      await holder.query(statement)
      await work(holder)
    } finally {
      await holder.query('rollback')
      holder.release()
    }
  }
  const untilWriterWaits = (): Promise<unknown> =>
    until(async () => {
      const waiting = `select pid from pg_stat_activity
                       where datname = current_database() and application_name = $1 and wait_event_type = 'Lock'`
      return (await harness.pool.query(waiting, [WRITER])).rows.length > 0
    })
  const endConnections = (): Promise<unknown> =>
    harness.pool.query(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity
       where datname = current_database() and application_name = $1`,
      [WRITER],
    )

  for (const faults of [['lost'], ['done']] as CommitFault[][]) {
    it(`answers every request and applies it once if a COMMIT is ${faults} [LEDGER-6, LEDGER-8]`, async () => {
      harness.commitFaults.push(...faults)
      const answers = await Promise.all([
        ...times(10, (n) => writeRequest(harness.writer, addition(1, ONE, n % 2 ? `key-${n}` : undefined))),
        ...times(10, () => writeRequest(harness.writer, addition(2, { ...ONE, limit: 5 }))),
        writeRequest(harness.writer, additions(3, Array(5).fill(ONE), 'batch')),
      ])
      expect(answers.filter(isRefusal)).to.have.length(5)
      await assertLedger(harness, 1, 10)
      await assertLedger(harness, 2, 5)
      await assertLedger(harness, 3, 5)
      expect(await run(1, 'key-1')).to.include({ replayed: true })
    })
  }

  for (const faults of [
    ['lost', 'lost', 'done'],
    ['done', 'lost', 'lost'],
    ['done', 'done', 'lost', 'done'],
  ] as CommitFault[][]) {
    it(`applies a retry with the same key once if COMMITs are ${faults.join(', ')} [HTTP-13, IDEM-7]`, async () => {
      harness.commitFaults.push(...faults)
      const requests = [
        ...times(10, (n) => addition(1, ONE, `key-${n}`)),
        ...times(10, (n) => addition(2, { ...ONE, limit: 5 }, `key-${n}`)),
        additions(3, Array(5).fill(ONE), 'batch'),
      ]
      const answers = await Promise.all(requests.map((request) => insist(request)))
      expect(answers.filter(isRefusal)).to.have.length(5)
      await assertLedger(harness, 1, 10)
      await assertLedger(harness, 2, 5)
      await assertLedger(harness, 3, 5)
    })
  }

  it('is unavailable while COMMITs keep failing, and repeats nothing afterwards [HTTP-13, LEDGER-8]', async () => {
    harness.commitFaults.push(...times(40, (): CommitFault => 'lost'))
    expect(await failureOf(run(1, 'key'))).to.be.instanceOf(Unavailable)
    harness.commitFaults.length = 0
    await assertLedger(harness, 1, 0)
    expect(await run(1, 'key')).to.include({ replayed: false })
    harness.commitFaults.push('done', 'lost')
    expect(await failureOf(run(1, 'paid'))).to.be.instanceOf(Unavailable)
    expect(await run(1, 'paid'), 'it was carried out').to.include({ replayed: true })
    await assertLedger(harness, 1, 2)
  })

  it('decides again if its connection ends before the first write', async () => {
    let answers: Promise<Answer[]> | undefined
    await holding('select from ops.ledgers where company_id = 1 for update', async () => {
      answers = Promise.all([run(1), run(1), run(2)])
      await untilWriterWaits()
      await endConnections()
    })
    expect((await answers)?.map(({ record }) => (record as { value: number }).value)).to.deep.equal([1, 2, 1])
    await assertLedger(harness, 1, 2)
    await assertLedger(harness, 2, 1)
  })

  it('settles the outcome of its COMMIT if its connection ends during the preceding statements', async () => {
    await run(1)
    let answers: Promise<Answer[]> | undefined
    await holding('select from read.counters where company_id = 1 for update', async () => {
      answers = Promise.all([run(1, 'a'), run(1), run(2)])
      await untilWriterWaits()
      await endConnections()
    })
    expect((await answers)?.map(({ record }) => (record as { value: number }).value)).to.deep.equal([2, 3, 1])
    await assertLedger(harness, 1, 3)
    await assertLedger(harness, 2, 1)
  })

  it('recovers after all idle connections were closed [OPS-8]', async () => {
    await Promise.all([1, 2, 3].map((company) => run(company)))
    await endConnections()
    await Promise.all([1, 2, 3].map((company) => run(company)))
    for (const company of [1, 2, 3]) await assertLedger(harness, company, 2)
  })

  it('is unavailable while the database refuses connections, and recovers afterwards [OPS-8]', async () => {
    const name = new URL(database.url).pathname.slice(1)
    const allow = (allowed: boolean): Promise<unknown> =>
      administer(process.env.TILLBOOK_TEST_SERVER as string, (client) =>
        client.query(`alter database ${name} allow_connections ${allowed}`),
      )
    await run(1)
    await allow(false)
    try {
      await endConnections()
      const failures = await Promise.all(times(40, (n) => failureOf(run(1 + (n % 3)))))
      for (const failure of failures) expect(failure).to.be.instanceOf(Unavailable)
    } finally {
      await allow(true)
    }
    await run(1)
    await assertLedger(harness, 1, 2)
  })

  it('is unavailable after its pool was ended', async () => {
    const own = await openHarness(database.url, null, [1])
    await own.close()
    expect(await failureOf(writeRequest(own.writer, addition(1, ONE)))).to.be.instanceOf(Unavailable)
    await own.writer.queue.idle()
  })

  it('times out once on a locked ledger for all its requests, and answers those of other companies', async () => {
    await harness.close()
    harness = await openHarness(database.url, null, [1, 2, 3], { lock_timeout_ms: 200 })
    await holding('select from ops.ledgers where company_id = 1 for update', async () => {
      const locked = times(20, () => failureOf(run(1)))
      const others = await Promise.all([run(2), run(3), run(2)])
      expect(others.map(({ outcome }) => outcome)).to.deep.equal(['updated', 'updated', 'updated'])
      for (const failure of await Promise.all(locked)) expect(failure).to.be.instanceOf(Unavailable)
      expect(harness.logged).to.deep.equal(['writer: unit of work failed, nothing recorded'])
    })
    await run(1)
    await assertLedger(harness, 1, 1)
    await assertLedger(harness, 2, 2)
  })

  it('writes nothing to tables of another version [LEDGER-12]', async () => {
    await harness.pool.query(`update ops.read_model set version = 'newer', number = 2`)
    const failures = await Promise.all([failureOf(run(1, 'key')), failureOf(run(2)), failureOf(run(2))])
    for (const failure of failures) expect(failure).to.be.instanceOf(Unavailable)
    expect(harness.logged).to.include('outdated')
    await assertLedger(harness, 1, 0)
    await harness.pool.query('delete from ops.read_model')
    expect(await failureOf(run(1))).to.be.instanceOf(Unavailable)
    await assertLedger(harness, 1, 0)
  })

  it('keeps ledgers consistent if the database refuses a row after the append [LEDGER-6]', async () => {
    // Statements and COMMIT are pipelined: the refusal must undo the events too.
    await harness.pool.query('alter table read.counters add constraint at_most_three check (value <= 3)')
    try {
      const outcomes = await Promise.allSettled([run(2), ...times(6, () => run(1))])
      expect(outcomes.map(({ status }) => status)).to.deep.equal([
        ...times(4, () => 'fulfilled'),
        ...times(3, () => 'rejected'),
      ])
      const rejected = outcomes.find((outcome) => outcome.status === 'rejected')
      expect(rejected?.reason).to.include({ code: '23514' })
    } finally {
      await harness.pool.query('alter table read.counters drop constraint at_most_three')
    }
    await assertLedger(harness, 1, 3)
    await assertLedger(harness, 2, 1)
    await run(1)
    await assertLedger(harness, 1, 4)
  })
})
