import { expect } from 'chai'
import { createCircuitBreaker, withTimeout } from '#ledger/stores/eventstoredb.ts'
import { Unavailable } from '#lib/errors.ts'

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
