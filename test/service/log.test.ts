import { expect } from 'chai'
import { sparing } from '#service/service-log.ts'

describe('log with deduplication', () => {
  let now = 0
  let written: string[] = []
  const log = sparing(
    (message, _error, requestId) => written.push(requestId ? `${requestId}: ${message}` : message),
    () => now,
  )
  const down = new Error('connect ECONNREFUSED')

  beforeEach(() => {
    now += 1_000_000
    written = []
  })

  it('writes an error at once, and counts repetitions for a while [OPS-20]', () => {
    for (let n = 0; n < 5; n++) log('deliveries could not be taken', down)
    expect(written).to.deep.equal(['deliveries could not be taken'])
    now += 30_000
    log('deliveries could not be taken', down)
    expect(written).to.deep.equal([
      'deliveries could not be taken',
      'deliveries could not be taken (and 4 times before)',
    ])
  })

  it('writes an error with another cause', () => {
    log('a unit of work failed', down)
    log('a unit of work failed', new TypeError('x is not a function'))
    log('another part failed', down)
    expect(written).to.deep.equal(['a unit of work failed', 'a unit of work failed', 'another part failed'])
  })

  it('writes every error of a request', () => {
    log('GET /x failed', down, 'r-1')
    log('GET /x failed', down, 'r-2')
    expect(written).to.deep.equal(['r-1: GET /x failed', 'r-2: GET /x failed'])
  })

  it('remembers a bounded number of errors', () => {
    for (let n = 0; n < 1000; n++) log(`complaint ${n}`, down)
    expect(written).to.have.length(1000)
    log('complaint 999', down)
    expect(written).to.have.length(1000)
  })
})
