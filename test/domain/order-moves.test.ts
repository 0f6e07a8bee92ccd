import { expect } from 'chai'
import fc from 'fast-check'
import {
  carrierOf,
  classifyReport,
  disputeAfter,
  ORDER_STATUSES,
  type OrderStatus,
  orderStatusOf,
  type PaymentState,
  readStatus,
} from '#domain/order-states.ts'

const payment = (provider_payment_id: string | null, status: OrderStatus) => ({ provider_payment_id, status })

const state = (status: OrderStatus, changes: Partial<PaymentState> = {}): PaymentState => ({
  status,
  dispute: null,
  refundedCents: 0,
  changedAt: null,
  ...changes,
})

describe('statuses of the provider', () => {
  for (const [theirs, ours] of [
    ['approved', 'paid'],
    ['pending', 'pending'],
    ['in_process', 'pending'],
    ['authorized', 'pending'],
    ['in_mediation', 'paid'],
    ['rejected', 'failed'],
    ['cancelled', 'cancelled'],
    ['refunded', 'refunded'],
    ['charged_back', 'refunded'],
  ] as const) {
    it(`${theirs} is ${ours} [ORDER-3]`, () => expect(readStatus(theirs, null)?.status).to.equal(ours))
  }

  it('map unknown ones to null', () => {
    for (const status of ['', 'APPROVED', 'partially_refunded', 'constructor', '__proto__']) {
      expect(readStatus(status, null), status).to.equal(null)
    }
  })

  for (const [status, detail, told] of [
    ['in_mediation', 'pending', { status: 'paid', dispute: 'open' }],
    ['charged_back', 'in_process', { status: 'refunded', dispute: 'open' }],
    ['charged_back', 'settled', { status: 'refunded', dispute: 'lost' }],
    ['charged_back', 'reimbursed', { status: 'paid', dispute: 'won' }],
  ] as const)
    it(`${status} (${detail}) is ${told.status}, with dispute ${told.dispute} [ORDER-14]`, () =>
      expect(readStatus(status, detail)).to.deep.equal(told))
})

describe('transitions of a payment', () => {
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
        expect(classifyReport(state(before), state(told)), told).to.equal(expected)
      }
    })
  }

  it('may skip steps, since notifications can be lost', () => {
    for (const told of ORDER_STATUSES) expect(classifyReport(null, state(told))).to.equal('applied')
  })

  it('only increase refunds, even with late reports [ORDER-11]', () => {
    const part = (refundedCents: number, changedAt: number | null = null) => state('paid', { refundedCents, changedAt })
    expect(classifyReport(part(0), part(100))).to.equal('applied')
    expect(classifyReport(part(100), part(100))).to.equal('duplicate')
    expect(classifyReport(part(200), part(100))).to.equal('stale')
    expect(classifyReport(part(100, 5), part(200, 4))).to.equal('stale')
  })

  it('return from a dispute only if it is won later [ORDER-14]', () => {
    const lost = state('refunded', { dispute: 'lost', changedAt: 5 })
    expect(classifyReport(lost, state('paid', { dispute: 'won', changedAt: 6 }))).to.equal('applied')
    expect(classifyReport(lost, state('paid', { changedAt: 6 }))).to.equal('applied')
    expect(classifyReport(lost, state('paid', { changedAt: 4 }))).to.equal('stale')
    expect(classifyReport(lost, state('paid'))).to.equal('stale')
    expect(classifyReport(state('refunded', { changedAt: 5 }), state('paid', { changedAt: 6 }))).to.equal('stale')
  })

  it('end a mediation for the shop if approved later, and against it if refunded [ORDER-14]', () => {
    const open = state('paid', { dispute: 'open', changedAt: 5 })
    expect(classifyReport(state('paid'), open)).to.equal('applied')
    const [before, after] = [4, 6].map((changedAt) => state('paid', { changedAt })) as [PaymentState, PaymentState]
    expect([classifyReport(open, after), disputeAfter(open, after)]).to.deep.equal(['applied', 'won'])
    expect([classifyReport(open, before), disputeAfter(open, before)]).to.deep.equal(['duplicate', 'open'])
    expect(disputeAfter(open, state('refunded', { changedAt: 6 }))).to.equal('lost')
    expect(classifyReport({ ...open, dispute: 'won' }, open)).to.equal('stale')
  })
})

describe('status of an order with its payments', () => {
  it('is paid while any payment is, else pending, else refunded, else has the last status [ORDER-5]', () => {
    const order = (...statuses: OrderStatus[]) => orderStatusOf(statuses.map((status, n) => payment(String(n), status)))
    expect(order()).to.equal('pending')
    expect(order('failed', 'pending')).to.equal('pending')
    expect(order('pending', 'failed')).to.equal('pending')
    expect(order('refunded', 'pending')).to.equal('pending')
    expect(order('cancelled', 'failed')).to.equal('failed')
    expect(order('failed', 'cancelled')).to.equal('cancelled')
    expect(order('refunded', 'cancelled')).to.equal('refunded')
    for (const other of ORDER_STATUSES) {
      expect(order('paid', other), other).to.equal('paid')
      expect(order(other, 'paid'), other).to.equal('paid')
    }
  })

  it('stays cancelled by its store, unless money was received [ORDER-9]', () => {
    expect(orderStatusOf([], true)).to.equal('cancelled')
    for (const status of ORDER_STATUSES) {
      const expected = status === 'paid' || status === 'refunded' ? status : 'cancelled'
      expect(orderStatusOf([payment('1', status)], true), status).to.equal(expected)
    }
  })

  it('ignores an attempt that never became a payment [ORDER-5]', () => {
    expect(orderStatusOf([payment(null, 'failed')])).to.equal('pending')
  })

  it('stays with its carrying payment, and changes to another one when that is refunded [ORDER-5]', () => {
    const [first, second] = [payment('1', 'paid'), payment('2', 'paid')]
    expect(carrierOf([first, second], null)).to.equal(first)
    expect(carrierOf([first, second], '2')).to.equal(second)
    expect(carrierOf([payment('1', 'refunded'), second], '1')).to.equal(second)
    expect(carrierOf([payment('1', 'refunded'), payment(null, 'paid')], '1')).to.equal(null)
  })
})

describe('reports in any order', () => {
  /** Statuses of payments at the provider: one list per payment, in order. */
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
  /** Snapshots of payments in the order of their application: repeated, late, some lost. */
  const story = fc.array(life, { minLength: 1, maxLength: 4 }).chain((lives) =>
    fc.record({
      lives: fc.constant(lives),
      news: fc.array(fc.record({ of: fc.nat({ max: lives.length - 1 }), at: fc.nat({ max: 3 }) }), { maxLength: 20 }),
      last: fc.shuffledSubarray([...lives.keys()], { minLength: lives.length }),
    }),
  )

  it('end in the provider’s final state once the last state of each payment is reported [ORDER-8]', () => {
    fc.assert(
      fc.property(story, ({ lives, news, last }) => {
        const known = new Map<number, OrderStatus>()
        const tell = (of: number, at: number) => {
          const states = lives[of] ?? []
          const told = states[Math.min(at, states.length - 1)] as OrderStatus
          const before = known.get(of) ?? null
          if (classifyReport(before && state(before), state(told)) === 'applied') known.set(of, told)
        }
        for (const { of, at } of news) tell(of, at)
        for (const of of last) tell(of, Number.POSITIVE_INFINITY)
        const ended = lives.map((states) => states.at(-1) as OrderStatus)
        expect(lives.map((_, of) => known.get(of))).to.deep.equal(ended)
        const heard = lives.map((_, of) => payment(String(of), known.get(of) as OrderStatus))
        const weightiest = (['paid', 'pending', 'refunded'] as const).find((status) => ended.includes(status))
        expect(orderStatusOf(heard)).to.equal(weightiest ?? ended.at(-1))
      }),
    )
  })
})
