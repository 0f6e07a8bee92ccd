import { expect } from 'chai'
import { createBufferPool } from '#lib/memory.ts'

const MIB = 1_048_576

describe('buffer pool', () => {
  it('provides the requested size, and reuses buffers for similar sizes', () => {
    const blocks = createBufferPool(MIB)
    const block = blocks.take(100_000)
    expect(block.length).to.equal(131_072)
    blocks.giveBack(block)
    expect(blocks.take(65_536).buffer).not.to.equal(block.buffer)
    expect(blocks.take(70_000).buffer).to.equal(block.buffer)
    expect(blocks.take(70_000).buffer).not.to.equal(block.buffer)
  })

  it('refuses a second release, also by a former holder of the memory', () => {
    const blocks = createBufferPool(MIB)
    const block = blocks.take(1)
    blocks.giveBack(block)
    expect(() => blocks.giveBack(block)).to.throw('released twice')
    const next = blocks.take(1)
    expect(next.buffer).to.equal(block.buffer)
    expect(() => blocks.giveBack(block)).to.throw('released twice')
    blocks.giveBack(next)
  })

  it('drops buffers if enough memory is free, and buffers of unusual size', () => {
    const blocks = createBufferPool(MIB)
    const [first, second] = [blocks.take(MIB), blocks.take(MIB)]
    blocks.giveBack(first)
    blocks.giveBack(second)
    expect(blocks.take(MIB).buffer).to.equal(first.buffer)
    expect(blocks.take(MIB).buffer).not.to.equal(second.buffer)
    const large = blocks.take(MIB + 1)
    expect(large.length).to.equal(MIB + 1)
    blocks.giveBack(large)
    expect(blocks.take(MIB + 1).buffer).not.to.equal(large.buffer)
  })
})
