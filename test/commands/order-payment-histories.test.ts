import { expect } from 'chai'
import fc from 'fast-check'
import { startPayment } from '#commands/order-attempts.ts'
import { recordPayment } from '#commands/order-payment-command.ts'
import { type OrderObject, type OrderRow, orderById } from '#projections/orders.ts'
import { attemptId, companyRegistered, orderPlaced, storeCreated } from '../support/facts.ts'
import { given, type Scenario } from '../support/given.ts'
import { explore } from '../support/random.ts'

/** Statuses of one payment at the provider, in order. */
const life = fc.constantFrom<readonly string[]>(
  ['pending'],
  ['rejected'],
  ['approved'],
  ['pending', 'in_process', 'approved'],
  ['pending', 'cancelled'],
  ['pending', 'approved', 'refunded'],
  ['authorized', 'approved', 'in_mediation_of_a_new_kind', 'charged_back'],
)

/**
 * Reports of payments: repeated, late, lost, or earlier than the provider's response; at the end the last one of each.
 */
const story = fc.array(life, { minLength: 1, maxLength: 3 }).chain((lives) =>
  fc.record({
    lives: fc.constant(lives),
    news: fc.array(
      fc.record({ of: fc.nat({ max: lives.length - 1 }), at: fc.nat({ max: 3 }), isNamed: fc.boolean() }),
      { maxLength: 12 },
    ),
    last: fc.shuffledSubarray([...lives.keys()], { minLength: lives.length }),
  }),
)

const OURS: Readonly<Record<string, string>> = {
  pending: 'pending',
  rejected: 'failed',
  approved: 'paid',
  cancelled: 'cancelled',
  refunded: 'refunded',
  charged_back: 'refunded',
}

const rowOf = async (scenario: Scenario): Promise<OrderRow> =>
  (await scenario.rows(orderById(1))).get(orderById(1)) as OrderRow

/** Invariants of an order at any time. */
function expectSound({ doc, carrying_payment_id, status }: OrderRow): void {
  expect(doc.status).to.equal(status)
  expect(carrying_payment_id !== null).to.equal(status === 'paid')
  const carrier = doc.payments.find((payment) => payment.provider_payment_id === carrying_payment_id)
  if (carrying_payment_id !== null) expect(carrier).to.include({ status: 'paid' })
  if (status === 'paid') {
    expect(doc.payment).to.deep.equal(carrier)
    expect(doc.commission).to.include({ amount: '5.00', store_amount: '95.00', reversed_at: null })
    expect(doc).to.include({ refunded_at: null }).and.to.have.property('released_at').that.is.a('string')
  } else if (doc.commission) expect(doc.commission.reversed_at).to.be.a('string')
  expect(doc.refunded_at !== null).to.equal(status === 'refunded')
}

const together = (statuses: readonly string[]) =>
  ['paid', 'pending', 'refunded'].find((status) => statuses.includes(status)) ?? statuses.at(-1)

describe('payments of an order, reported in any order,', () => {
  it('end in the provider’s final state, consistent at every step, and then record nothing more [ORDER-8]', async () => {
    await explore(
      fc.asyncProperty(story, async ({ lives, news, last }) => {
        const scenario = await given(companyRegistered(), storeCreated(), orderPlaced())
        for (const [of] of lives.entries()) {
          const attempt = { id: 1, attempt_id: attemptId(of), idempotency_key: null, payment_method_id: 'pix' }
          await scenario.when(startPayment, attempt)
        }
        const tell = async (of: number, at: number, isNamed: boolean) => {
          const states = lives[of] ?? []
          const decided = await scenario.when(recordPayment, {
            id: 1,
            attempt_id: isNamed ? attemptId(of) : null,
            provider_payment_id: `p${of}`,
            provider_status: states[Math.min(at, states.length - 1)] ?? '',
            status_detail: null,
            live_mode: false,
          })
          expectSound(await rowOf(scenario))
          return decided
        }
        for (const { of, at, isNamed } of news) await tell(of, at, isNamed)
        for (const of of last) await tell(of, Number.POSITIVE_INFINITY, true)
        for (const of of last) (await tell(of, Number.POSITIVE_INFINITY, true)).accepts('unchanged')
        const { payments, status } = (await scenario.show('order/1')) as OrderObject
        const ended = lives.map((states) => OURS[states.at(-1) ?? ''])
        expect(payments).to.have.length(lives.length)
        for (const [of, expected] of ended.entries()) {
          const payment = payments.find(({ provider_payment_id }) => provider_payment_id === `p${of}`)
          expect(payment).to.include({ status: expected, attempt_id: attemptId(of) })
        }
        expect(status).to.equal(together(ended.map(String)))
      }),
      50,
    )
  })
})
