import { expect } from 'chai'
import { DURATION_BOUNDS_MS, healthOfSpan } from '#queries/webhook-queries.ts'

const NOTHING = { failures: 0, last_failure: null }
const failed = (at: string) => ({ at, status: 500, error: 'http_status', delivery_id: '1' })
const span = (...counted: Parameters<typeof healthOfSpan>[0]) => healthOfSpan(counted, 'America/Sao_Paulo')

describe('health of a webhook endpoint', () => {
  it('is null without attempts [HOOK-71]', () => {
    const none = { attempts: 0, failures: 0, success_rate: null, p95_ms: null, last_failure: null }
    expect(span()).to.deep.equal(none)
  })

  it('is 100.00 only without failures [HOOK-71]', () => {
    expect(span({ bucket: 0, attempts: 100_000, ...NOTHING }).success_rate).to.equal('100.00')
    const one = span(
      { bucket: 0, attempts: 99_999, ...NOTHING },
      { bucket: -1, attempts: 1, failures: 1, last_failure: null },
    )
    expect(one).to.include({ attempts: 100_000, failures: 1, success_rate: '99.99' })
    expect(span({ bucket: -1, attempts: 7, failures: 7, last_failure: null }).success_rate).to.equal('0.00')
  })

  it('contains the 95th percentile of response times, without attempts that got no response [HOOK-71]', () => {
    const last = DURATION_BOUNDS_MS.length
    expect(span({ bucket: 0, attempts: 95, ...NOTHING }, { bucket: last, attempts: 5, ...NOTHING }).p95_ms).to.equal(5)
    expect(span({ bucket: 0, attempts: 90, ...NOTHING }, { bucket: 6, attempts: 10, ...NOTHING }).p95_ms).to.equal(88)
    expect(span({ bucket: last, attempts: 1, ...NOTHING }).p95_ms).to.equal(10_000)
    expect(span({ bucket: -1, attempts: 9, failures: 9, last_failure: null }).p95_ms).to.equal(null)
  })

  it('shows the last failure, in the company’s zone', () => {
    const hours = ['2026-11-21T09:00:00.000Z', '2026-11-21T11:00:00.000Z', '2026-11-20T23:00:00.000Z']
    const all = hours.map((at) => ({ bucket: 3, attempts: 1, failures: 1, last_failure: failed(at) }))
    expect(span(...all).last_failure).to.deep.equal({ ...failed('2026-11-21T08:00:00.000-03:00') })
  })
})
