import { expect } from 'chai'
import { createFairShareLimiter } from '#lib/fair-sharing.ts'

/** Total granted to a key that takes all it can. */
function fill(room: ReturnType<typeof createFairShareLimiter>, key: string): number {
  let taken = 0
  while (room.acquire(key, 1)) taken += 1
  return taken
}

describe('fair-share limiter', () => {
  it('grants a key at most as much as it leaves free: half alone, less beside others [OPS-60]', () => {
    const room = createFairShareLimiter(120)
    expect(fill(room, 'a')).to.equal(60)
    expect(fill(room, 'b')).to.equal(30)
    expect(fill(room, 'c')).to.equal(15)
    expect([room.used, room.refused]).to.deep.equal([105, 3])
    room.release('a', 60)
    expect(fill(room, 'c'), 'more again, as soon as others have less').to.equal(30)
  })

  it('grants the first acquisition of a key, and the only call of a key, up to the whole capacity', () => {
    const room = createFairShareLimiter(100)
    expect(room.acquire('a', 70)).to.equal(true)
    expect(room.acquire('a', 1)).to.equal(false)
    expect(room.acquire('a', 10, 70)).to.equal(true)
    expect(room.acquire('b', 21)).to.equal(false)
    expect(room.acquire('b', 20)).to.equal(true)
    expect(room.acquire('a', 1, 80), 'never more than there is').to.equal(false)
  })

  it('can limit each key separately', () => {
    const room = createFairShareLimiter(100, 10)
    expect(fill(room, 'a')).to.equal(10)
    expect(fill(room, 'b')).to.equal(10)
  })
})
