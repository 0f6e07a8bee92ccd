import { expect } from 'chai'
import { createProgress, formatEstimate, formatProgress } from '#cli/terminal.ts'

describe('progress of a command', () => {
  for (const { shown, ...state } of [
    {
      done: 120_000,
      total: 1_000_000,
      elapsed_ms: 15_000,
      shown: 'events: 120,000 of 1,000,000 (12 %), 8,000 a second, 1 min 50 s left',
    },
    { done: 1, total: 10_000, elapsed_ms: 1_000, shown: 'events: 1 of 10,000 (0 %), 1 a second, 2 h 46 min left' },
    { done: 999, total: 1_000, elapsed_ms: 2_000, shown: 'events: 999 of 1,000 (99 %), 500 a second, 1 s left' },
    { done: 1_010, total: 1_000, elapsed_ms: 2_000, shown: 'events: 1,010 of 1,010 (100 %), 505 a second, 0 s left' },
    { done: 0, total: 5, elapsed_ms: 3_000, shown: 'events: 0 of 5 (0 %), 0 a second' },
    { done: 0, total: 0, elapsed_ms: 0, shown: 'events: 0 of 0 (100 %), 0 a second' },
    { done: 4_200, total: null, elapsed_ms: 2_000, shown: 'events: 4,200, 2,100 a second' },
  ])
    it(`reads "${shown}" [OPS-156]`, () => expect(formatProgress({ unit: 'events', ...state })).to.equal(shown))

  it('is estimated beforehand by a rate that is called an estimate', () => {
    expect(formatEstimate('events', 1_000_000, 4_000)).to.equal(
      'events: 1,000,000, about 4 min 10 s at an estimated 4,000 a second',
    )
  })

  /** A stream that keeps what is written. */
  function createStream(isTTY: boolean) {
    const written: string[] = []
    return { isTTY, write: (text: string) => written.push(text) > 0, text: () => written.join('') }
  }

  /** Output of a step of 40 portions of 100 events, one each half second. */
  function outputOf(isTTY: boolean, isShown: boolean): string {
    let now = 0
    const stream = createStream(isTTY)
    const progress = createProgress({ stream, isShown, clock: () => now })
    progress.begin('events', 4_000, 100)
    for (let n = 0; n < 40; n++) {
      now += 500
      progress.add(100)
      if (n === 10) progress.tell('company 3 is read-only')
    }
    progress.end()
    return stream.text()
  }

  it('is one line on a terminal, which other lines do not break [OPS-156]', () => {
    const lines = outputOf(true, true).split('\n')
    const last = lines.map((line) => line.split('\r\u001b[K').at(-1))
    expect(last).to.deep.equal([
      'events: 4,000, about 40 s at an estimated 100 a second',
      'company 3 is read-only',
      'events: 4,000 of 4,000 (100 %), 200 a second, 0 s left',
      '',
    ])
    expect(lines[2]?.split('\r')).to.have.length.above(20)
  })

  it('is a line now and then elsewhere [OPS-156]', () => {
    expect(outputOf(false, true).split('\n')).to.deep.equal([
      'events: 4,000, about 40 s at an estimated 100 a second',
      'events: 400 of 4,000 (10 %), 200 a second, 18 s left',
      'company 3 is read-only',
      'events: 2,400 of 4,000 (60 %), 200 a second, 8 s left',
      'events: 4,000 of 4,000 (100 %), 200 a second, 0 s left',
      '',
    ])
  })

  it('is not shown with JSON output, nor for a step of less than two seconds [OPS-156]', () => {
    expect(outputOf(true, false)).to.equal('company 3 is read-only\n')
    const stream = createStream(true)
    const progress = createProgress({ stream, isShown: true, clock: () => 0 })
    progress.begin('events', 4_000, 10_000)
    progress.add(4_000)
    progress.end()
    expect(stream.text()).to.equal('')
  })
})
