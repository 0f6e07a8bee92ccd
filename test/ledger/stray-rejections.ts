import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'

/** Fails a test that leaves a rejected promise unhandled: it would end the service, and Mocha does not report it. */
export function allowNoStrayRejections(): void {
  const stray: unknown[] = []
  const note = (reason: unknown): void => {
    stray.push(reason)
  }
  before(() => process.on('unhandledRejection', note))
  afterEach(async () => {
    await turn()
    expect(stray.splice(0), 'rejections that nobody handled').to.deep.equal([])
  })
  after(() => process.off('unhandledRejection', note))
}
