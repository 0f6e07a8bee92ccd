import { expect } from 'chai'
import fc from 'fast-check'
import { isRefusal } from '#ledger/command.ts'
import type { Answer } from '#ledger/write/idempotency.ts'
import { type Writer, writeRequest } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import { useDatabase } from '../support/database.ts'
import type { CommitFault } from '../support/flaky-pool.ts'
import { createOutsideStore, type Fault, type FaultyStore } from '../support/outside-store.ts'
import { explore } from '../support/random.ts'
import { addition } from './counters.ts'
import { assertLedger, empty, type Harness, openHarness } from './writer-harness.ts'

const COMPANIES = [1, 2, 3]

/** Retries like an integrator until there is an answer: same key, after every 503. */
async function insist(writer: Writer, companyId: number, key: string): Promise<Answer> {
  for (let tries = 0; tries < 20; tries++) {
    try {
      const answer = await writeRequest(writer, addition(companyId, { id: 1, by: 1 }, key))
      if (isRefusal(answer)) throw new Error(`refused: ${answer.refused}`)
      return answer
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
    }
  }
  throw new Error('never answered')
}

/** Asserts every guarantee of the unit of work on the stored data. */
async function assertExactlyOnce(harness: Harness, expected: ReadonlyMap<number, number>): Promise<void> {
  for (const companyId of COMPANIES) await assertLedger(harness, companyId, expected.get(companyId) ?? 0)
}

describe('crash windows of a store outside the transaction', () => {
  const database = useDatabase()
  let harness: Harness
  let store: FaultyStore

  beforeEach(async () => {
    store = createOutsideStore()
    harness = await openHarness(database.url, store, COMPANIES)
    await empty(harness)
  })
  afterEach(() => harness.close())

  const windows: [string, { fault?: Fault; commit?: CommitFault }][] = [
    ['before the append', { fault: 'before' }],
    ['after the append, with its answer lost', { fault: 'after' }],
    ['after appends to some of the streams', { fault: 'half' }],
    ['at a COMMIT that did not reach the server', { commit: 'lost' }],
    ['at COMMIT, with its answer lost', { commit: 'done' }],
    ['after the append and again while settling', { fault: 'after', commit: 'lost' }],
  ]

  for (const [name, { fault, commit }] of windows) {
    it(`loses nothing and decides nothing twice if it fails ${name} [LEDGER-6]`, async () => {
      if (fault) store.faults.push(fault)
      if (commit) harness.commitFaults.push(commit)
      const requests = COMPANIES.flatMap((company) =>
        Array.from({ length: 10 }, (_, number) => [company, `key-${number}`] as const),
      )
      const answers = await Promise.all(requests.map(([company, key]) => insist(harness.writer, company, key)))
      await assertExactlyOnce(harness, new Map(COMPANIES.map((company) => [company, 10])))
      const again = await Promise.all(requests.map(([company, key]) => insist(harness.writer, company, key)))
      expect(again.map((answer) => answer.json)).to.deep.equal(answers.map((answer) => answer.json))
      expect(again.every((answer) => answer.replayed)).to.equal(true)
    })
  }

  it('answers a request once if its append lands long after it seemed lost [LEDGER-8]', async () => {
    store.faults.push('late')
    const first = writeRequest(harness.writer, addition(1, { id: 1, by: 1 }, 'slow'))
    expect(await first).to.include({ outcome: 'updated', json: (await insist(harness.writer, 1, 'slow')).json })
    expect(store.release(), 'the late append finds its revision taken').to.equal(0)
    await assertExactlyOnce(harness, new Map([[1, 1]]))
  })

  it('finds an append that lands between settling and the next decision [LEDGER-8]', async () => {
    const append = store.append.bind(store)
    store.faults.push('late')
    let appends = 0
    store.append = async (...args) => {
      appends += 1
      if (appends === 2) expect(store.release(), 'the late append wins').to.equal(1)
      return append(...args)
    }
    await writeRequest(harness.writer, addition(1, { id: 1, by: 1 }, 'slow'))
    expect(appends).to.equal(2)
    await assertExactlyOnce(harness, new Map([[1, 1]]))
  })

  it('a retry at another process gets the one true answer [IDEM-7, LEDGER-8]', async () => {
    store.faults.push('after')
    const read = store.read
    store.read = () => {
      throw new Error('14 UNAVAILABLE')
    }
    const outcome = await writeRequest(harness.writer, addition(1, { id: 1, by: 1 }, 'paid')).catch(
      (error: unknown) => error,
    )
    expect(outcome).to.be.instanceOf(Unavailable)
    store.read = read
    const answer = await insist(harness.another(), 1, 'paid')
    expect(answer.replayed, 'catch-up stored the answer of the request that crashed').to.equal(true)
    expect(answer.record).to.include({ id: 1, value: 1 })
    await assertExactlyOnce(harness, new Map([[1, 1]]))
  })

  it('writes side data of an event also after an unknown outcome', async () => {
    store.faults.push('after')
    await writeRequest(harness.writer, addition(1, { id: 1, by: 1, secret: 'kept' }))
    const { rowCount } = await harness.pool.query(`select from ops.idempotent_answers where key = 'secret-kept'`)
    expect(rowCount).to.equal(1)
    await assertExactlyOnce(harness, new Map([[1, 1]]))
  })

  it('catches up with appends of another writer before it decides', async () => {
    store.faults.push('after')
    harness.commitFaults.push('lost', 'lost', 'lost')
    await writeRequest(harness.writer, addition(1, { id: 1, by: 1, limit: 1 }, 'one')).catch(() => {})
    const second = await writeRequest(harness.another(), addition(1, { id: 1, by: 1, limit: 1 }, 'two'))
    expect(second).to.include({ refused: 'validation_failed' })
    await assertExactlyOnce(harness, new Map([[1, 1]]))
  })

  it('splits an append that is too large, and completes it after a failure in the middle', async () => {
    await harness.close()
    store = createOutsideStore({ maxAppendBytes: 1500 })
    harness = await openHarness(database.url, store, COMPANIES)
    await Promise.all(Array.from({ length: 20 }, (_, number) => insist(harness.writer, 1, `key-${number}`)))
    await assertExactlyOnce(harness, new Map([[1, 20]]))
  })

  it('keeps all guarantees under random sequences of faults [LEDGER-6]', async () => {
    const fault = fc.constantFrom<Fault>('none', 'before', 'after', 'half', 'late')
    const commit = fc.constantFrom<CommitFault>('none', 'none', 'lost', 'done')
    await explore(
      fc.asyncProperty(
        fc.array(fault, { maxLength: 8 }),
        fc.array(commit, { maxLength: 8 }),
        async (faults, commits) => {
          store = createOutsideStore()
          const run = await openHarness(database.url, store, COMPANIES)
          try {
            await empty(run)
            store.faults.push(...faults)
            run.commitFaults.push(...commits)
            const writers = [run.writer, run.another()]
            const keys = COMPANIES.flatMap((company) =>
              Array.from({ length: 6 }, (_, number) => [company, `key-${number}`] as const),
            )
            // Both processes use every key concurrently.
            const asked = keys.flatMap(([company, key]) => writers.map((writer) => insist(writer, company, key)))
            const answers = await Promise.all(asked)
            store.faults.length = 0
            run.commitFaults.length = 0
            store.release()
            // The next request applies a late append that won.
            for (const company of COMPANIES)
              await writeRequest(run.writer, addition(company, { id: 1, by: 1, limit: 0 }))
            expect(answers.filter((answer) => !answer.replayed)).to.have.length.at.most(keys.length)
            for (let index = 0; index < answers.length; index += 2)
              expect(answers[index]?.json).to.equal(answers[index + 1]?.json)
            await assertExactlyOnce(run, new Map(COMPANIES.map((company) => [company, 6])))
          } finally {
            await run.close()
          }
        },
      ),
      8,
    )
  }).timeout(120_000)
})
