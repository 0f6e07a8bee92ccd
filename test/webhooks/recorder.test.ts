import { expect } from 'chai'
import { createRecorder } from '#webhooks/delivery.ts'
import { until } from '../support/wait.ts'

describe('a recorder', () => {
  const recording = (record: (items: readonly number[]) => Promise<void>) => {
    const recorded: number[][] = []
    const errors: unknown[] = []
    const recorder = createRecorder<number>({
      record,
      onRecorded: (items) => recorded.push([...items]),
      onError: (error) => errors.push(error),
    })
    return { recorder, recorded, errors }
  }

  it('writes simultaneous results together, and later ones in the next batch', async () => {
    const releases: (() => void)[] = []
    const { recorder, recorded } = recording(() => new Promise((resolve) => releases.push(resolve)))
    const release = async (place: number) => {
      await until(() => releases.length === place)
      releases[place - 1]?.()
      await until(() => recorded.length === place)
    }
    for (const item of [1, 2, 3]) recorder.add(item)
    await until(() => releases.length === 1)
    for (const item of [4, 5]) recorder.add(item)
    await release(1)
    await release(2)
    expect(recorded).to.deep.equal([
      [1, 2, 3],
      [4, 5],
    ])
    recorder.add(6)
    await release(3)
  })

  it('limits the size of a batch', async () => {
    const { recorder, recorded } = recording(async () => {})
    for (let item = 0; item < 600; item++) recorder.add(item)
    await recorder.drain()
    expect(recorded.map((items) => items.length)).to.deep.equal([256, 256, 88])
    expect(recorded.flat()).to.deep.equal(Array.from({ length: 600 }, (_, index) => index))
  })

  it('retries until it succeeds, and loses nothing', async () => {
    let failures = 3
    const { recorder, recorded, errors } = recording(async () => {
      if (failures-- > 0) throw new Error('Connection terminated unexpectedly')
    })
    recorder.add(1)
    await until(() => recorded.length === 1)
    expect(errors).to.have.length(3)
    expect(recorded).to.deep.equal([[1]])
  })

  it('gives up on shutdown if writes keep failing', async () => {
    const { recorder, recorded, errors } = recording(async () => {
      throw new Error('Connection terminated unexpectedly')
    })
    recorder.add(1)
    await recorder.drain()
    expect(errors).to.have.length(3)
    expect(recorded).to.deep.equal([])
  })
})
