import { expect } from 'chai'
import { createPatience, withTimeout } from '#ledger/stores/eventstoredb-patience.ts'
import { Unavailable } from '#lib/unavailable.ts'

const MINUTE_MS = 60_000

describe('patience with a server that does not answer', () => {
  const failureOf = (promise: Promise<unknown>) => promise.then(() => null).catch((error: unknown) => error)

  it('makes no further call after one that was not answered, until the server is known to answer', async () => {
    const patience = createPatience(MINUTE_MS)
    let calls = 0
    const call = () => patience.of(async () => ++calls)
    expect(await call()).to.equal(1)
    const never = () => withTimeout(new Promise(() => {}), 1)
    expect(await failureOf(patience.of(never))).to.be.instanceOf(Unavailable)
    expect(await failureOf(call())).to.be.instanceOf(Unavailable)
    expect(calls).to.equal(1)
    patience.restore()
    expect(await call()).to.equal(2)
  })

  it('goes on after any other failure: a refusal is an answer', async () => {
    const patience = createPatience(MINUTE_MS)
    const refusal = new Error('wrong version')
    expect(await failureOf(patience.of(() => Promise.reject(refusal)))).to.equal(refusal)
    expect(await patience.of(async () => 'called')).to.equal('called')
  })

  it('tries again by itself after a while', async () => {
    const patience = createPatience(0)
    await failureOf(patience.of(() => Promise.reject(new Unavailable('silent'))))
    expect(await patience.of(async () => 'called')).to.equal('called')
  })
})
