import { expect } from 'chai'
import fc from 'fast-check'
import { deliveryResultOf, endpointHealthOf } from '#webhooks/delivery.ts'
import type { LeasedDelivery } from '#webhooks/delivery-leases.ts'
import { type AttemptResult, retryDelay_ms, type SentAttempt } from '#webhooks/sender.ts'

const RETRIES = [60, 300, 1800, 7200, 21_600]
const claim = (given: Partial<LeasedDelivery> = {}) =>
  ({ company_id: 1, webhook_id: 7, watched_since: 'then', sequence: 1, tries: 0, ...given }) as LeasedDelivery
const attempt = (error: AttemptResult['error']): AttemptResult => ({
  at: 'now',
  status: null,
  duration_ms: 1,
  error,
  response: null,
})
const succeeded = attempt(null)
const failed = attempt('timeout')
const result = (of: SentAttempt, given: Partial<LeasedDelivery> = {}) => deliveryResultOf(claim(given), of, RETRIES, 0)

describe('result of an attempt', () => {
  it('retries after 1 minute, 5 minutes, 30 minutes, 2 hours and 6 hours, then gives up [HOOK-18]', () => {
    const results = [0, 1, 2, 3, 4, 5].map((tries) => result(failed, { tries }))
    expect(results.map(({ retry_ms }) => retry_ms)).to.deep.equal([
      60_000,
      300_000,
      1_800_000,
      7_200_000,
      21_600_000,
      null,
    ])
    expect(results.map(({ status }) => status)).to.deep.equal([...Array(5).fill('pending'), 'failed'])
  })

  it('schedules nothing after a success, early or late', () => {
    for (const tries of [0, 3, 5])
      expect(result(succeeded, { tries })).to.include({ status: 'delivered', retry_ms: null })
  })

  it('gives up at once for a test and for an endpoint that is gone', () => {
    expect(result(failed, { sequence: null })).to.include({ status: 'failed', retry_ms: null })
    expect(result(attempt('gone'))).to.include({ status: 'failed', retry_ms: null })
  })

  it('never schedules earlier than planned, and at most a tenth later [HOOK-18]', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (tries, random) => {
          const scheduled = (RETRIES[tries - 1] as number) * 1000
          expect(retryDelay_ms(RETRIES, tries, random)).to.be.within(scheduled, scheduled * 1.1)
        },
      ),
    )
  })
})

describe('a pause that the receiver asks for', () => {
  const pauseAfter = (retry_after_ms: number, tries = 0) =>
    result({ ...attempt('http_status'), status: 429, retry_after_ms }, { tries })

  for (const [asked, tries, waits] of [
    [0, 0, 60_000],
    [59_000, 0, 60_000],
    [120_000, 0, 120_000],
    [300_000, 0, 300_000],
    [86_400_000, 0, 300_000],
    [Number.POSITIVE_INFINITY, 1, 1_800_000],
    [600_000, 2, 1_800_000],
    [Number.POSITIVE_INFINITY, 4, 21_600_000],
  ] as const) {
    it(`of ${asked / 1000} s after attempt ${tries + 1} gives ${waits / 1000} s [HOOK-18]`, () => {
      expect(pauseAfter(asked, tries).retry_ms).to.equal(waits)
    })
  }

  it('adds no attempt, and is not stored [HOOK-18]', () => {
    expect(pauseAfter(1_000, 5)).to.include({ status: 'failed', retry_ms: null })
    expect(pauseAfter(1_000).attempt).to.deep.equal({ ...attempt('http_status'), status: 429 })
  })
})

describe('endpoint health from attempts', () => {
  const say = (...results: ReturnType<typeof result>[]) =>
    endpointHealthOf(results).map(({ webhook_id, succeeded, failing, exhausted }) => ({
      webhook_id,
      succeeded,
      failing,
      exhausted,
    }))

  it('depends on the last attempt', () => {
    const about = { webhook_id: 7 }
    expect(say(result(failed), result(succeeded))).to.deep.equal([
      { ...about, succeeded: true, failing: false, exhausted: false },
    ])
    expect(say(result(succeeded), result(failed))).to.deep.equal([
      { ...about, succeeded: true, failing: true, exhausted: false },
    ])
    expect(say(result(failed, { tries: 5 }), result(failed))).to.deep.equal([
      { ...about, succeeded: false, failing: true, exhausted: true },
    ])
    expect(say(result(failed, { tries: 5 }), result(succeeded))).to.deep.equal([
      { ...about, succeeded: true, failing: false, exhausted: false },
    ])
  })

  it('is reported separately for each endpoint and each generation of it', () => {
    expect(
      say(result(succeeded), result(failed, { webhook_id: 8 }), result(failed, { watched_since: 'later' })),
    ).to.have.length(3)
  })

  it('ignores tests', () => {
    expect(say(result(failed, { sequence: null }), result(succeeded, { sequence: null }))).to.deep.equal([])
  })
})
