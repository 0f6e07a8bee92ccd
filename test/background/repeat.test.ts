import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { coalesce, type Repetition, repeat } from '#lib/background-loops.ts'
import { until } from '../support/wait.ts'

/** Work that ends on command. */
function steps() {
  let runs = 0
  const ends: (() => void)[] = []
  const work = () => {
    runs += 1
    return new Promise<void>((resolve) => ends.push(resolve))
  }
  return { work, end: () => ends.shift()?.(), runs: () => runs }
}

describe('coalesce', () => {
  it('runs once for all requests of one tick, and once more for requests during the run', async () => {
    const { work, end, runs } = steps()
    const demand = coalesce(work)
    for (let n = 0; n < 3; n++) demand.ask()
    expect(runs()).to.equal(0)
    await nextTurn()
    expect(runs()).to.equal(1)
    for (let n = 0; n < 3; n++) demand.ask()
    await nextTurn()
    expect(runs()).to.equal(1)
    end()
    await nextTurn()
    expect(runs()).to.equal(2)
    end()
    await demand.idle()
    await nextTurn()
    expect(runs()).to.equal(2)
  })

  it('merges requests during a rest, which ends early when its signal aborts', async () => {
    let runs = 0
    const ending = new AbortController()
    const demand = coalesce(async () => (runs += 1), { rest_ms: 60_000, signal: ending.signal })
    demand.ask()
    await until(() => runs === 1)
    for (let n = 0; n < 3; n++) demand.ask()
    await nextTurn()
    expect(runs).to.equal(1)
    ending.abort()
    await demand.idle()
    expect(runs).to.equal(2)
  })

  it('is idle before the first request, and starts again afterwards', async () => {
    let runs = 0
    const demand = coalesce(async () => (runs += 1))
    await demand.idle()
    for (let n = 1; n < 4; n++) {
      demand.ask()
      await demand.idle()
      expect(runs).to.equal(n)
    }
  })
})

describe('repeat', () => {
  it('runs at once and again after each wait, after success or failure, until it is stopped', async () => {
    const errors: unknown[] = []
    let runs = 0
    const repetition = await new Promise<Repetition>((resolve) => {
      const started = repeat(
        async () => {
          runs += 1
          if (runs === 3) resolve(started)
          throw new Error(`run ${runs}`)
        },
        () => 1,
        (error) => errors.push((error as Error).message),
      )
    })
    await repetition.stop()
    expect(errors).to.deep.equal(['run 1', 'run 2', 'run 3'])
    repetition.now()
    await nextTurn()
    await nextTurn()
    expect(runs).to.equal(3)
  })

  it('skips the wait on request, and stops after the current run', async () => {
    const { work, end, runs } = steps()
    const repetition = repeat(work, 3_600_000, () => {})
    await nextTurn()
    repetition.now()
    end()
    await nextTurn()
    expect(runs()).to.equal(2)
    let stopped = false
    const stopping = repetition.stop().then(() => (stopped = true))
    await nextTurn()
    expect(stopped).to.equal(false)
    end()
    await stopping
    expect(runs()).to.equal(2)
  })

  it('aborts the signal of the current run on stop, waits for its end, and reports no abort', async () => {
    const errors: unknown[] = []
    let ended = false
    const repetition = repeat(
      async (signal) => {
        try {
          await delay(60_000, undefined, { signal })
        } finally {
          ended = true
        }
      },
      60_000,
      (error) => errors.push(error),
    )
    await nextTurn()
    await repetition.stop()
    expect([ended, errors]).to.deep.equal([true, []])
  })

  it('reports an abort of another signal', async () => {
    const errors: unknown[] = []
    const repetition = repeat(
      () => delay(1, undefined, { signal: AbortSignal.abort() }),
      60_000,
      (error) => errors.push(error),
    )
    await nextTurn()
    await repetition.stop()
    expect(errors).to.have.length(1)
  })
})
