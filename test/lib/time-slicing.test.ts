import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { createTimeSlicer } from '#lib/fair-sharing.ts'

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
