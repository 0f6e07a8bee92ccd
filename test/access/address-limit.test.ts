import { expect } from 'chai'
import { createAddressLimit } from '#access/minute-limit.ts'

describe('rate limit per address', () => {
  it('counts down, then refuses until the minute is over [RATE-5]', async () => {
    const limit = createAddressLimit({ perMinute: 2 })
    const earliest = Math.ceil(Date.now() / 1000) + 60
    const answers = [
      await limit.consume('192.0.2.1'),
      await limit.consume('192.0.2.1'),
      await limit.consume('192.0.2.1'),
    ]
    expect(answers.map(({ limited, remaining }) => [limited, remaining])).to.deep.equal([
      [false, 1],
      [false, 0],
      [true, 0],
    ])
    for (const answer of answers) {
      expect(answer.limit).to.equal(2)
      expect(answer.reset).to.be.within(earliest, earliest + 5)
      expect(answer.retryAfter).to.be.within(55, 60)
    }
  })

  it('counts every address separately [RATE-5]', async () => {
    const limit = createAddressLimit({ perMinute: 1 })
    expect(await limit.consume('192.0.2.1')).to.include({ limited: false })
    expect(await limit.consume('192.0.2.2')).to.include({ limited: false })
    expect(await limit.consume('192.0.2.1')).to.include({ limited: true })
  })

  for (const [first, second, together] of [
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true],
    ['2001:db8::1', '2001:db8:0:0:5:6:7:8', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['::1', '1::', false],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
    ['::ffff:192.0.2.1', '192.0.2.1', true],
    ['192.0.2.1:4711', '192.0.2.1:4712', true],
    ['192.0.2.1:4711', '192.0.2.2:4711', false],
    ['[2001:db8:1:2::1]:4711', '2001:db8:1:2::2', true],
    ['[2001:db8:1:2::1]', '[2001:db8:1:3::1]', false],
  ] as const) {
    it(`counts ${first} and ${second} ${together ? 'together' : 'apart'}`, async () => {
      const limit = createAddressLimit({ perMinute: 1 })
      await limit.consume(first)
      expect(await limit.consume(second)).to.include({ limited: together })
    })
  }

  it('drops only the oldest address if there are too many', async () => {
    const limit = createAddressLimit({ perMinute: 1, known: 3 })
    for (const address of ['a', 'b', 'c', 'd']) await limit.consume(address)
    expect(await limit.consume('b')).to.include({ limited: true })
    expect(await limit.consume('a')).to.include({ limited: false })
  })

  it('counts concurrent requests exactly', async () => {
    const limit = createAddressLimit({ perMinute: 5 })
    const answers = await Promise.all(Array.from({ length: 9 }, () => limit.consume('192.0.2.1')))
    expect(answers.filter(({ limited }) => limited)).to.have.length(4)
  })
})
