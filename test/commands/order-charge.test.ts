import { expect } from 'chai'
import { completeRefund, requestRefund, startPayment } from '#commands/order-attempts.ts'
import { ChargeReceivableInput, chargeReceivable, keepSurplus } from '#commands/order-charge.ts'
import { deliverOrder, dispatchOrder } from '#commands/order-commands.ts'
import { type RecordPaymentInput, recordPayment } from '#commands/order-payment-command.ts'
import { deleteReceivable, payReceivable, reverseReceivablePayment } from '#commands/receivables-payables.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/command.ts'
import type { ReceivableObject } from '#projections/finance.ts'
import type { OrderObject } from '#projections/orders.ts'
import { creditByCustomer, getCreditBalance } from '#projections/store-credit.ts'
import {
  attemptId,
  companyRegistered,
  customerCreated,
  orderPlaced,
  paymentTypeCreated,
  receivableCreated,
  receivablePaid,
  storeCreated,
} from '../support/facts.ts'
import { FIRST_NEW_ID, given, type Scenario } from '../support/given.ts'

const ana = { customer_id: 4, customer_external_id: null, customer_name: 'Ana' }
const shop = [
  companyRegistered(),
  storeCreated(),
  paymentTypeCreated({
    ...{ id: 4, name: 'Loja online', kind: 'online' },
    ...{ acquirer_rate: '2.00', settles_in_days: 1 },
  }),
  customerCreated({ id: 4, phone: '11987654321' }),
  receivableCreated(ana),
]
const charge = orderPlaced({ receivable_id: 1 })

const told = (n: number, provider_status: string, rest: Partial<RecordPaymentInput> = {}): RecordPaymentInput => ({
  ...{ id: 1, attempt_id: null, provider_payment_id: `p${n}`, provider_status, status_detail: null },
  live_mode: false,
  ...rest,
})
const report = (scenario: Scenario, n: number, status: string, rest: Partial<RecordPaymentInput> = {}) =>
  scenario.when(recordPayment, told(n, status, rest))
const eventsOf = ({ decision }: Awaited<ReturnType<typeof report>>): readonly NewEvent[] =>
  'events' in decision ? decision.events : []
const typesOf = (decided: Awaited<ReturnType<typeof report>>) => eventsOf(decided).map(({ type }) => type)
const accountIn = async (scenario: Scenario) => (await scenario.show('receivable/1')) as ReceivableObject
const orderIn = async (scenario: Scenario) => (await scenario.show('order/1')) as OrderObject
const standing = async (scenario: Scenario) =>
  (await accountIn(scenario)).payments
    .filter(({ reversed_at }) => reversed_at === null)
    .map(({ amount, excess, received, order_id }) => ({ amount, excess, received, order_id }))

describe('charge of a receivable', () => {
  it('is an order over what is open, for its customer, without goods [ORDER-1255]', async () => {
    const part = receivablePaid(1, { amount: '30.00' })
    const scenario = await given(...shop, part)
    const decided = await scenario.when(chargeReceivable, { id: 1, store_alias: 'padaria-ipe' })
    const line = { catalog_item_id: null, external_id: null, description: 'Aluguel', quantity: '1.000' }
    decided.accepts(
      'created',
      orderPlaced({
        id: FIRST_NEW_ID,
        customer: { id: 4, external_id: null, name: 'Ana', email: null, document: null, phone: '11987654321' },
        items: [{ ...line, unit_price: '70.00', total: '70.00' }],
        ...{ subtotal: '70.00', total: '70.00', receivable_id: 1 },
      }),
    )
    expect(await scenario.show(`order/${FIRST_NEW_ID}`)).to.include({ delivery_state: null, receivable_id: 1 })
  })

  it('needs something open, a store that is on, and a name [ORDER-1255]', async () => {
    const input = { id: 1, store_alias: 'padaria-ipe' }
    const paid = await (await given(...shop, receivablePaid(1))).when(chargeReceivable, input)
    paid.refuses('already_settled')
    const scenario = await given(...shop, receivableCreated({ id: 2 }))
    const missing = await scenario.when(chargeReceivable, { ...input, id: 9 })
    missing.refuses('not_found')
    const elsewhere = await scenario.when(chargeReceivable, { ...input, store_alias: 'outra' })
    expect(elsewhere.decision).to.include({ refused: 'validation_failed' })
    const unnamed = await scenario.when(chargeReceivable, { ...input, id: 2 })
    expect(unnamed.decision).to.include({ refused: 'validation_failed' })
    const named = await scenario.when(chargeReceivable, { ...input, id: 2, name: 'Bia' })
    expect(named.decision).to.include({ outcome: 'created' })
    for (const wrong of [{ phone: '1' }, { name: '' }, { amount: '1.00' }])
      expect(() => ChargeReceivableInput.parse({ ...input, ...wrong }), JSON.stringify(wrong)).to.throw()
  })

  it('is received with fees when it is paid, without sale or goods [ORDER-1255]', async () => {
    const scenario = await given(...shop, charge)
    const decided = await report(scenario, 1, 'approved')
    expect(typesOf(decided)).to.deep.equal([
      ...['PaymentRecorded', 'CommissionSplit', 'ReceivablePaymentReceived', 'ReceivableSettled', 'OrderPaid'],
    ])
    const receipt = eventsOf(decided)[2]?.data as DataOf<'ReceivablePaymentReceived'>
    expect(receipt).to.deep.include({ id: 1, amount: '100.00', excess: '0.00', order_id: 1 })
    expect(receipt.acquired).to.deep.include({ payment_type_id: 4, acquirer_fee: '2.00' })
    expect(await accountIn(scenario)).to.include({ status: 'settled', open_amount: '0.00' })
    expect(await orderIn(scenario)).to.include({ status: 'paid', sale_id: null, delivery_state: null })
    for (const command of [deliverOrder, dispatchOrder]) {
      const goods = await scenario.when(command, { id: 1 })
      expect(goods.decision).to.include({ refused: 'validation_failed' })
    }
    const again = await report(scenario, 1, 'approved')
    again.accepts('unchanged')
  })

  it('takes no payment once the account owes less: paid, lowered or deleted since [ORDER-1256]', async () => {
    const start = { id: 1, attempt_id: attemptId(1), idempotency_key: null, caller: null, payment_method_id: 'pix' }
    const cases: [string, NewEvent[], boolean][] = [
      ['open', [], true],
      ['paid at the counter', [receivablePaid(1)], false],
      ['paid in part', [receivablePaid(1, { amount: '0.01' })], false],
    ]
    for (const [name, more, isStarted] of cases) {
      const decided = await (await given(...shop, charge, ...more)).when(startPayment, start)
      expect('refused' in decided.decision, name).to.equal(!isStarted)
    }
    const scenario = await given(...shop, charge)
    await scenario.when(deleteReceivable, { id: 1 })
    const gone = await scenario.when(startPayment, start)
    expect(gone.decision).to.include({ refused: 'validation_failed' })
  })

  it('raises an alarm for what the account does not owe any more, as excess of the receipt [ORDER-1256]', async () => {
    for (const [paid, amount, excess] of [
      ['100.00', '0.00', '100.00'],
      ['40.00', '60.00', '40.00'],
    ] as const) {
      const scenario = await given(...shop, charge)
      await scenario.when(payReceivable, { id: 1, amount: paid, payment_method: 'cash' })
      const decided = await report(scenario, 1, 'approved')
      expect(typesOf(decided), paid).to.include('OrderAlarmRaised')
      expect((await orderIn(scenario)).alarms.map(({ code }) => code)).to.deep.equal(['account_overpaid'])
      expect((await standing(scenario))[1]).to.deep.equal({ amount, excess, received: '100.00', order_id: 1 })
      expect(await accountIn(scenario)).to.include({ status: 'settled', open_amount: '0.00' })
    }
  })

  const overpaid = async () => {
    const scenario = await given(...shop, charge)
    await scenario.when(payReceivable, { id: 1, amount: '40.00', payment_method: 'cash' })
    await report(scenario, 1, 'approved')
    return scenario
  }
  const creditIn = async (scenario: Scenario) => getCreditBalance(await scenario.rows(creditByCustomer(4)), 4)

  it('keeps its surplus as store credit of the customer, once, and reads the alarm [ORDER-1344]', async () => {
    const scenario = await overpaid()
    const kept = await scenario.when(keepSurplus, { id: 1 })
    const credit = { customer_id: 4, amount: '40.00' }
    kept.accepts(
      'updated',
      event('OrderSurplusCredited', { id: 1, provider_payment_id: 'p1', credit, credited: '40.00' }),
      event('OrderAlarmAcknowledged', { id: 1, provider_payment_id: 'p1' }),
    )
    const again = await scenario.when(keepSurplus, { id: 1 })
    again.accepts('unchanged')
    expect(await creditIn(scenario)).to.equal('40.00')
    expect((await standing(scenario))[1]).to.include({ amount: '60.00', excess: '40.00', received: '100.00' })
    expect(await orderIn(scenario)).to.deep.include({
      surplus_credit: { provider_payment_id: 'p1', customer_id: 4, amount: '40.00' },
    })
    const refund = { id: 1, refund_id: attemptId(7), idempotency_key: 'k' }
    const all = await scenario.when(requestRefund, { ...refund, amount: '60.01' })
    expect(all.decision, 'what is credit is not refunded too').to.include({ refused: 'validation_failed' })
  })

  it('takes the credit back as far as the money goes back [ORDER-1344]', async () => {
    for (const [refunded, credit, amount, open] of [
      ['60.00', '40.00', '0.00', '60.00'],
      ['80.00', '20.00', '0.00', '60.00'],
      ['100.00', '0.00', null, '60.00'],
    ] as const) {
      const scenario = await overpaid()
      await scenario.when(keepSurplus, { id: 1 })
      await report(scenario, 1, refunded === '100.00' ? 'refunded' : 'approved', { refunded })
      expect(await creditIn(scenario), refunded).to.equal(credit)
      expect((await standing(scenario))[1]?.amount ?? null, refunded).to.equal(amount)
      expect(await accountIn(scenario), refunded).to.include({ open_amount: open })
    }
  })

  it('keeps nothing of a charge without surplus, or whose surplus is on its way back [ORDER-1344]', async () => {
    const paid = await given(...shop, charge)
    await report(paid, 1, 'approved')
    const scenario = await overpaid()
    await scenario.when(requestRefund, { id: 1, refund_id: attemptId(7), idempotency_key: 'k', amount: '100.00' })
    for (const each of [paid, scenario]) {
      const none = await each.when(keepSurplus, { id: 1 })
      expect(none.decision).to.include({ refused: 'validation_failed' })
    }
  })

  it('of which the surplus goes back leaves what covers the account [ORDER-1257]', async () => {
    const scenario = await given(...shop, charge)
    await scenario.when(payReceivable, { id: 1, amount: '40.00', payment_method: 'cash' })
    await report(scenario, 1, 'approved')
    await scenario.when(requestRefund, { id: 1, refund_id: attemptId(7), idempotency_key: 'k', amount: '40.00' })
    await scenario.when(completeRefund, { id: 1, refund_id: attemptId(7), provider_refund_id: 'd' })
    await report(scenario, 1, 'approved', { refunded: '40.00' })
    expect((await standing(scenario))[1]).to.deep.equal({
      ...{ amount: '60.00', excess: '0.00', received: '60.00', order_id: 1 },
    })
    expect(await accountIn(scenario)).to.include({ status: 'settled', open_amount: '0.00' })
    expect((await orderIn(scenario)).alarms).to.have.length(1)
  })

  it('is owed again after a refund or a chargeback, and received again when that is won [ORDER-1257]', async () => {
    const scenario = await given(...shop, charge)
    await report(scenario, 1, 'approved')
    await report(scenario, 1, 'charged_back')
    expect(await accountIn(scenario)).to.include({ status: 'pending', open_amount: '100.00' })
    await report(scenario, 1, 'charged_back', { status_detail: 'reimbursed' })
    expect(await accountIn(scenario)).to.include({ status: 'settled', open_amount: '0.00' })
    await report(scenario, 1, 'refunded')
    expect(await accountIn(scenario)).to.include({ status: 'pending', open_amount: '100.00' })
    expect(await standing(scenario)).to.deep.equal([])
  })

  it('paid twice by its link raises an alarm, and is received once [ORDER-6, ORDER-1257]', async () => {
    const scenario = await given(...shop, charge)
    await report(scenario, 1, 'approved')
    await report(scenario, 2, 'approved')
    expect((await orderIn(scenario)).alarms.map(({ code }) => code)).to.deep.equal(['second_payment'])
    expect(await standing(scenario)).to.have.length(1)
    await report(scenario, 1, 'refunded')
    expect(await standing(scenario)).to.deep.equal([
      { amount: '100.00', excess: '0.00', received: '100.00', order_id: 1 },
    ])
    expect(await accountIn(scenario)).to.include({ status: 'settled' })
  })

  it('is not reversed by hand: its money goes back by the order [ORDER-1257]', async () => {
    const scenario = await given(...shop, charge)
    await report(scenario, 1, 'approved')
    const [payment] = (await accountIn(scenario)).payments
    const reversed = await scenario.when(reverseReceivablePayment, {
      ...{ id: 1, payment_id: payment?.id ?? 0, reason: 'engano' },
    })
    expect(reversed.decision).to.include({ refused: 'validation_failed' })
  })
})
