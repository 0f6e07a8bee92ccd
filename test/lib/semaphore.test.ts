import { expect } from 'chai'
import { createSemaphore } from '#lib/semaphore.ts'
import { Unavailable } from '#lib/unavailable.ts'

const never = new AbortController().signal

describe('semaphore', () => {
  it('gives places in the order of asking, and each only once', async () => {
    const semaphore = createSemaphore({ running: 1, waiting: 5 })
    const order: string[] = []
    const first = await semaphore.acquire(never)
    const others = ['a', 'b', 'c'].map(async (name) => {
      const release = await semaphore.acquire(never)
      order.push(name)
      release?.()
    })
    expect(order).to.deep.equal([])
    first?.()
    await Promise.all(others)
    expect(order).to.deep.equal(['a', 'b', 'c'])
    expect(await semaphore.acquire(never)).to.be.a('function')
  })

  it('gives none when too many wait', async () => {
    const semaphore = createSemaphore({ running: 1, waiting: 0 })
    const release = await semaphore.acquire(never)
    expect(await semaphore.acquire(never)).to.equal(null)
    release?.()
    expect(await semaphore.acquire(never)).to.be.a('function')
  })

  it('keeps none for who has stopped waiting', async () => {
    const semaphore = createSemaphore({ running: 1, waiting: 2 })
    const release = await semaphore.acquire(never)
    const patience = new AbortController()
    const impatient = semaphore.acquire(patience.signal)
    const patient = semaphore.acquire(never)
    patience.abort()
    expect(await impatient).to.equal(null)
    release?.()
    expect(await patient).to.be.a('function')
    expect(await semaphore.acquire(patience.signal)).to.equal(null)
  })

  it('lets so many work at a time, the others in order, and refuses those beyond', async () => {
    const semaphore = createSemaphore({ running: 2, waiting: 3 })
    const started: number[] = []
    const ends: (() => void)[] = []
    const works = Array.from({ length: 6 }, (_, n) =>
      semaphore
        .run(() => {
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

  it('goes on after work that failed', async () => {
    const semaphore = createSemaphore({ running: 1, waiting: 1 })
    const failed = semaphore.run(() => Promise.reject(new Error('a bug'))).catch((error: Error) => error.message)
    expect(await semaphore.run(async () => 'done')).to.equal('done')
    expect(await failed).to.equal('a bug')
  })
})
