import { expect } from 'chai'
import { parseRetryAfter_ms } from '#lib/background-loops.ts'

const NOW = Date.parse('1994-11-06T08:48:37Z')

describe('Retry-After', () => {
  for (const [header, ms] of [
    ['0', 0],
    ['120', 120_000],
    [' 120 ', 120_000],
    ['9'.repeat(400), Number.POSITIVE_INFINITY],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 60_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 60_000],
    ['Sun Nov  6 08:49:37 1994', 60_000],
    ['Sun, 06 Nov 1994 08:47:37 GMT', 0],
    ['Fri, 31 Dec 9999 23:59:59 GMT', Date.UTC(9999, 11, 31, 23, 59, 59) - NOW],
    ['', null],
    ['-5', null],
    ['1.5', null],
    ['soon', null],
    ['Sun, 99 Nov 1994 08:49:37 GMT', null],
    ['1994-11-06T08:49:37Z', null],
  ] as const) {
    it(`${JSON.stringify(header.slice(0, 40))} asks for ${ms} ms [HOOK-18]`, () => {
      expect(parseRetryAfter_ms(header, NOW)).to.equal(ms)
    })
  }

  it('is absent, or the first of several [HOOK-18]', () => {
    expect(parseRetryAfter_ms(undefined, NOW)).to.equal(null)
    expect(parseRetryAfter_ms(['7', '9'], NOW)).to.equal(7_000)
  })
})
