import { expect } from 'chai'
import { type AttemptOutcome, EndpointLanes } from '#webhooks/delivery-leases.ts'

describe('endpoint concurrency limit', () => {
  /** Attempts that end on demand, with lists of started and cancelled ones by number. */
  const attempting = () => {
    const lanes = new EndpointLanes()
    const ends = new Map<number, (outcome: AttemptOutcome) => void>()
    const [begun, givenUp]: [number[], number[]] = [[], []]
    const enter = (endpoint: string, number: number) =>
      lanes.enter(endpoint, async (isGivenUp) => {
        ;(isGivenUp ? givenUp : begun).push(number)
        return isGivenUp ? null : new Promise((resolve) => ends.set(number, resolve))
      })
    const end = async (number: number, outcome: AttemptOutcome) => {
      ends.get(number)?.(outcome)
      await new Promise((resolve) => setImmediate(resolve))
    }
    return { lanes, begun, givenUp, enter, end }
  }
  const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

  it('runs 32 attempts per endpoint and queues the others in order [HOOK-22]', async () => {
    const { begun, enter, end } = attempting()
    for (const number of numbers(1, 40)) void enter('1/1', number)
    void enter('1/2', 100)
    expect(begun).to.deep.equal([...numbers(1, 32), 100])
    await end(7, true)
    expect(begun.slice(33)).to.deep.equal([33])
  })

  it('runs one attempt at a time after a failure, and the full number after a success', async () => {
    const { begun, enter, end } = attempting()
    for (const number of numbers(1, 70)) void enter('1/1', number)
    await end(1, false)
    for (const number of numbers(2, 32)) await end(number, false)
    expect(begun).to.deep.equal(numbers(1, 33))
    await end(33, true)
    expect(begun).to.deep.equal(numbers(1, 65))
  })

  it('cancels queued attempts, but none that has started', async () => {
    const { lanes, begun, givenUp, enter, end } = attempting()
    const entered = numbers(1, 34).map((number) => enter('1/1', number))
    void enter('1/2', 100)
    lanes.giveUp(['1/1', '1/9'])
    expect(givenUp).to.deep.equal([33, 34])
    await Promise.all(entered.slice(32))
    for (const number of numbers(1, 32)) await end(number, true)
    await Promise.all(entered)
    expect(begun).to.deep.equal([...numbers(1, 32), 100])
  })
})
