import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { createQueue, type Queue } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import { allowNoStrayRejections } from './stray-rejections.ts'

interface Item {
  companyId: number
  invocations: readonly null[]
  name: string
}

/** Running group, ended by the test. */
interface Running {
  readonly names: string[]
  readonly companies: Set<number>
  end(): Promise<void>
  fail(): Promise<void>
}

const item = (companyId: number, name: string, size = 1): Item => ({
  companyId,
  name,
  invocations: Array.from({ length: size }, () => null),
})

/** Waits until everything due in this turn of the event loop and the next has run. */
const settled = async (): Promise<void> => {
  await turn()
  await turn()
}

describe('command queue', () => {
  let running: Running[]
  let queue: Queue<Item>

  const start = (limits = {}): void => {
    running = []
    queue = createQueue<Item>(
      { groupCommands: 32, lanes: 2, largeLanes: 1, waitingCommands: 100, ...limits },
      (group) => {
        return new Promise((resolve, reject) => {
          const leave = (settle: () => void) => () => {
            running.splice(running.indexOf(me), 1)
            settle()
            return settled()
          }
          const me: Running = {
            names: group.map(({ name }) => name),
            companies: new Set(group.map(({ companyId }) => companyId)),
            end: leave(resolve),
            fail: leave(() => reject(new Error('a bug in a group'))),
          }
          running.push(me)
        })
      },
    )
  }
  const push = async (...items: Item[]): Promise<void> => {
    for (const each of items) queue.push(each)
    await settled()
  }
  const groups = (): string[][] => running.map(({ names }) => names)
  const first = (): Running => running[0] as Running
  const range = (count: number, prefix = ''): string[] => Array.from({ length: count }, (_, n) => `${prefix}${n}`)

  allowNoStrayRejections()
  beforeEach(() => start())

  it('groups requests that arrive in one tick: one of each company, then the next of each', async () => {
    await push(item(1, 'a'), item(2, 'b'), item(1, 'c'), item(3, 'd'))
    expect(groups()).to.deep.equal([['a', 'b', 'd', 'c']])
  })

  it('alternates between companies, so that a busy one does not fill the groups of others [OPS-60]', async () => {
    start({ lanes: 1 })
    await push(item(1, 'under way'))
    const many = range(100, 'a')
    await push(...many.slice(0, 40).map((name) => item(2, name)), item(3, 'b0'), item(3, 'b1'), item(4, 'c0'))
    await first().end()
    expect(groups()).to.deep.equal([['a0', 'b0', 'c0', 'a1', 'b1', ...many.slice(2, 29)]])
    await first().end()
    expect(groups()).to.deep.equal([many.slice(29, 40)])
  })

  it('groups at most 32 commands', async () => {
    start({ waitingCommands: 1_000 })
    const names = range(70)
    await push(...names.map((name) => item(1, name)))
    expect(groups()).to.deep.equal([names.slice(0, 32)])
    await first().end()
    expect(groups()).to.deep.equal([names.slice(32, 64)])
    await first().end()
    expect(groups()).to.deep.equal([names.slice(64)])
  })

  it('counts the commands of a request, and adds a later request that still fits', async () => {
    await push(item(1, 'a', 20), item(2, 'b', 20), item(3, 'c', 12))
    expect(groups()).to.deep.equal([['a', 'c'], ['b']])
  })

  it('runs a request of more than 32 commands as a group of its own', async () => {
    await push(item(1, 'small'), item(2, 'large', 33), item(3, 'after'))
    expect(groups()).to.deep.equal([['small', 'after'], ['large']])
    start()
    await push(item(1, 'large', 90), item(2, 'after'))
    expect(groups()).to.deep.equal([['after'], ['large']])
  })

  it('runs two groups at once, only over disjoint companies', async () => {
    await push(item(1, 'a'), item(2, 'b'))
    await push(item(1, 'c'), item(3, 'd'), item(2, 'e'), item(4, 'f'))
    expect(groups()).to.deep.equal([
      ['a', 'b'],
      ['d', 'f'],
    ])
    await push(item(5, 'g'))
    expect(groups(), 'no third lane').to.have.length(2)
    await first().end()
    expect(groups()).to.deep.equal([
      ['d', 'f'],
      ['c', 'e', 'g'],
    ])
  })

  it('never lets a later request of a company overtake an earlier one, even if only the later one fits', async () => {
    await push(item(1, 'a', 30), item(2, 'b1', 10), item(2, 'b2', 1), item(3, 'c', 1))
    expect(groups()).to.deep.equal([
      ['a', 'c'],
      ['b1', 'b2'],
    ])
    start({ lanes: 1 })
    await push(item(1, 'a', 30), item(2, 'b1', 10), item(2, 'b2', 1))
    expect(groups()).to.deep.equal([['a']])
  })

  it('small requests do not wait for large ones, which have their own lane [OPS-60]', async () => {
    start({ lanes: 1, waitingCommands: 10_000 })
    await push(item(1, 'large 1', 500), item(1, 'small after large'), item(1, 'large 2', 500), item(2, 'large 3', 500))
    expect(groups()).to.deep.equal([['large 1']])
    await push(item(3, 'small'))
    expect(groups()).to.deep.equal([['large 1'], ['small']])
    await first().end()
    expect(groups(), 'the companies in turns, each in order').to.deep.equal([['small'], ['large 3']])
    await first().end()
    expect(groups()).to.deep.equal([['large 3'], ['small after large']])
    await first().end()
    await first().end()
    expect(groups()).to.deep.equal([['large 2']])
  })

  it('starts the next group as soon as a lane is free, with all requests that arrived meanwhile', async () => {
    await push(item(1, 'a'))
    await push(item(1, 'b'))
    await push(item(1, 'c'), item(1, 'd'))
    expect(groups()).to.deep.equal([['a']])
    await first().end()
    expect(groups()).to.deep.equal([['b', 'c', 'd']])
  })

  it('refuses requests beyond the share of their company as unavailable, and no others [HTTP-13, OPS-60]', async () => {
    await push(item(1, 'under way'))
    await push(item(1, 'a', 30), item(1, 'b', 20))
    expect(() => queue.push(item(1, 'c'))).to.throw(Unavailable)
    expect([queue.used, queue.refused]).to.deep.equal([50, 1])
    await push(item(2, 'd', 31))
    expect(groups()).to.deep.equal([['under way'], ['d']])
    await first().end()
    expect(groups()).to.deep.equal([['d'], ['a']])
    await push(item(1, 'f'))
    expect(queue.used).to.equal(21)
  })

  it('accepts a request larger than the limit if the queue is empty', async () => {
    await push(item(1, 'large', 500))
    expect(groups()).to.deep.equal([['large']])
  })

  it('counts a request without commands as one, which bounds their number', () => {
    for (const name of range(50)) queue.push(item(1, name, 0))
    expect(() => queue.push(item(1, 'one more', 0))).to.throw(Unavailable)
  })

  it('is idle only when nothing is queued or under way', async () => {
    await queue.idle()
    for (const each of [item(1, 'a'), item(1, 'b', 32)]) queue.push(each)
    let idle = 0
    const waited = [queue.idle(), queue.idle()].map((promise) => promise.then(() => (idle += 1)))
    await settled()
    await first().end()
    expect(groups()).to.deep.equal([['b']])
    expect(idle).to.equal(0)
    await first().end()
    await Promise.all(waited)
    await queue.idle()
  })

  it('continues after a failed group', async () => {
    await push(item(1, 'a'))
    await push(item(1, 'b'))
    await first().fail()
    expect(groups()).to.deep.equal([['b']])
    const idle = queue.idle()
    await first().fail()
    await idle
    await push(item(1, 'c'))
    expect(groups()).to.deep.equal([['c']])
  })

  it('continues after a group that could not start', async () => {
    const ran: string[] = []
    const broken = createQueue<Item>({ groupCommands: 1, lanes: 1, largeLanes: 1, waitingCommands: 100 }, ([each]) => {
      ran.push((each as Item).name)
      throw new Error('a bug before the first await')
    })
    for (const name of ['a', 'b', 'c']) broken.push(item(1, name))
    await broken.idle()
    expect(ran).to.deep.equal(['a', 'b', 'c'])
  })

  it('runs each of randomly arriving requests once, in order per company', async () => {
    const arrival = fc.record({
      company: fc.integer({ min: 1, max: 4 }),
      size: fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 0, max: 8 }) }, fc.integer({ min: 9, max: 60 })),
    })
    const step = fc.oneof(
      arrival,
      fc.constant('turn' as const),
      fc.constant('end' as const),
      fc.constant('fail' as const),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        start({ waitingCommands: 10_000 })
        const pushed: Item[] = []
        const ran: string[] = []
        const check = (): void => {
          for (const { companies } of running) {
            for (const other of running) {
              if (other.companies !== companies)
                expect([...companies].filter((id) => other.companies.has(id))).to.deep.equal([])
            }
          }
          expect(running.length).to.be.at.most(3)
        }
        const end = async (how: 'end' | 'fail'): Promise<void> => {
          const group = running.at(-1)
          if (!group) return
          ran.push(...group.names)
          await group[how]()
          check()
        }
        for (const each of steps) {
          if (each === 'turn') await settled()
          else if (each === 'end' || each === 'fail') await end(each)
          else {
            pushed.push(item(each.company, `${pushed.length}`, each.size))
            queue.push(pushed.at(-1) as Item)
          }
        }
        await settled()
        while (running.length > 0) await end('end')
        await queue.idle()
        const byCompany = (names: readonly string[], id: number) =>
          names.filter((name) => pushed[Number(name)]?.companyId === id)
        for (const id of [1, 2, 3, 4]) {
          expect(byCompany(ran, id)).to.deep.equal(byCompany(range(pushed.length), id))
        }
      }),
    )
  })
})
