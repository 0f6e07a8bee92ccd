import { expect } from 'chai'
import { createSlots } from '#lib/semaphore.ts'

const never = new AbortController().signal

describe('slots', () => {
  it('are given in the order of asking, and each only once', async () => {
    const slots = createSlots({ running: 1, waiting: 5 })
    const order: string[] = []
    const first = await slots.take(never)
    const others = ['a', 'b', 'c'].map(async (name) => {
      const release = await slots.take(never)
      order.push(name)
      release?.()
    })
    expect(order).to.deep.equal([])
    first?.()
    await Promise.all(others)
    expect(order).to.deep.equal(['a', 'b', 'c'])
    expect(await slots.take(never)).to.be.a('function')
  })

  it('are refused when too many wait', async () => {
    const slots = createSlots({ running: 1, waiting: 0 })
    const release = await slots.take(never)
    expect(await slots.take(never)).to.equal(null)
    release?.()
    expect(await slots.take(never)).to.be.a('function')
  })

  it('are not kept for who has stopped waiting', async () => {
    const slots = createSlots({ running: 1, waiting: 2 })
    const release = await slots.take(never)
    const patience = new AbortController()
    const impatient = slots.take(patience.signal)
    const patient = slots.take(never)
    patience.abort()
    expect(await impatient).to.equal(null)
    release?.()
    expect(await patient).to.be.a('function')
    expect(await slots.take(patience.signal)).to.equal(null)
  })
})
