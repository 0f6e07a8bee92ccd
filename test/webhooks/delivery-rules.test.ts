import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { decideDeliveryResult, sumEndpointHealth } from '#webhooks/delivery.ts'
import {
  type AttemptOutcome,
  EndpointLanes,
  type InFlightDelivery,
  InFlightLimiter,
  type LeasedDelivery,
} from '#webhooks/delivery-leases.ts'
import {
  type AttemptResult,
  deliveryHeaders,
  isPublicAddress,
  retryDelay_ms,
  type SentAttempt,
  urlProblem,
} from '#webhooks/sender.ts'

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
const result = (of: SentAttempt, given: Partial<LeasedDelivery> = {}) =>
  decideDeliveryResult(claim(given), of, RETRIES, 0)

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
    sumEndpointHealth(results).map(({ webhook_id, succeeded, failing, exhausted }) => ({
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

describe('limiter of attempts in flight', () => {
  const attempt = (webhookId: number, given: Partial<InFlightDelivery> = {}): InFlightDelivery => ({
    endpoint: `1/${webhookId}`,
    failing: false,
    startedAt: 0,
    ...given,
  })

  it('offers the full capacity if nothing is under way', () => {
    expect(new InFlightLimiter().room(0)).to.deep.equal({ sound: 256, strained: 64, busy: {} })
  })

  it('counts attempts by endpoint until their release, which counts once', () => {
    const limiter = new InFlightLimiter()
    const [one, other] = [attempt(7), attempt(7)]
    for (const each of [one, other, attempt(8)]) limiter.take(each)
    expect(limiter.room(0).busy).to.deep.equal({
      '1/7': { attempts: 2, slow: false, strained: false },
      '1/8': { attempts: 1, slow: false, strained: false },
    })
    limiter.release(one)
    limiter.release(one)
    expect(limiter.room(0)).to.deep.include({
      sound: 254,
      busy: {
        '1/7': { attempts: 1, slow: false, strained: false },
        '1/8': { attempts: 1, slow: false, strained: false },
      },
    })
    limiter.release(other)
    expect(limiter.room(0).busy).to.have.keys('1/8')
    expect(limiter.count).to.equal(1)
  })

  it('counts attempts at failing endpoints separately', () => {
    const limiter = new InFlightLimiter()
    for (let endpoint = 1; endpoint <= 64; endpoint++) limiter.take(attempt(endpoint, { failing: true }))
    expect(limiter.room(0)).to.include({ sound: 256, strained: 0 })
  })

  it('returns the capacity of an endpoint that turns out slow', () => {
    const limiter = new InFlightLimiter()
    for (let n = 0; n < 32; n++) limiter.take(attempt(7))
    expect(limiter.room(1_000)).to.include({ sound: 224, strained: 64 })
    const later = limiter.room(1_001)
    expect(later).to.include({ sound: 256, strained: 32 })
    expect(later.busy['1/7']).to.deep.equal({ attempts: 32, slow: true, strained: true })
  })

  it('has a total limit, however many endpoints become slow', () => {
    const limiter = new InFlightLimiter()
    for (let endpoint = 1; endpoint <= 16; endpoint++) for (let n = 0; n < 32; n++) limiter.take(attempt(endpoint))
    expect(limiter.room(2_000)).to.include({ sound: 0, strained: 0 })
  })
})

describe('endpoint concurrency limit', () => {
  /** Attempts that end on demand, with lists of started and cancelled ones by number. */
  const attempting = () => {
    const lanes = new EndpointLanes()
    const ends = new Map<number, (outcome: AttemptOutcome) => void>()
    const [begun, givenUp]: [number[], number[]] = [[], []]
    const enter = (endpoint: string, number: number) =>
      lanes.enter(endpoint, async (isGivenUp) => {
        ;(isGivenUp ? givenUp : begun).push(number)
        return isGivenUp ? null : new Promise((resolve) => ends.set(number, resolve))
      })
    const end = async (number: number, outcome: AttemptOutcome) => {
      ends.get(number)?.(outcome)
      await new Promise((resolve) => setImmediate(resolve))
    }
    return { lanes, begun, givenUp, enter, end }
  }
  const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

  it('runs 32 attempts per endpoint and queues the others in order [HOOK-22]', async () => {
    const { begun, enter, end } = attempting()
    for (const number of numbers(1, 40)) void enter('1/1', number)
    void enter('1/2', 100)
    expect(begun).to.deep.equal([...numbers(1, 32), 100])
    await end(7, true)
    expect(begun.slice(33)).to.deep.equal([33])
  })

  it('runs one attempt at a time after a failure, and the full number after a success', async () => {
    const { begun, enter, end } = attempting()
    for (const number of numbers(1, 70)) void enter('1/1', number)
    await end(1, false)
    for (const number of numbers(2, 32)) await end(number, false)
    expect(begun).to.deep.equal(numbers(1, 33))
    await end(33, true)
    expect(begun).to.deep.equal(numbers(1, 65))
  })

  it('cancels queued attempts, but none that has started', async () => {
    const { lanes, begun, givenUp, enter, end } = attempting()
    const entered = numbers(1, 34).map((number) => enter('1/1', number))
    void enter('1/2', 100)
    lanes.giveUp(['1/1', '1/9'])
    expect(givenUp).to.deep.equal([33, 34])
    await Promise.all(entered.slice(32))
    for (const number of numbers(1, 32)) await end(number, true)
    await Promise.all(entered)
    expect(begun).to.deep.equal([...numbers(1, 32), 100])
  })
})

const secretOf = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`
const OLD = secretOf(1)
const NEW = secretOf(2)
const NOW = Date.parse('2026-03-10T14:30:00.900Z')
const delivery = {
  id: '018f-id',
  event: 'sale.completed',
  revision: 12,
  sequence: 3,
  body: '{"event":"sale.completed"}',
}
const KNOWN = 'sha256=f960cf4d4ba2580fce5720ffb033520c79653f4b0b02d4edc5bdfa1f20203105'
const single = { secret: OLD, next_secret: null, switch_at: null }
const overlap = { secret: OLD, next_secret: NEW, switch_at: '2026-03-11T00:00:00.000Z' }

const signed = (secret: string, body: string) =>
  `sha256=${createHmac('sha256', secret)
    .update(`${Math.floor(NOW / 1000)}.${body}`)
    .digest('hex')}`

describe('headers of a delivery', () => {
  it('are specific to the service, and keyed with the whole text of the secret [HOOK-13]', () => {
    expect(deliveryHeaders(delivery, single, NOW)).to.include({
      'X-Service-Event': 'sale.completed',
      'X-Service-Delivery': '018f-id',
      'X-Service-Timestamp': '1773153000',
      'X-Service-Signature': signed(OLD, delivery.body),
      'X-Service-Revision': '12',
      'X-Service-Sequence': '3',
      'webhook-id': '018f-id',
      'webhook-timestamp': '1773153000',
    })
  })

  it('match a signature that was computed independently [HOOK-13]', () => {
    // printf '1773153000.{"event":"sale.completed"}' | openssl dgst -sha256 -hmac 'whsec_AQEB…AQE='
    expect(deliveryHeaders(delivery, single, NOW)['X-Service-Signature']).to.equal(KNOWN)
  })

  it('have neither revision nor sequence for a test [HOOK-24]', () => {
    const headers = deliveryHeaders({ ...delivery, revision: null, sequence: null }, single, NOW)
    expect(headers).not.to.have.any.keys('X-Service-Revision', 'X-Service-Sequence', 'X-Service-Signature-Next')
  })

  it('contain both signatures during a rotation [HOOK-28]', () => {
    const headers = deliveryHeaders(delivery, overlap, NOW)
    expect(headers).to.include({
      'X-Service-Signature': signed(OLD, delivery.body),
      'X-Service-Signature-Next': signed(NEW, delivery.body),
    })
    expect(headers['webhook-signature']!.split(' ')).to.have.length(2)
  })

  it('are signed with the new secret alone from its effective time on [HOOK-28]', () => {
    const headers = deliveryHeaders(delivery, { ...overlap, switch_at: new Date(NOW).toISOString() }, NOW)
    expect(headers).to.include({ 'X-Service-Signature': signed(NEW, delivery.body) })
    expect(headers).not.to.have.property('X-Service-Signature-Next')
    expect(headers['webhook-signature']!.split(' ')).to.have.length(1)
  })

  it('verify in the public library with the secret, and with either secret during the overlap', () => {
    fc.assert(
      fc.property(fc.json(), fc.uuid(), fc.uint8Array({ minLength: 24, maxLength: 64 }), (body, id, random) => {
        const own = `whsec_${Buffer.from(random).toString('base64')}`
        const now = Date.now()
        const headers = deliveryHeaders({ ...delivery, id, body }, { ...single, secret: own }, now)
        expect(new Webhook(own).verify(body, headers, { jsonParse: false })).to.equal(undefined)
        const both = deliveryHeaders(
          { ...delivery, id, body },
          { ...overlap, secret: own, switch_at: new Date(now + 60_000).toISOString() },
          now,
        )
        for (const secret of [own, NEW]) new Webhook(secret).verify(body, both, { jsonParse: false })
        expect(() => new Webhook(OLD).verify(body, headers)).to.throw()
      }),
    )
  })
})

describe('the target of a webhook', () => {
  describe('urlProblem', () => {
    const accepted = [
      'https://example.com/hooks',
      'https://example.com:8443/a/b?c=d',
      'HTTPS://EXAMPLE.COM',
      'https://caf\u00e9.example/ganchos?x=\u00e7',
      'https://8.8.8.8/',
      'https://[2606:4700::1111]/',
      'https://localhost.example.com/',
      `https://example.com/${'a'.repeat(1980)}`,
    ]
    for (const url of accepted) {
      it(`accepts ${url.slice(0, 60)}`, () => expect(urlProblem(url, false)).to.equal(null))
    }

    const refused: [url: string, problem: RegExp][] = [
      ['', /deve ser uma URL https/],
      ['example.com/hooks', /deve ser uma URL https/],
      ['ftp://example.com', /deve ser uma URL https/],
      ['https://', /deve ser uma URL https/],
      ['https:///example.com', /deve ser uma URL https/],
      ['https:example.com', /deve ser uma URL https/],
      ['https://exa mple.com', /deve ser uma URL https/],
      ['https://example.com/\n', /deve ser uma URL https/],
      ['https://example.com/\0', /deve ser uma URL https/],
      ['https://example.com/\ud800', /deve ser uma URL https/],
      ['https://example.com:99999', /deve ser uma URL https/],
      ['https://example.com:0/', /deve ser uma URL https/],
      ['https://1.2.3.4.5', /deve ser uma URL https/],
      [`https://example.com/${'a'.repeat(1981)}`, /2000 caracteres/],
      ['https://user:secret@example.com', /usuário nem senha/],
      ['https://token@example.com', /usuário nem senha/],
      ['https://example.com/#fragment', /fragmento/],
      ['https://example.com/#', /fragmento/],
      ['http://example.com', /deve usar https/],
      ['https://localhost', /rede privada/],
      ['https://LOCALHOST.', /rede privada/],
      ['https://till.localhost:8443/', /rede privada/],
      ['https://127.0.0.1', /rede privada/],
      ['https://0x7f.1', /rede privada/],
      ['https://2130706433', /rede privada/],
      ['https://0', /rede privada/],
      ['https://169.254.169.254/latest/meta-data', /rede privada/],
      ['https://168.63.129.16/machine?comp=goalstate', /rede privada/],
      ['https://[::1]', /rede privada/],
      ['https://[::ffff:10.0.0.1]', /rede privada/],
    ]
    for (const [url, problem] of refused) {
      it(`refuses ${JSON.stringify(url.slice(0, 60))} [HOOK-3]`, () => expect(urlProblem(url, false)).to.match(problem))
    }

    for (const url of ['http://localhost:3001/hooks', 'http://127.0.0.1', 'https://[::1]:8443', 'http://10.1.2.3'])
      it(`accepts ${url} if private targets are allowed`, () => expect(urlProblem(url, true)).to.equal(null))

    for (const url of [
      'http://a:b@localhost',
      'http://localhost/#a',
      'localhost:3001',
      `http://localhost/${'a'.repeat(2000)}`,
    ])
      it(`still refuses ${url.slice(0, 60)} then`, () => expect(urlProblem(url, true)).to.be.a('string'))
  })

  describe('isPublicAddress', () => {
    const open = [
      '1.1.1.1',
      '8.8.8.8',
      '172.15.0.1',
      '172.32.0.1',
      '100.63.0.1',
      '100.128.0.1',
      '::ffff:8.8.8.8',
      '2001:4860:4860::8888',
      ...['168.63.129.15', '168.63.129.17', '161.25.255.255', '161.27.0.0', '166.7.255.255', '166.12.0.0'],
    ]
    const closed = [
      // Metadata addresses of cloud providers.
      ...['168.63.129.16', '::ffff:168.63.129.16', '64:ff9b::a83f:8110', '161.26.0.10', '166.8.0.1', '166.11.255.254'],
      ...['100.100.100.200', '192.0.0.192', 'fd20:ce::254', 'fd00:a9fe:a9fe::1'],
      ...[
        '0.0.0.0',
        '0.1.2.3',
        '10.0.0.1',
        '100.64.0.1',
        '127.0.0.1',
        '127.255.255.254',
        '169.254.169.254',
        '172.16.0.1',
      ],
      ...['172.31.255.255', '192.0.0.1', '192.0.2.1', '192.168.0.1', '198.18.0.1', '198.51.100.1', '203.0.113.1'],
      ...[
        '224.0.0.1',
        '239.255.255.255',
        '240.0.0.1',
        '255.255.255.255',
        '::',
        '::1',
        '::127.0.0.1',
        '::ffff:127.0.0.1',
      ],
      ...[
        '::ffff:7f00:1',
        '::ffff:0:127.0.0.1',
        '64:ff9b::7f00:1',
        '64:ff9b:1::a00:1',
        'fc00::1',
        'fd00:ec2::254',
        'fe80::1',
      ],
      ...[
        'fec0::1',
        'ff02::1',
        '2001::1',
        '2001:db8::1',
        '2002:7f00:1::',
        '100::1',
        '4000::1',
        'fe80::1%eth0',
        'localhost',
        '',
      ],
    ]
    for (const address of open) it(`${address} is public`, () => expect(isPublicAddress(address)).to.equal(true))
    for (const address of closed)
      it(`${address || 'nothing'} is not public [HOOK-3]`, () => expect(isPublicAddress(address)).to.equal(false))
  })
})
