import { expect } from 'chai'
import type pg from 'pg'
import type { Share } from '#postgres/supervision.ts'
import { supervise } from '#postgres/supervision.ts'
import { until } from '../support/wait.ts'

/** A share that is lost on command. */
function fakeShare(pid: number): { share: Share; lose: () => void } {
  let lose = () => {}
  const lost = new Promise<void>((resolve) => {
    lose = resolve
  })
  return { share: { session: {} as pg.Client, pid, port: 1, lost }, lose }
}

describe('supervision of the embedded Postgres', () => {
  let troubles: string[]
  let givenUp: number

  beforeEach(() => {
    troubles = []
    givenUp = 0
  })
  const watch = (first: Share, again: (signal: AbortSignal) => Promise<Share>, attempts = 3, steady_ms = 60_000) =>
    supervise(first, {
      again,
      onTrouble: (message) => troubles.push(message),
      onGivenUp: () => {
        givenUp += 1
      },
      attempts,
      steady_ms,
    })

  it('starts the server again when the share is lost, and hands the new share out in the end', async () => {
    const [first, second] = [fakeShare(1), fakeShare(2)]
    let starts = 0
    const supervision = watch(first.share, async () => {
      starts += 1
      return second.share
    })
    first.lose()
    await until(() => starts === 1)
    expect(await supervision.stop()).to.equal(second.share)
    expect(troubles).to.deep.equal(['the embedded Postgres was lost, and is started again'])
  })

  it('tries a number of times, says why not, and gives up once [OPS-10]', async () => {
    const first = fakeShare(1)
    let starts = 0
    const supervision = watch(first.share, async () => {
      starts += 1
      throw new Error('no space left on device')
    })
    first.lose()
    await until(() => givenUp > 0)
    expect(starts).to.equal(3)
    expect(troubles.slice(1)).to.deep.equal([
      ...Array.from({ length: 3 }, () => 'the embedded Postgres could not be started again'),
      'the embedded Postgres is given up',
    ])
    expect(await supervision.stop()).to.equal(null)
    expect(givenUp).to.equal(1)
  })

  it('gives a server up that comes up and is lost again each time, but not one that was well for a while [OPS-10]', async () => {
    const flapping = async () => {
      const { share, lose } = fakeShare(2)
      setImmediate(lose)
      return share
    }
    const first = fakeShare(1)
    first.lose()
    const doomed = watch(first.share, flapping, 2)
    await until(() => givenUp === 1)
    await doomed.stop()

    let starts = 0
    const steady = watch(
      first.share,
      () => {
        starts += 1
        return flapping()
      },
      2,
      0,
    )
    await until(() => starts > 2)
    await steady.stop()
    expect(givenUp).to.equal(1)
  })

  it('ends an attempt that is under way when it is told to stop, and starts nothing any more', async () => {
    const first = fakeShare(1)
    let attempt: AbortSignal | undefined
    const supervision = watch(
      first.share,
      (signal) =>
        new Promise((_resolve, reject) => {
          attempt = signal
          signal.addEventListener('abort', () => reject(signal.reason))
        }),
    )
    first.lose()
    await until(() => attempt)
    expect(await supervision.stop()).to.equal(null)
    expect(troubles).to.have.length(1)
    expect(givenUp).to.equal(0)
  })
})
