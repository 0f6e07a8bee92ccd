import { expect } from 'chai'
import { createTurns } from '#lib/turns.ts'
import { Unavailable } from '#lib/unavailable.ts'

describe('turns', () => {
  it('let so many work at a time, the others in order, and refuse those beyond', async () => {
    const turns = createTurns({ atATime: 2, waiting: 3 })
    const started: number[] = []
    const ends: (() => void)[] = []
    const works = Array.from({ length: 6 }, (_, n) =>
      turns
        .take(() => {
          started.push(n)
          return new Promise<number>((resolve) => ends.push(() => resolve(n)))
        })
        .catch((error: unknown) => error),
    )
    expect(await works[5]).to.be.instanceOf(Unavailable)
    expect(started).to.deep.equal([0, 1])
    for (let n = 0; n < 5; n++) {
      ends[n]?.()
      expect(await works[n]).to.equal(n)
    }
    expect(started).to.deep.equal([0, 1, 2, 3, 4])
  })

  it('go on after work that failed', async () => {
    const turns = createTurns({ atATime: 1, waiting: 1 })
    const failed = turns.take(() => Promise.reject(new Error('a bug'))).catch((error: Error) => error.message)
    expect(await turns.take(async () => 'done')).to.equal('done')
    expect(await failed).to.equal('a bug')
  })
})
