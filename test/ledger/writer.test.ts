import { expect } from 'chai'
import type { Refusal } from '#domain/refusals.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Answer } from '#ledger/write/idempotency.ts'
import { type Writer, writeRequest } from '#ledger/write/writer.ts'
import { useDatabase } from '../support/database.ts'
import { addition, additions } from './counters.ts'
import { allowNoStrayRejections } from './stray-rejections.ts'
import { assertLedger, empty, type Harness, openHarness } from './writer-harness.ts'

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
