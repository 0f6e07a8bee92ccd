import { expect } from 'chai'
import { createMinuteLimit } from '#access/minute-limit.ts'

describe('limit of a minute', () => {
  it('tells what the next call would be told, without counting it', async () => {
    const limit = createMinuteLimit({ perMinute: 2, known: 10 })
    for (let n = 0; n < 5; n++) expect(await limit.look('a')).to.include({ limited: false, remaining: 2 })
    await limit.consume('a')
    expect(await limit.look('a')).to.include({ limited: false, remaining: 1 })
    await limit.consume('a')
    const looked = await limit.look('a')
    expect(looked).to.include({ limited: true, remaining: 0 })
    expect(looked.retryAfter).to.be.within(55, 60)
  })

  it('gives a call back, to a minute that has begun', async () => {
    const limit = createMinuteLimit({ perMinute: 1, known: 10 })
    await limit.giveBack('a')
    expect(await limit.consume('a')).to.include({ limited: false })
    await limit.giveBack('a')
    expect(await limit.consume('a')).to.include({ limited: false })
    expect(await limit.consume('a')).to.include({ limited: true })
  })

  it('forgets a key when told to, and no other', async () => {
    const limit = createMinuteLimit({ perMinute: 1, known: 10 })
    for (const key of ['a', 'b']) await limit.consume(key)
    await limit.reset('a')
    expect(await limit.consume('a')).to.include({ limited: false })
    expect(await limit.consume('b')).to.include({ limited: true })
  })
})
