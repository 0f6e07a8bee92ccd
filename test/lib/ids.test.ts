import { expect } from 'chai'
import { newId, randomBytesOf } from '#lib/ids.ts'

describe('ids and their random bytes', () => {
  it('are UUIDs of version 7, strictly increasing, also within a millisecond', () => {
    const before = Date.now()
    const ids = Array.from({ length: 20_000 }, newId)
    expect(
      ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)),
    ).to.equal(true)
    expect(ids).to.deep.equal([...new Set(ids)].sort())
    const made = Number.parseInt((ids[0] as string).replaceAll('-', '').slice(0, 12), 16)
    expect(made).to.be.within(before - 1, Date.now() + 1)
  })

  it('are unique, and share no memory with other callers', () => {
    const draws = Array.from({ length: 2_000 }, () => randomBytesOf(32))
    expect(new Set(draws.map((bytes) => bytes.toString('hex'))).size).to.equal(draws.length)
    const [first] = draws as [Buffer]
    const text = first.toString('hex')
    randomBytesOf(32).fill(0)
    expect(first.toString('hex')).to.equal(text)
    expect(draws.every((bytes) => bytes.length === 32 && bytes.some((byte) => byte !== 0))).to.equal(true)
  })
})
