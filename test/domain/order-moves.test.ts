import { expect } from 'chai'
import fc from 'fast-check'
import { carrierOf, judge, ORDER_STATUSES, type OrderStatus, orderStatusOf, statusOfProvider } from '#domain/orders.ts'

const payment = (provider_payment_id: string | null, status: OrderStatus) => ({ provider_payment_id, status })

describe('the provider’s statuses', () => {
  for (const [theirs, ours] of [
    ['approved', 'paid'],
    ['pending', 'pending'],
    ['in_process', 'pending'],
    ['authorized', 'pending'],
    ['in_mediation', 'pending'],
    ['rejected', 'failed'],
    ['cancelled', 'cancelled'],
    ['refunded', 'refunded'],
    ['charged_back', 'refunded'],
  ] as const) {
    it(`${theirs} is ${ours} [ORDER-3]`, () => expect(statusOfProvider(theirs)).to.equal(ours))
  }

  it('that were never heard of are none of ours', () => {
    for (const status of ['', 'APPROVED', 'partially_refunded', 'constructor', '__proto__']) {
      expect(statusOfProvider(status), status).to.equal(null)
    }
  })
})

describe('moves of a payment', () => {
  const forward: Readonly<Record<OrderStatus, readonly OrderStatus[]>> = {
    pending: ['failed', 'cancelled', 'paid', 'refunded'],
    failed: ['paid', 'refunded'],
    cancelled: ['paid', 'refunded'],
    paid: ['refunded'],
    refunded: [],
  }

  for (const before of ORDER_STATUSES) {
    it(`from ${before}: ${forward[before].join(', ') || 'none'} [ORDER-4]`, () => {
      for (const told of ORDER_STATUSES) {
        const expected = told === before ? 'duplicate' : forward[before].includes(told) ? 'applied' : 'stale'
        expect(judge(before, told), told).to.equal(expected)
      }
    })
  }

  it('begin anywhere: a notification may have been lost', () => {
    for (const told of ORDER_STATUSES) expect(judge(null, told)).to.equal('applied')
  })
})

describe('an order and its payments', () => {
  it('is what the weightiest of them is [ORDER-5]', () => {
    expect(orderStatusOf([])).to.equal('pending')
    expect(orderStatusOf([payment('1', 'failed'), payment('2', 'pending')])).to.equal('failed')
    expect(orderStatusOf([payment('1', 'cancelled'), payment('2', 'failed')])).to.equal('cancelled')
    expect(orderStatusOf([payment('1', 'refunded'), payment('2', 'cancelled')])).to.equal('refunded')
    expect(orderStatusOf([payment('1', 'refunded'), payment('2', 'paid')])).to.equal('paid')
  })

  it('is not moved by an attempt that never became a payment [ORDER-5]', () => {
    expect(orderStatusOf([payment(null, 'failed')])).to.equal('pending')
  })

  it('stays with the payment that carries it, and is handed on when that one is given back [ORDER-5]', () => {
    const [first, second] = [payment('1', 'paid'), payment('2', 'paid')]
    expect(carrierOf([first, second], null)).to.equal(first)
    expect(carrierOf([first, second], '2')).to.equal(second)
    expect(carrierOf([payment('1', 'refunded'), second], '1')).to.equal(second)
    expect(carrierOf([payment('1', 'refunded'), payment(null, 'paid')], '1')).to.equal(null)
  })
})

describe('any news in any order', () => {
  /** Lives of payments at the provider: each list is what one payment is, one thing after the other. */
  const life = fc.constantFrom<readonly OrderStatus[]>(
    ['pending'],
    ['failed'],
    ['pending', 'failed'],
    ['pending', 'cancelled'],
    ['paid'],
    ['pending', 'paid'],
    ['pending', 'paid', 'refunded'],
    ['pending', 'failed', 'paid', 'refunded'],
    ['pending', 'cancelled', 'paid'],
  )
  /** Snapshots of payments as they were fetched, in the order in which they are applied: repeated, late, some lost. */
  const story = fc.array(life, { minLength: 1, maxLength: 4 }).chain((lives) =>
    fc.record({
      lives: fc.constant(lives),
      news: fc.array(fc.record({ of: fc.nat({ max: lives.length - 1 }), at: fc.nat({ max: 3 }) }), { maxLength: 20 }),
      last: fc.shuffledSubarray([...lives.keys()], { minLength: lives.length }),
    }),
  )

  it('ends where the provider’s record ends, payment by payment, once the last state of each was told [ORDER-8]', () => {
    fc.assert(
      fc.property(story, ({ lives, news, last }) => {
        const known = new Map<number, OrderStatus>()
        const tell = (of: number, at: number) => {
          const states = lives[of] ?? []
          const told = states[Math.min(at, states.length - 1)] as OrderStatus
          const before = known.get(of) ?? null
          if (judge(before, told) === 'applied') known.set(of, told)
        }
        for (const { of, at } of news) tell(of, at)
        for (const of of last) tell(of, Number.POSITIVE_INFINITY)
        const ended = lives.map((states) => states.at(-1) as OrderStatus)
        expect(lives.map((_, of) => known.get(of))).to.deep.equal(ended)
        const heard = [...known].map(([of, status]) => payment(String(of), status))
        const weightiest = (['paid', 'refunded', 'cancelled', 'failed', 'pending'] as const).find((status) =>
          ended.includes(status),
        )
        expect(orderStatusOf(heard)).to.equal(weightiest)
      }),
    )
  })
})
