import { expect } from 'chai'
import { sparing } from '#service/service-log.ts'

describe('log with deduplication', () => {
  let now = 0
  let written: string[] = []
  const log = sparing(
    (message, _error, fields) => written.push(fields ? `${message} ${JSON.stringify(fields)}` : message),
    () => now,
  )
  const down = new Error('connect ECONNREFUSED')

  beforeEach(() => {
    now += 1_000_000
    written = []
  })

  it('writes an error at once, and counts repetitions for a while [OPS-20]', () => {
    for (let n = 0; n < 5; n++) log('webhooks: leasing failed', down)
    expect(written).to.deep.equal(['webhooks: leasing failed'])
    now += 30_000
    log('webhooks: leasing failed', down)
    expect(written).to.deep.equal(['webhooks: leasing failed', 'webhooks: leasing failed {"repeated":4}'])
  })

  it('writes an error with another cause', () => {
    log('writer: unit of work failed, nothing recorded', down)
    log('writer: unit of work failed, nothing recorded', new TypeError('x is not a function'))
    log('another part failed', down)
    expect(written).to.deep.equal([
      'writer: unit of work failed, nothing recorded',
      'writer: unit of work failed, nothing recorded',
      'another part failed',
    ])
  })

  it('writes every error of a request', () => {
    log('http: request failed', down, { request_id: 'r-1' })
    log('http: request failed', down, { request_id: 'r-2' })
    expect(written).to.deep.equal([
      'http: request failed {"request_id":"r-1"}',
      'http: request failed {"request_id":"r-2"}',
    ])
  })

  it('remembers a bounded number of errors', () => {
    for (let n = 0; n < 1000; n++) log(`complaint ${n}`, down)
    expect(written).to.have.length(1000)
    log('complaint 999', down)
    expect(written).to.have.length(1000)
  })
})
