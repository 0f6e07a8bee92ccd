import { setImmediate as nextTurn, setImmediate as settled } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { Unavailable } from '#lib/errors.ts'
import { createKeyedSemaphore, createTimeSlicer } from '#lib/fair-sharing.ts'

type Leave = (() => void) | null

describe('keyed semaphore', () => {
  it('grants permits of one key in order of request, up to its capacity', async () => {
    const turns = createKeyedSemaphore({ running: 2, waiting: 10 })
    const begun: number[] = []
    const ends: (() => void)[] = []
    const works = [0, 1, 2, 3].map((n) =>
      turns.run('a', () => {
        begun.push(n)
        return new Promise<number>((resolve) => ends.push(() => resolve(n)))
      }),
    )
    await settled()
    expect(begun).to.deep.equal([0, 1])
    expect(turns.used).to.equal(2)
    for (const n of [0, 1, 2, 3]) {
      ends[n]?.()
      expect(await works[n]).to.equal(n)
    }
    expect(begun).to.deep.equal([0, 1, 2, 3])
    expect([turns.used, turns.refused]).to.deep.equal([0, 0])
  })

  it('alternates between keys, however many requests of one key wait [OPS-60]', async () => {
    const turns = createKeyedSemaphore({ running: 1, waiting: 100 })
    const order: string[] = []
    const ask = (key: string, name: string) => turns.run(key, async () => void order.push(name))
    const first = await turns.acquire('a')
    const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => ask(name.charAt(0), name))
    first?.()
    await Promise.all(all)
    expect(order).to.deep.equal(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  })

  it('reserves permits for other keys, which do not wait for a key at its share [OPS-60]', async () => {
    const turns = createKeyedSemaphore({ running: 3, runningOfKey: 2, waiting: 10 })
    const own = await Promise.all([turns.acquire('a'), turns.acquire('a')])
    let third: Leave = null
    const waiting = turns.acquire('a').then((leave) => {
      third = leave
    })
    const other = await turns.acquire('b')
    expect(other).to.be.a('function')
    expect(third).to.equal(null)
    other?.()
    await settled()
    expect(third, 'the share counts though there is one free').to.equal(null)
    own[0]?.()
    await waiting
    expect(third).to.be.a('function')
  })

  it('refuses a key with a full queue, and no other key [OPS-60]', async () => {
    const turns = createKeyedSemaphore({ running: 1, waiting: 4 })
    const leave = await turns.acquire('a')
    const patience = new AbortController()
    const line = [turns.acquire('a', patience.signal), turns.acquire('a', patience.signal)]
    expect(await turns.acquire('a')).to.equal(null)
    expect(await turns.run('a', async () => {}).catch((error: unknown) => error)).to.be.instanceOf(Unavailable)
    const other = turns.run('b', async () => 'done')
    expect([turns.used, turns.refused]).to.deep.equal([3, 2])
    leave?.()
    const own = await line[0]
    own?.()
    expect(await other).to.equal('done')
  })

  it('can limit the queue of each key below the total', async () => {
    const turns = createKeyedSemaphore({ running: 1, waiting: 100, waitingOfKey: 1 })
    const leave = await turns.acquire('a')
    const waiting = ['a', 'b'].map((key) => turns.acquire(key))
    expect(await turns.acquire('a')).to.equal(null)
    leave?.()
    for (const each of waiting) (await each)?.()
  })

  it('frees the queue place of an aborted waiter at once', async () => {
    const turns = createKeyedSemaphore({ running: 1, waiting: 1 })
    const leave = await turns.acquire('a')
    const patience = new AbortController()
    const impatient = turns.acquire('a', patience.signal)
    patience.abort()
    expect(await impatient).to.equal(null)
    expect(await turns.acquire('a', patience.signal)).to.equal(null)
    const patient = turns.acquire('a')
    leave?.()
    expect(await patient).to.be.a('function')
    expect(turns.refused).to.equal(1)
  })

  it('continues after failed work, and ignores a second release', async () => {
    const turns = createKeyedSemaphore({ running: 1, waiting: 2 })
    const failed = turns.run('a', () => Promise.reject(new Error('a bug'))).catch((error: Error) => error.message)
    expect(await turns.run('a', async () => 'done')).to.equal('done')
    expect(await failed).to.equal('a bug')
    const leave = await turns.acquire('a')
    leave?.()
    leave?.()
    const [one, other] = [await turns.acquire('a'), turns.acquire('a')]
    await settled()
    expect(turns.used).to.equal(1)
    one?.()
    expect(await other).to.be.a('function')
  })

  it('never exceeds its capacity and serves every waiter, for random arrivals and releases', async () => {
    const step = fc.oneof(fc.constantFrom('a', 'b', 'c'), fc.constant('end' as const), fc.constant('give up' as const))
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const turns = createKeyedSemaphore({ running: 3, runningOfKey: 2, waiting: 1_000 })
        const running: { key: string; leave: () => void }[] = []
        const waiting = new Set<AbortController>()
        let [asked, served, left] = [0, 0, 0]
        const ask = (key: string) => {
          asked += 1
          const patience = new AbortController()
          waiting.add(patience)
          void turns.acquire(key, patience.signal).then((leave) => {
            waiting.delete(patience)
            if (!leave) left += 1
            else {
              served += 1
              running.push({ key, leave })
            }
          })
        }
        for (const each of steps) {
          if (each === 'end') running.shift()?.leave()
          else if (each === 'give up') [...waiting].at(-1)?.abort()
          else ask(each)
          await settled()
          expect(running.length).to.be.at.most(3)
          for (const key of ['a', 'b', 'c']) expect(running.filter((one) => one.key === key).length).to.be.at.most(2)
        }
        while (running.length > 0) {
          running.shift()?.leave()
          await settled()
        }
        expect([served + left, turns.used, waiting.size]).to.deep.equal([asked, 0, 0])
      }),
    )
  })
})

/** Computes without a pause. */
function work(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

describe('time slicing', () => {
  /** Keys in the order of the event loop turns in which they ran. */
  const workInSlices = async (key: string, parts: number, log: string[]) => {
    const slices = createTimeSlicer(key)
    for (let part = 0; part < parts; part++) {
      await slices()
      work(6)
      log.push(key)
    }
  }

  it('runs one slice of long work per turn of the event loop, alternating between keys', async () => {
    const log: string[] = []
    const all = [workInSlices('a', 3, log), workInSlices('a', 3, log), workInSlices('b', 2, log)]
    let isOver = false
    const done = Promise.all(all).then(() => {
      isOver = true
    })
    const seen: number[] = []
    while (!isOver) {
      await nextTurn()
      seen.push(log.length)
    }
    await done
    for (const [turn, count] of seen.entries())
      expect(count - (seen[turn - 1] ?? 0), `slices in turn ${turn}`).to.be.at.most(1)
    expect(log.slice(0, 4)).to.deep.equal(['a', 'b', 'a', 'b'])
    expect(log).to.have.length(8)
  })

  it('combines as many small parts as fit into a slice', async () => {
    const slices = createTimeSlicer('a')
    let isOver = false
    const done = (async () => {
      for (let part = 0; part < 1_000; part++) await slices()
      isOver = true
    })()
    let turns = 0
    while (!isOver) {
      await nextTurn()
      turns += 1
    }
    await done
    expect(turns).to.be.below(100)
  })
})
