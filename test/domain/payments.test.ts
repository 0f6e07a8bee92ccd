import { expect } from 'chai'
import fc from 'fast-check'
import * as z from 'zod'
import { fromCents, MAX_CENTS, toCents } from '#domain/money.ts'
import {
  classifyReport,
  createFormCode,
  createOrderToken,
  decideOrderStatus,
  disputeAfter,
  findCarrier,
  isFormCode,
  isOrderToken,
  ORDER_STATUSES,
  type OrderStatus,
  type PaymentLinks,
  type PaymentState,
  parseOrderToken,
  readStatus,
  toPaymentUrl,
} from '#domain/order-states.ts'
import {
  detailRefusedOnCash,
  instalmentAmounts,
  instalmentDates,
  paymentDetailsShape,
  shareInOrder,
  sumReceived,
  toPaymentDetails,
  uploadedDetailsShape,
} from '#domain/payment-rules.ts'

const sum = (cents: readonly number[]) => cents.reduce((total, each) => total + each, 0)

describe('instalments', () => {
  it('add up to the cent, and differ from the first at most by the rest [ACCT-107]', () => {
    fc.assert(
      fc.property(fc.integer({ min: 120, max: MAX_CENTS }), fc.integer({ min: 1, max: 120 }), (cents, count) => {
        const amounts = instalmentAmounts(fromCents(cents), count).map(toCents)
        expect(sum(amounts)).to.equal(cents)
        expect(amounts).to.have.length(count)
        const [first = 0, ...others] = amounts
        expect(new Set(others).size).to.be.at.most(1)
        for (const other of others) expect(first - other).to.be.within(0, count - 1)
      }),
    )
  })

  it('are due on the same day of each month, or the last one of a shorter month [ACCT-107]', () => {
    expect(instalmentDates('2027-12-31', 4, 'month')).to.deep.equal([
      '2027-12-31',
      '2028-01-31',
      '2028-02-29',
      '2028-03-31',
    ])
    expect(instalmentDates('2026-01-31', 2, 'month')).to.deep.equal(['2026-01-31', '2026-02-28'])
    expect(instalmentDates('9999-11-30', 3, 'month')).to.deep.equal(['9999-11-30', '9999-12-30', '9999-12-31'])
  })

  it('are due every so many days [ACCT-107]', () => {
    expect(instalmentDates('2026-02-20', 3, 10)).to.deep.equal(['2026-02-20', '2026-03-02', '2026-03-12'])
  })
})

describe('a received sum', () => {
  it('covers the first accounts first; the rest stays [PANEL-430]', () => {
    expect(shareInOrder([100, 200, 300], 250)).to.deep.equal([100, 150, 0])
    expect(shareInOrder([100, 200], 500)).to.deep.equal([100, 200])
    expect(shareInOrder([100], 0)).to.deep.equal([0])
  })

  it('is the amount with interest, fine and excess, less the discount [ACCT-102]', () => {
    const amounts = { amount: '100.00', interest: '2.00', fine: '1.00', discount: '13.00', excess: '0.50' }
    expect(sumReceived(amounts)).to.equal(9050)
  })
})

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
    const order = (...statuses: OrderStatus[]) =>
      decideOrderStatus(statuses.map((status, n) => payment(String(n), status)))
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
    expect(decideOrderStatus([], true)).to.equal('cancelled')
    for (const status of ORDER_STATUSES) {
      const expected = status === 'paid' || status === 'refunded' ? status : 'cancelled'
      expect(decideOrderStatus([payment('1', status)], true), status).to.equal(expected)
    }
  })

  it('ignores an attempt that never became a payment [ORDER-5]', () => {
    expect(decideOrderStatus([payment(null, 'failed')])).to.equal('pending')
  })

  it('stays with its carrying payment, and changes to another one when that is refunded [ORDER-5]', () => {
    const [first, second] = [payment('1', 'paid'), payment('2', 'paid')]
    expect(findCarrier([first, second], null)).to.equal(first)
    expect(findCarrier([first, second], '2')).to.equal(second)
    expect(findCarrier([payment('1', 'refunded'), second], '1')).to.equal(second)
    expect(findCarrier([payment('1', 'refunded'), payment(null, 'paid')], '1')).to.equal(null)
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
        expect(decideOrderStatus(heard)).to.equal(weightiest ?? ended.at(-1))
      }),
    )
  })
})

const secret = Buffer.alloc(32, 1)
const order = { id: 57, store_alias: 'minha-loja', provider_reference: 'order-57-a', payments: [], cancelled_at: null }
const links: PaymentLinks = { secret, publicUrl: 'https://tillbook.example' }

describe('payment link of an order', () => {
  const token = createOrderToken(secret, order)

  it('has a deterministic token with two codes of 132 bits [ORDER-30]', () => {
    expect(token).to.match(/^57-[A-Za-z0-9_-]{44}$/)
    expect(createOrderToken(secret, { ...order })).to.equal(token)
    expect(parseOrderToken(secret, 'minha-loja', token)).to.equal(57)
    expect(isOrderToken(secret, token, order)).to.equal(true)
  })

  it('cannot be forged without the secret, for another store, number or order [ORDER-30, ORDER-32]', () => {
    const others = [
      createOrderToken(Buffer.alloc(32, 2), order),
      createOrderToken(secret, { ...order, store_alias: 'outra' }),
      token.replace('57-', '58-'),
      `${token.slice(0, 10)}${token[10] === 'A' ? 'B' : 'A'}${token.slice(11)}`,
      token.slice(0, -1),
      `${token}A`,
      `0${token}`,
      '57-',
      '',
      'é'.repeat(47),
    ]
    for (const other of others) {
      expect(parseOrderToken(secret, 'minha-loja', other), other).to.equal(null)
      expect(isOrderToken(secret, other, order), other).to.equal(false)
    }
    expect(parseOrderToken(secret, 'outra', token)).to.equal(null)
  })

  it('does not match an order with the same number in a restored database [ORDER-30]', () => {
    const later = { ...order, provider_reference: 'order-57-b' }
    expect(parseOrderToken(secret, 'minha-loja', token)).to.equal(57)
    expect(isOrderToken(secret, token, later)).to.equal(false)
  })

  it('exists while the order can be paid and the service has a public URL', () => {
    expect(toPaymentUrl(links, order)).to.equal(`https://tillbook.example/pagar/minha-loja/${token}`)
    for (const status of ['failed', 'cancelled', 'pending'] as const)
      expect(toPaymentUrl(links, { ...order, payments: [{ provider_payment_id: 'p', status }] })).to.not.equal(null)
    for (const status of ['paid', 'refunded'] as const)
      expect(toPaymentUrl(links, { ...order, payments: [{ provider_payment_id: 'p', status }] })).to.equal(null)
    expect(toPaymentUrl(links, { ...order, cancelled_at: '2026-11-21T08:00:00.000Z' })).to.equal(null)
    expect(toPaymentUrl({ secret, publicUrl: null }, order)).to.equal(null)
  })

  it('has a form code that is not part of it [PAY-41]', () => {
    const code = createFormCode(secret, token)
    expect(token).to.not.include(code)
    expect(isFormCode(secret, token, code)).to.equal(true)
    for (const other of ['', token.slice(-22), createFormCode(secret, `${token}x`)])
      expect(isFormCode(secret, token, other), other).to.equal(false)
  })
})

const schema = z.strictObject(paymentDetailsShape)

const wrongFields = (details: object): string[] =>
  (schema.safeParse(details).error?.issues ?? []).map(({ path }) => path.join('.'))

const CARD = {
  brand: 'visa',
  nsu: '000123',
  authorization: 'A1B2C3',
  installments: 3,
  acquirer_cnpj: '01.027.058/0001-91',
  integrated: true,
} as const

describe('details of a payment', () => {
  it('are optional, each of them', () => {
    expect(toPaymentDetails(schema.parse({}))).to.deep.equal({})
    expect(toPaymentDetails(schema.parse({ card: null, end_to_end_id: null }))).to.deep.equal({})
    expect(toPaymentDetails(schema.parse({ card: {} }))).to.deep.equal({})
    const none = { brand: null, nsu: null, authorization: null, installments: null, acquirer_cnpj: null }
    expect(toPaymentDetails(schema.parse({ card: { integrated: false } }))).to.deep.equal({
      card: { ...none, integrated: false },
    })
  })

  it('have no code where a text stands for none, in uploads too [VAL-910]', () => {
    for (const none of ['', '-', 'N/A', '0', '000000']) {
      const card = { brand: 'visa', nsu: none, authorization: none, acquirer_cnpj: none }
      for (const each of [schema, z.object(uploadedDetailsShape)])
        expect(toPaymentDetails(each.parse({ card, end_to_end_id: none })), none).to.deep.equal({
          card: { ...CARD, nsu: null, authorization: null, acquirer_cnpj: null, installments: null, integrated: null },
        })
    }
  })

  it('keep a card as sent, the CNPJ of the acquirer without punctuation', () => {
    expect(toPaymentDetails(schema.parse({ card: CARD }))).to.deep.equal({
      card: { ...CARD, acquirer_cnpj: '01027058000191' },
    })
    for (const brand of ['visa', 'mastercard', 'elo', 'amex', 'hipercard', 'other'])
      expect(wrongFields({ card: { brand } })).to.deep.equal([])
  })

  for (const [field, value] of [
    ['brand', 'diners'],
    ['nsu', 'x'.repeat(41)],
    ['authorization', 5],
    ['installments', 0],
    ['installments', 100],
    ['installments', 1.5],
    ['installments', '3'],
    ['acquirer_cnpj', '01027058000190'],
    ['integrated', 'sim'],
  ] as const)
    it(`refuse a card with ${field} ${JSON.stringify(value)}`, () => {
      expect(wrongFields({ card: { [field]: value } })).to.deep.equal([`card.${field}`])
    })

  it('refuse unknown fields of API v1, and ignore those of tills', () => {
    expect(wrongFields({ card: { holder: 'Ana' } })).to.deep.equal(['card'])
    expect(z.object(uploadedDetailsShape).parse({ card: { nsu: '1', holder: 'Ana' } })).to.deep.equal({
      card: { nsu: '1' },
    })
  })

  it('have the identifier of a Pix in letters and digits', () => {
    const end_to_end_id = 'E00038166201907261559y6j6mt9l0pi'
    expect(toPaymentDetails(schema.parse({ end_to_end_id }))).to.deep.equal({ end_to_end_id })
    for (const wrong of ['E 1', 'x'.repeat(36), 1])
      expect(wrongFields({ end_to_end_id: wrong })).to.deep.equal(['end_to_end_id'])
  })

  it('are refused on cash, the card first', () => {
    expect(detailRefusedOnCash({ card: { nsu: '1' }, end_to_end_id: 'E1' })?.field).to.equal('card')
    expect(detailRefusedOnCash({ card: null, end_to_end_id: 'E1' })?.field).to.equal('end_to_end_id')
    for (const card of [null, {}, { nsu: null }]) expect(detailRefusedOnCash({ card })).to.equal(null)
  })
})
