import { expect } from 'chai'
import type { PoolClient } from 'pg'
import { createCustomer, deleteCustomer } from '#commands/person-commands.ts'
import type { Refusal } from '#domain/refusals.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Answer } from '#ledger/write/idempotency.ts'
import { runAs, runAsSystem } from '#ledger/write/run.ts'
import type { Request } from '#ledger/write/unit-of-work.ts'
import { type Writer, writeRequest } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import type { CustomerObject } from '#projections/people.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import type { CommitFault } from '../support/flaky-pool.ts'
import { purgeTables } from '../support/purge.ts'
import { administer } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { addition, additions } from './counters.ts'
import { allowNoStrayRejections } from './stray-rejections.ts'
import { assertLedger, empty, type Harness, openHarness, WRITER } from './writer-harness.ts'

const accepted = (answers: readonly (Answer | Refusal)[]): Answer[] =>
  answers.filter((answer): answer is Answer => !isRefusal(answer))

describe('writer', () => {
  const database = useDatabase()
  let harness: Harness
  allowNoStrayRejections()

  before(async () => {
    harness = await openHarness(database.url, null, [1, 2, 3])
  })
  beforeEach(() => empty(harness))
  after(() => harness?.close())

  const times = <T>(count: number, make: (number: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n))

  describe('deciding', () => {
    it('accepts exactly as many of 50 concurrent additions as the limit allows [LEDGER-7]', async () => {
      const requests = times(50, () => writeRequest(harness.writer, addition(1, { id: 1, by: 1, limit: 20 })))
      const answers = await Promise.all(requests)
      expect(accepted(answers)).to.have.length(20)
      expect(answers.filter(isRefusal)).to.have.length(30)
      await assertLedger(harness, 1, 20)
    })

    it('accepts exactly the limit if two processes decide at once [LEDGER-7]', async () => {
      const writers = [harness.writer, harness.another()]
      const requests = times(50, (n) =>
        writeRequest(writers[n % 2] as Writer, addition(1, { id: 1, by: 1, limit: 20 })),
      )
      const answers = (await Promise.all(requests)) as (Answer | Refusal)[]
      expect(accepted(answers)).to.have.length(20)
      await assertLedger(harness, 1, 20)
    })

    it('yields to other requests while it decides a request of many commands', async () => {
      let turns = 0
      let isOver = false
      const count = () => {
        turns += 1
        if (!isOver) setImmediate(count)
      }
      setImmediate(count)
      const seen: number[] = []
      const decide = () => {
        seen.push(turns)
        const end = performance.now() + 0.3
        while (performance.now() < end);
      }
      const inputs = times(200, () => ({ id: 1, by: 1, onDecide: decide }))
      await writeRequest(harness.writer, additions(1, inputs))
      isOver = true
      expect(seen).to.have.length(200)
      expect(new Set(seen).size).to.be.above(4)
      await assertLedger(harness, 1, 200)
    })

    it('waits for other processes instead of failing', async () => {
      const writers = [harness.writer, harness.another(), harness.another()]
      const answers = await Promise.all(
        // Sequential in each process, so that groups are small and collide often.
        writers.map(async (writer) => {
          const values: number[] = []
          for (let n = 0; n < 40; n++) {
            const answer = (await writeRequest(writer, addition(1, { id: 1, by: 1 }))) as Answer
            values.push((answer.record as { value: number }).value)
          }
          return values
        }),
      )
      expect(answers.flat().sort((a, b) => a - b)).to.deep.equal(times(120, (n) => n + 1))
      await assertLedger(harness, 1, 120)
    })

    it('answers each request with the record as of its own event, in order of arrival', async () => {
      const answers = accepted(
        await Promise.all(times(40, () => writeRequest(harness.writer, addition(1, { id: 1, by: 1 })))),
      )
      expect(answers.map((answer) => (answer.record as { value: number }).value)).to.deep.equal(times(40, (n) => n + 1))
      expect(answers.map((answer) => answer.revision)).to.deep.equal(times(40, (n) => n))
    })

    it('separates companies that share a group [LEDGER-1]', async () => {
      const requests = times(90, (n) =>
        writeRequest(harness.writer, addition(1 + (n % 3), { id: 1, by: 1, limit: 10 + (n % 3) })),
      )
      await Promise.all(requests)
      for (const company of [1, 2, 3]) await assertLedger(harness, company, 9 + company)
    })

    it('writes nothing for a refused request, even with an idempotency key [HTTP-11]', async () => {
      const refused = await writeRequest(harness.writer, addition(1, { id: 1, by: 1, limit: 0 }, 'key'))
      expect(refused).to.include({ refused: 'validation_failed' })
      await assertLedger(harness, 1, 0)
      expect(await writeRequest(harness.writer, addition(1, { id: 1, by: 1 }, 'key'))).to.include({
        outcome: 'updated',
        replayed: false,
      })
    })
  })

  describe('a request that fails', () => {
    it('with a bug does not fail its neighbours in the group [LEDGER-6]', async () => {
      const outcomes = await Promise.allSettled(
        times(10, (n) => writeRequest(harness.writer, addition(1 + (n % 2), { id: 1, by: 1, bug: n === 4 }))),
      )
      const failures = outcomes.filter((outcome) => outcome.status === 'rejected')
      expect(failures.map(({ reason }) => reason.message)).to.deep.equal(['a bug in decide'])
      expect(outcomes[4]?.status).to.equal('rejected')
      await assertLedger(harness, 1, 4)
      await assertLedger(harness, 2, 5)
    })

    it('reports that the company has no ledger, and does not fail the others', async () => {
      const outcomes = await Promise.allSettled(
        [1, 99, 2].map((company) => writeRequest(harness.writer, addition(company, { id: 1, by: 1 }))),
      )
      expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled'])
      expect((outcomes[1] as PromiseRejectedResult).reason.message).to.equal('company 99 has no ledger')
      await assertLedger(harness, 1, 1)
    })

    it('discards a whole batch if one of its commands has a bug', async () => {
      const inputs = times(3, (n) => ({ id: 1, by: 1, bug: n === 2 }))
      const failure = await writeRequest(harness.writer, additions(1, inputs, 'batch')).catch((error: unknown) => error)
      expect(failure).to.be.instanceOf(Error).and.to.include({ message: 'a bug in decide' })
      await assertLedger(harness, 1, 0)
    })
  })

  describe('batches', () => {
    it('decide each command on the results of the previous ones, and report every result', async () => {
      const inputs = times(8, (n) => ({ id: 1, by: 1, limit: n === 3 ? 0 : 6 }))
      const answer = await writeRequest(harness.writer, additions(1, inputs, 'batch'))
      expect(answer).to.deep.include({ outcome: 'partial', replayed: false, revision: 5 })
      expect((answer as Answer).record).to.deep.equal([
        ...[1, 2, 3, 'validation_failed'],
        ...[4, 5, 6, 'validation_failed'],
      ])
      const events = await assertLedger(harness, 1, 6)
      expect(events.every((event) => event.idempotency === null)).to.equal(true)
    })

    it('return the same answer to a retry with their key', async () => {
      const batch = additions(
        1,
        [
          { id: 1, by: 1 },
          { id: 1, by: 1, limit: 0 },
        ],
        'batch',
      )
      const [first, again] = [await writeRequest(harness.writer, batch), await writeRequest(harness.writer, batch)]
      expect(again).to.deep.equal({ ...(first as Answer), results: [], replayed: true })
      await assertLedger(harness, 1, 1)
    })

    it('of 500 commands are one unit of work, beside requests of others', async () => {
      const batch = writeRequest(
        harness.writer,
        additions(
          1,
          times(500, (n) => ({ id: n, by: 1 })),
        ),
      )
      const others = times(40, (n) => writeRequest(harness.writer, addition(1 + (n % 3), { id: 1000, by: 1 })))
      const answer = (await batch) as Answer
      await Promise.all(others)
      expect(answer.record).to.deep.equal(times(500, () => 1))
      const events = await assertLedger(harness, 1, 514)
      const ofBatch = events.filter((event) => (event.data as { id: number }).id !== 1000)
      expect(ofBatch.at(-1)?.revision).to.equal((ofBatch[0]?.revision ?? 0) + 499)
      expect(new Set(ofBatch.map((event) => event.recorded_at)).size).to.equal(1)
    })

    it('without commands are answered and change nothing', async () => {
      expect(await writeRequest(harness.writer, additions(1, [], 'nothing'))).to.include({
        outcome: 'updated',
        json: '[]',
        revision: -1,
      })
      await assertLedger(harness, 1, 0)
    })
  })

  describe('time of an event', () => {
    const eventTimes = async (count: number) =>
      (await assertLedger(harness, 1, count)).map((event) => event.recorded_at)

    it('is the time of Postgres, between request and answer [LEDGER-4]', async () => {
      const clock = async () => (await harness.pool.query('select clock_timestamp() as now')).rows[0].now as string
      const before = await clock()
      await writeRequest(harness.writer, addition(1, { id: 1, by: 1 }))
      const [recorded] = (await eventTimes(1)) as [string]
      expect(recorded).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      const times = [before, recorded, await clock()]
      expect(times).to.deep.equal([...times].sort())
    })

    it('never goes back within a ledger, even if the clock is slightly behind its last event [LEDGER-4]', async () => {
      const future = new Date(Date.now() + 40_000).toISOString()
      await harness.pool.query('update ops.ledgers set last_recorded_at = $1 where company_id = 1', [future])
      for (const company of [1, 1, 2])
        await writeRequest(harness.writer, addition(company, { id: 1, by: 1 }, undefined))
      expect(await eventTimes(2)).to.deep.equal([future, future])
      const [other] = await assertLedger(harness, 2, 1)
      expect((other?.recorded_at ?? '') < future, 'no other ledger is held up by it').to.equal(true)
      const { rows } = await harness.pool.query('select last_recorded_at from ops.ledgers where company_id = 1')
      expect(rows[0].last_recorded_at).to.equal(future)
    })
  })
})

const ONE = { id: 1, by: 1 }

describe('writer, stored answers', () => {
  const database = useDatabase()
  let harness: Harness
  allowNoStrayRejections()

  before(async () => {
    harness = await openHarness(database.url, null, [1, 2])
  })
  beforeEach(() => empty(harness))
  after(() => harness?.close())

  const run = async (key: string, company = 1): Promise<Answer> => {
    const answer = await writeRequest(harness.writer, addition(company, ONE, key))
    if (isRefusal(answer)) throw new Error(answer.refused)
    return answer
  }
  const age = (key: string, interval: string): Promise<unknown> =>
    harness.pool.query('update idempotent_answers set created_at = created_at - $2::interval where key = $1', [
      ` ${key}`,
      interval,
    ])

  for (const processes of [1, 2]) {
    it(`20 concurrent requests with one key get one answer, in ${processes === 1 ? 'one process' : 'two processes'} [IDEM-6]`, async () => {
      const writers = processes === 1 ? [harness.writer] : [harness.writer, harness.another()]
      const requests = Array.from({ length: 20 }, (_, n) =>
        writeRequest(writers[n % processes] as Writer, addition(1, ONE, 'key')),
      )
      const answers = (await Promise.all(requests)) as Answer[]
      expect(new Set(answers.map(({ outcome, json }) => `${outcome} ${json}`)).size).to.equal(1)
      expect(answers.filter(({ replayed }) => replayed)).to.have.length(19)
      const [event] = await assertLedger(harness, 1, 1)
      expect(event?.idempotency).to.deep.equal({ key: 'key', request_hash: 'same', status: 200 })
    })
  }

  it('refuse another request with the same key, in the same group and later [IDEM-3]', async () => {
    const [first, other] = await Promise.all([
      writeRequest(harness.writer, addition(1, ONE, 'key', 'one body')),
      writeRequest(harness.writer, addition(1, ONE, 'key', 'another body')),
    ])
    expect(first).to.include({ outcome: 'updated' })
    expect(other).to.deep.equal({ refused: 'idempotency_key_reuse' })
    expect(await writeRequest(harness.writer, addition(1, ONE, 'key', 'another body'))).to.deep.equal(other)
    expect(await writeRequest(harness.writer, addition(1, ONE, 'key', 'one body'))).to.include({ replayed: true })
    await assertLedger(harness, 1, 1)
  })

  it('belong to one company, even if others use the same key [IDEM-5]', async () => {
    const answers = await Promise.all([run('key', 1), run('key', 2)])
    expect(answers.map(({ replayed }) => replayed)).to.deep.equal([false, false])
    await assertLedger(harness, 1, 1)
    await assertLedger(harness, 2, 1)
  })

  it('show the record as originally answered, not its current state [IDEM-2]', async () => {
    const first = await run('first')
    await run('second')
    expect(await run('first')).to.deep.equal({ ...first, results: [], replayed: true, revision: 1 })
  })

  it('are kept for 24 hours; then a request is decided again [IDEM-4]', async () => {
    const first = await run('key')
    await age('key', '23 hours 59 minutes')
    expect(await run('key')).to.include({ replayed: true, json: first.json })
    await age('key', '2 minutes')
    const anew = await run('key')
    expect(anew).to.include({ replayed: false })
    expect((anew.record as { value: number }).value).to.equal(2)
    expect(await run('key')).to.include({ replayed: true, json: anew.json })
    await assertLedger(harness, 1, 2)
  })

  it('release their key for another request once they have expired', async () => {
    await run('key')
    await age('key', '25 hours')
    expect(await writeRequest(harness.writer, addition(1, ONE, 'key', 'another body'))).to.include({
      outcome: 'updated',
      replayed: false,
    })
  })

  it('are all purged after they expire, and no others [OPS-22]', async () => {
    await run('fresh')
    await harness.pool.query(
      `insert into idempotent_answers (company_id, key, request_hash, outcome, body, created_at)
       select 2, 'old-' || n, 'hash', 'updated', '{}', clock_timestamp() - interval '24 hours 1 second' from generate_series(1, 5001) n`,
    )
    expect(await purgeTables(harness.pool, 'idempotent_answers')).to.equal(5001)
    expect(await purgeTables(harness.pool, 'idempotent_answers')).to.equal(0)
    const { rows } = await harness.pool.query('select key from idempotent_answers')
    expect(rows).to.deep.equal([{ key: ' fresh' }])
  })
})

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

describe('runAs', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany

  before(async () => {
    api = await startApi(database.url)
    company = await api.company()
  })
  after(() => api.close())

  const acting = () => ({
    companyId: company.id,
    origin: 'pdv' as const,
    actor: 'user/7',
    requestId: '019990c5-0000-7000-8000-000000000001',
  })

  it('returns the record as the API shows it, and stores the actor in the event [LEDGER-3]', async () => {
    const { writer } = api.core
    const created = await runAs<CustomerObject>(writer, acting(), createCustomer, { name: 'Bia', person_type: 'PF' })
    if (isRefusal(created)) throw new Error(created.refused)
    expect(created).to.deep.equal((await company.get(`/customers/${created.id}`)).body.data)
    const { body } = await company.get(`/customers/${created.id}/history`)
    expect(body.data).to.have.length(1)
    expect(body.data[0]).to.include({ origin: 'pdv', actor: 'user/7', request_id: acting().requestId })
  })

  it('returns null if no record remains', async () => {
    const { writer } = api.core
    const { id } = (await runAs<CustomerObject>(writer, acting(), createCustomer, {
      name: 'Caio',
      person_type: 'PF',
    })) as CustomerObject
    expect(await runAs<null>(writer, acting(), deleteCustomer, { id })).to.equal(null)
    expect((await company.get(`/customers/${id}`)).body.data).to.include({ name: null })
  })

  it('returns the refusal', async () => {
    const refused = await runAs<null>(api.core.writer, acting(), deleteCustomer, { id: 999_999 })
    expect(refused).to.deep.equal({ refused: 'not_found' })
    expect(isRefusal(refused)).to.equal(true)
    expect(isRefusal(null)).to.equal(false)
  })

  it('stores no actor for the system [LEDGER-3]', async () => {
    const created = await runAsSystem<CustomerObject>(api.core.writer, company.id, createCustomer, {
      name: 'Davi',
      person_type: 'PF',
    })
    const { body } = await company.get(`/customers/${(created as CustomerObject).id}/history`)
    expect(body.data[0]).to.include({ origin: 'system', actor: null, request_id: null })
  })
})
