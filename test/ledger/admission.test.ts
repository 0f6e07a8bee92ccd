import { expect } from 'chai'
import { idsAfter } from '#ledger/ledgers.ts'
import { createCircuitBreaker, withTimeout } from '#ledger/stores/eventstoredb.ts'
import { type AnswerOutcome, createAnswer, toAnswerStatus, toRecordedOutcome } from '#ledger/write/idempotency.ts'
import { type AdmissionCheck, splitRetries, writeRequest } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import { answeringWriter } from '../support/answering-writer.ts'
import { addition } from './counters.ts'

describe('admission of writes', () => {
  const ANSWER = createAnswer({ outcome: 'updated', json: '' }, { revision: 0 })

  /** Names of the checks that ran, and `write` if the request joined the queue. */
  async function pass(checks: Readonly<Record<string, AdmissionCheck>>): Promise<{ steps: string[]; answer: unknown }> {
    const steps: string[] = []
    const named = Object.entries(checks).map(([name, check]) => async () => {
      await check()
      steps.push(name)
    })
    const run = async () => {
      steps.push('write')
      return ANSWER
    }
    const writer = { ...answeringWriter(run), admission: named }
    const answer = await writeRequest(writer, addition(1, { id: 1, by: 1 })).catch((error: unknown) => error)
    return { steps, answer }
  }

  it('waits for each check, in the order of the list', async () => {
    const later = () => new Promise<void>((resolve) => setImmediate(resolve))
    const { steps, answer } = await pass({ first: later, second: () => {}, third: later })
    expect(steps).to.deep.equal(['first', 'second', 'third', 'write'])
    expect(answer).to.equal(ANSWER)
  })

  it('refuses with the error of the first check that fails, and writes nothing', async () => {
    const refusal = new Unavailable('not yet')
    const { steps, answer } = await pass({
      first: () => {},
      second() {
        throw refusal
      },
      third: () => {},
    })
    expect(steps).to.deep.equal(['first'])
    expect(answer).to.equal(refusal)
  })
})

describe('an answer', () => {
  it('parses its record from the text that is stored', () => {
    const json = '{"id":1,"price":"2.50"}'
    expect(createAnswer({ outcome: 'created', json }, { revision: 3 })).to.deep.equal({
      outcome: 'created',
      json,
      record: { id: 1, price: '2.50' },
      meta: null,
      results: [],
      replayed: false,
      revision: 3,
    })
  })

  it('has no record without text', () => {
    expect(createAnswer({ outcome: 'deleted', json: '' }, { revision: 3 }).record).to.equal(null)
  })

  for (const [outcome, status] of [
    ['created', 201],
    ['updated', 200],
    ['deleted', 204],
    ['queued', 202],
  ] as [AnswerOutcome, number][])
    it(`${outcome} is recorded as ${status} and restored from it [IDEM-7]`, () => {
      expect(toAnswerStatus(outcome)).to.equal(status)
      expect(toRecordedOutcome(status)).to.equal(outcome)
    })
})

const MINUTE_MS = 60_000

describe('circuit breaker', () => {
  const failureOf = (promise: Promise<unknown>) => promise.then(() => null).catch((error: unknown) => error)

  it('opens after a call without an answer, until the server responds again', async () => {
    const breaker = createCircuitBreaker(MINUTE_MS)
    let calls = 0
    const call = () => breaker.call(async () => ++calls)
    expect(await call()).to.equal(1)
    const never = () => withTimeout(new Promise(() => {}), 1)
    expect(await failureOf(breaker.call(never))).to.be.instanceOf(Unavailable)
    expect(await failureOf(call())).to.be.instanceOf(Unavailable)
    expect(calls).to.equal(1)
    breaker.close()
    expect(await call()).to.equal(2)
  })

  it('stays closed after any other failure: a refusal is an answer', async () => {
    const breaker = createCircuitBreaker(MINUTE_MS)
    const refusal = new Error('wrong version')
    expect(await failureOf(breaker.call(() => Promise.reject(refusal)))).to.equal(refusal)
    expect(await breaker.call(async () => 'called')).to.equal('called')
  })

  it('retries by itself after a pause', async () => {
    const breaker = createCircuitBreaker(0)
    await failureOf(breaker.call(() => Promise.reject(new Unavailable('silent'))))
    expect(await breaker.call(async () => 'called')).to.equal('called')
  })
})

const [a1, b1, a2] = [1, 2, 1].map((companyId, number) => ({ companyId, number }))
const group = [a1, b1, a2] as { companyId: number; number: number }[]
const ofCompany1 = [a1, a2] as typeof group
const alone = [a1] as typeof group

const database = (code: string): Error => Object.assign(new Error('from the database'), { code })

describe('retry after a failure before the append', () => {
  it('decides each request separately after an error that only one of them may have caused', () => {
    for (const error of [new TypeError('a bug'), database('23514'), database('23505'), 'thrown text', null]) {
      expect(splitRetries(group, error, true)).to.deep.equal([[a1], [b1], [a2]])
    }
  })

  it('decides each company separately after a lock time-out', () => {
    for (const code of ['55P03', '57014']) {
      expect(splitRetries(group, database(code), true)).to.deep.equal([[a1, a2], [b1]])
      // Waiting again for the same lock would block others too.
      expect(splitRetries(ofCompany1, database(code), true)).to.deep.equal([])
    }
  })

  it('decides a group again after a lost connection or deadlock, a limited number of times', () => {
    const lost = [new Error('Connection terminated unexpectedly'), database('ECONNRESET'), database('57P01')]
    for (const error of [...lost, database('40P01')]) {
      expect(splitRetries(group, error, true)).to.deep.equal([group])
      expect(splitRetries(alone, error, true)).to.deep.equal([alone])
      expect(splitRetries(group, error, false)).to.deep.equal([])
    }
  })

  it('decides a single request again if its name was taken meanwhile, a limited number of times', () => {
    expect(splitRetries(alone, database('23505'), true)).to.deep.equal([alone])
    expect(splitRetries(alone, database('23505'), false)).to.deep.equal([])
  })

  it('does not retry without a connection or disk space, or if the request itself is at fault', () => {
    for (const error of [new Unavailable('no connection'), database('53100')]) {
      expect(splitRetries(group, error, true)).to.deep.equal([])
    }
    expect(splitRetries(alone, new TypeError('a bug'), true)).to.deep.equal([])
  })
})

const restored = (ids: object) => ({ type: 'InstallationRestored', subject: 'company/1', data: { ids } })
const made = (subject: string) => ({ type: 'Made', subject, data: {} })

describe('ids issued by a company', () => {
  it('continue after the ids recorded by a restore, and never go back [OPS-84]', () => {
    expect(
      idsAfter({ sale: 7, order: 20_000 }, restored({ sale: 10_007, order: 10_000, store: 10_000 })),
    ).to.deep.equal({
      sale: 10_007,
      order: 20_000,
      store: 10_000,
    })
    expect(idsAfter({ sale: 10_007 }, made('sale/10008'))).to.deep.equal({ sale: 10_008 })
    expect(idsAfter({ sale: 10_007 }, made('sale/8'))).to.deep.equal({ sale: 10_007 })
    expect(idsAfter({}, restored({ company: 5, nothing: 6 }))).to.deep.equal({})
  })
})
