import { expect } from 'chai'
import { cancelSale } from '#commands/cancel-sale.ts'
import { recordFiscalDocument } from '#commands/fiscal-document-commands.ts'
import { completeRefund, requestRefund } from '#commands/order-attempts.ts'
import { type RecordPaymentInput, recordPayment } from '#commands/order-payment-command.ts'
import { acceptRefund } from '#commands/order-settlement.ts'
import { inZone } from '#domain/instant.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/command.ts'
import type { OrderObject } from '#projections/orders.ts'
import type { SaleObject } from '#projections/sales.ts'
import {
  attemptId,
  companyRegistered,
  customerCreated,
  itemCreated,
  orderPlaced,
  paymentTypeCreated,
  saleCompleted,
  stockCounted,
  storeCreated,
} from '../support/facts.ts'
import { FIRST_NEW_ID, given, minute, type Scenario } from '../support/given.ts'

const SALE = FIRST_NEW_ID

const line = (catalog_item_id: number | null, quantity: string, unit_price: string, total: string) => ({
  catalog_item_id,
  external_id: null,
  description: catalog_item_id === null ? 'Cartão de presente' : `Item ${catalog_item_id}`,
  quantity,
  unit_price,
  total,
})

const lines = [
  line(1, '2.000', '30.00', '60.00'),
  line(2, '1.000', '20.00', '20.00'),
  line(null, '1.000', '10.00', '10.00'),
]

/** Item 1 twice, the service 2, and an ad-hoc item: 90.00 and the delivery. */
const placed = (fields: Partial<DataOf<'OrderPlaced'>> = {}) =>
  orderPlaced({
    items: lines,
    subtotal: '90.00',
    delivery_fee: '10.00',
    ...fields,
  })

const shop = (stock = '5.000', registers_sales = true) => [
  companyRegistered(),
  storeCreated({ registers_sales }),
  paymentTypeCreated({ id: 4, name: 'Loja online', kind: 'online' }),
  itemCreated({ id: 1, name: 'Item 1', price: '30.00', stock }),
  itemCreated({ id: 2, name: 'Item 2', price: '20.00', type: 'service' }),
]

const told = (n: number, provider_status: string, rest: Partial<RecordPaymentInput> = {}): RecordPaymentInput => ({
  id: 1,
  attempt_id: null,
  provider_payment_id: `p${n}`,
  provider_status,
  status_detail: null,
  live_mode: false,
  ...rest,
})

const report = (scenario: Scenario, n: number, status: string, rest: Partial<RecordPaymentInput> = {}) =>
  scenario.when(recordPayment, told(n, status, rest))

const eventsOf = ({ decision }: Awaited<ReturnType<typeof report>>): readonly NewEvent[] =>
  'events' in decision ? decision.events : []

const typesOf = (decided: Awaited<ReturnType<typeof report>>): string[] => eventsOf(decided).map(({ type }) => type)

const dataIn = <T>(decided: Awaited<ReturnType<typeof report>>, type: string): T | undefined =>
  eventsOf(decided).find((each) => each.type === type)?.data as T | undefined

const orderIn = async (scenario: Scenario) => (await scenario.show('order/1')) as OrderObject
const saleIn = async (scenario: Scenario, id = SALE) => (await scenario.show(`sale/${id}`)) as SaleObject
const stockIn = async (scenario: Scenario, id = 1) =>
  ((await scenario.show(`catalog_item/${id}`)) as { stock: string | null }).stock

/** Requests and completes a refund with these goods. */
async function giveBack(scenario: Scenario, n: number, amount: string | null, quantity: string | null) {
  const restock = quantity === null ? [] : [{ catalog_item_id: 1, quantity }]
  const asked = await scenario.when(requestRefund, {
    id: 1,
    refund_id: attemptId(n),
    idempotency_key: `k${n}`,
    amount,
    restock,
  })
  expect(asked.decision).to.include({ outcome: 'created' })
  return scenario.when(completeRefund, { id: 1, refund_id: attemptId(n), provider_refund_id: `d${n}` })
}

describe('sale of an order', () => {
  it('registers the sale with the approved payment and the order’s total [ORDER-42]', async () => {
    const scenario = await given(...shop(), placed())
    const decided = await report(scenario, 1, 'approved')
    expect(typesOf(decided)).to.deep.equal(['PaymentRecorded', 'CommissionSplit', 'SaleCompleted', 'OrderPaid'])
    expect(await saleIn(scenario)).to.deep.include({
      order_id: 1,
      external_id: null,
      origin: 'system',
      status: 'completed',
      sold_at: inZone(minute(6), 'America/Sao_Paulo'),
      items: lines.map((each) => ({ ...each, discount: '0.00', discount_share: '0.00', returned: '0.000' })),
      payments: [{ payment_type_id: 4, name: 'Loja online', amount: '100.00', surcharge: '0.00', net: '100.00' }],
      subtotal: '90.00',
      delivery_fee: '10.00',
      total: '100.00',
      change: '0.00',
      refunded_total: '0.00',
      warnings: [],
    })
    expect(await orderIn(scenario)).to.deep.include({
      sale_id: SALE,
      goods_out: [{ catalog_item_id: 1, quantity: '2.000' }],
      alarms: [],
    })
    expect(await stockIn(scenario)).to.equal('3.000')
  })

  it('has the Pix that paid it, and names another sale of the same Pix [SALE-910]', async () => {
    const end_to_end_id = 'E00038166202611281559y6j6mt9l0pi'
    const paid = { payment_type_id: 4, name: 'Loja online', amount: '10.00', surcharge: '0.00', net: '10.00' }
    const counter = saleCompleted({ id: 77, payments: [{ ...paid, end_to_end_id }] })
    const scenario = await given(...shop(), counter, placed())
    await report(scenario, 1, 'approved', { end_to_end_id })
    const { payments, warnings } = await saleIn(scenario)
    expect(payments[0]).to.include({ payment_type_id: 4, end_to_end_id })
    expect(warnings).to.deep.equal([{ code: 'payment_already_used', sale_id: 77 }])
    expect((await orderIn(scenario)).alarms).to.deep.equal([])
  })

  it('belongs to the service, also if a request of an API key recorded the payment [ORDER-42]', async () => {
    const scenario = await given(...shop(), placed())
    await scenario.when(recordPayment, told(1, 'approved'), 'api', 'api_key/1')
    expect(await saleIn(scenario)).to.include({ origin: 'system' })
  })

  it('names the buyer if it is a customer that is neither deleted nor forgotten [ORDER-42]', async () => {
    const customer = { id: 1, external_id: null, name: 'Ana', email: null, document: null, phone: null }
    const known = await given(...shop(), customerCreated({ name: 'Ana Souza' }), placed({ customer }))
    await report(known, 1, 'approved')
    expect((await saleIn(known)).customer).to.deep.equal({ id: 1, external_id: null, name: 'Ana Souza' })
    const deleted = await given(
      ...shop(),
      customerCreated({ name: 'Ana Souza' }),
      placed({ customer }),
      event('CustomerDeleted', { id: 1 }),
    )
    await report(deleted, 1, 'approved')
    expect((await saleIn(deleted)).customer).to.equal(null)
  })

  it('is registered once, for any further report of the payment or of another one [ORDER-42]', async () => {
    const scenario = await given(...shop(), placed())
    await report(scenario, 1, 'approved')
    for (const [n, status] of [
      [1, 'approved'],
      [2, 'approved'],
      [3, 'rejected'],
      [1, 'in_mediation'],
    ] as const)
      expect(typesOf(await report(scenario, n, status)), `${n} ${status}`).not.to.include('SaleCompleted')
    expect(await stockIn(scenario)).to.equal('3.000')
  })

  for (const first of ['cancelled', 'rejected'])
    it(`is registered for a payment after a ${first} one [ORDER-42]`, async () => {
      const scenario = await given(...shop(), placed())
      await report(scenario, 1, first)
      expect(typesOf(await report(scenario, 2, 'approved'))).to.include('SaleCompleted')
    })

  it('is registered for a payment after the shop cancelled the order [ORDER-42]', async () => {
    const closed = await given(...shop(), placed(), event('OrderCancelledByStore', { id: 1, reason: null }))
    expect(typesOf(await report(closed, 1, 'approved'))).to.include('SaleCompleted')
  })

  for (const status of ['pending', 'in_process', 'rejected', 'cancelled', 'refunded', 'charged_back'])
    it(`is not made of an order that comes to be known as ${status} [ORDER-42]`, async () => {
      const scenario = await given(...shop(), placed())
      expect(typesOf(await report(scenario, 1, status))).not.to.include('SaleCompleted')
      expect(await stockIn(scenario)).to.equal('5.000')
    })

  it('registers no sale for a store that registers its sales itself [STORE-9]', async () => {
    const scenario = await given(...shop('5.000', false), placed())
    expect(typesOf(await report(scenario, 1, 'approved'))).to.deep.equal([
      'PaymentRecorded',
      'CommissionSplit',
      'OrderPaid',
    ])
    expect(await stockIn(scenario)).to.equal('5.000')
    await giveBack(scenario, 1, null, '2.000')
    expect(typesOf(await report(scenario, 1, 'refunded'))).to.deep.equal([
      'PaymentRecorded',
      'CommissionReversed',
      'OrderRefunded',
    ])
    expect(await stockIn(scenario)).to.equal('7.000')
    expect(await orderIn(scenario)).to.deep.include({ sale_id: null, goods_out: null })
  })

  it('takes more than there is, with a warning and an alarm, and never undoes the payment [ORDER-43]', async () => {
    const scenario = await given(...shop('1.500'), placed())
    const decided = await report(scenario, 1, 'approved')
    expect(typesOf(decided)).to.deep.equal([
      'PaymentRecorded',
      'CommissionSplit',
      'SaleCompleted',
      'OrderAlarmRaised',
      'OrderPaid',
    ])
    const short = { code: 'stock_short', catalog_item_id: 1, requested: '2.000', available: '1.500' }
    expect((await saleIn(scenario)).warnings).to.deep.equal([short])
    const { alarms, status } = await orderIn(scenario)
    expect(status).to.equal('paid')
    expect(alarms.map(({ code, provider_payment_id }) => [code, provider_payment_id])).to.deep.equal([
      ['stock_short', 'p1'],
    ])
    expect(await stockIn(scenario)).to.equal('-0.500')
  })

  it('is not cancelled by hand: 409 managed_by_order, from every channel [ORDER-44]', async () => {
    const scenario = await given(...shop(), placed())
    await report(scenario, 1, 'approved')
    for (const origin of ['api', 'pdv', 'panel', 'system'] as const) {
      const refused = await scenario.when(cancelSale, { id: SALE, reason: 'x' }, origin)
      refused.refuses('managed_by_order', { order_id: 1 })
    }
  })

  it('is cancelled by a full refund, and its goods stay out [ORDER-44]', async () => {
    const scenario = await given(...shop(), placed())
    await report(scenario, 1, 'approved')
    const decided = await report(scenario, 1, 'refunded')
    expect(typesOf(decided)).to.deep.equal(['PaymentRecorded', 'CommissionReversed', 'SaleCancelled', 'OrderRefunded'])
    expect(await saleIn(scenario)).to.include({ status: 'cancelled', cancel_reason: 'Pedido 1 devolvido' })
    expect(await stockIn(scenario)).to.equal('3.000')
    expect(await orderIn(scenario)).to.include({ sale_id: SALE })
  })

  it('a chargeback cancels the sale, a won dispute registers another [ORDER-44]', async () => {
    const scenario = await given(...shop(), placed())
    await report(scenario, 1, 'approved')
    await report(scenario, 1, 'charged_back')
    expect(await saleIn(scenario)).to.include({
      status: 'cancelled',
      cancel_reason: 'Pedido 1 contestado pelo comprador',
    })
    await report(scenario, 1, 'charged_back', { status_detail: 'reimbursed' })
    expect(await orderIn(scenario)).to.deep.include({ status: 'paid', sale_id: SALE + 1, alarms: [] })
    expect(await saleIn(scenario, SALE + 1)).to.include({ status: 'completed', total: '100.00' })
    expect(await saleIn(scenario)).to.include({ status: 'cancelled' })
    expect(await stockIn(scenario)).to.equal('3.000')
  })

  it('is cancelled also where a fiscal document is in force, with an alarm [ORDER-44]', async () => {
    const scenario = await given(...shop(), placed())
    await report(scenario, 1, 'approved')
    await scenario.when(recordFiscalDocument, { id: SALE, number: '17', status: 'authorized' })
    const decided = await report(scenario, 1, 'refunded')
    expect(typesOf(decided)).to.deep.equal([
      'PaymentRecorded',
      'CommissionReversed',
      'SaleCancelled',
      'OrderAlarmRaised',
      'OrderRefunded',
    ])
    expect((await orderIn(scenario)).alarms.at(-1)).to.include({ code: 'fiscal_document_issued' })
    expect(await saleIn(scenario)).to.include({ status: 'cancelled' })
  })

  it('is cancelled although its store stopped registering sales [ORDER-44, STORE-9]', async () => {
    const sold = eventsOf(await report(await given(...shop(), placed()), 1, 'approved'))
    const stopped = event('StoreUpdated', { id: 1, changes: { registers_sales: false } })
    const scenario = await given(...shop(), placed(), ...sold, stopped)
    expect(typesOf(await report(scenario, 1, 'refunded'))).to.include('SaleCancelled')
  })

  it('stands after a partial refund, and counts what the provider gave back [ORDER-45]', async () => {
    const scenario = await given(...shop(), placed())
    await report(scenario, 1, 'approved')
    const first = await report(scenario, 1, 'approved', { refunded: '30.00' })
    expect(dataIn(first, 'SaleRefunded')).to.deep.equal({
      id: SALE,
      order_id: 1,
      provider_payment_id: 'p1',
      amount: '30.00',
      refunded: '30.00',
    })
    const second = await report(scenario, 1, 'approved', { refunded: '45.00' })
    expect(dataIn(second, 'SaleRefunded')).to.include({ amount: '15.00', refunded: '45.00' })
    expect(await saleIn(scenario)).to.include({ status: 'completed', refunded_total: '45.00' })
    expect(typesOf(await report(scenario, 1, 'approved', { refunded: '45.00' }))).to.deep.equal([])
  })

  it('counts a refund in process only once it is completed [ORDER-45]', async () => {
    const scenario = await given(...shop(), placed())
    await report(scenario, 1, 'approved')
    const refund = { id: 1, refund_id: attemptId(1) }
    await scenario.when(requestRefund, { ...refund, idempotency_key: 'k', amount: '30.00' })
    await scenario.when(acceptRefund, { ...refund, provider_refund_id: 'd' })
    const listed = { id: 'd', amount: '30.00' }
    await report(scenario, 1, 'approved', { refunds: [{ ...listed, status: 'pending' }] })
    expect(await saleIn(scenario)).to.include({ refunded_total: '0.00' })
    await report(scenario, 1, 'approved', { refunds: [{ ...listed, status: 'completed' }], refunded: '30.00' })
    expect(await saleIn(scenario)).to.include({ refunded_total: '30.00' })
  })

  it('counts what had been given back when its payment came to be known [ORDER-45]', async () => {
    const scenario = await given(...shop(), placed())
    const decided = await report(scenario, 1, 'approved', { refunded: '30.00' })
    expect(typesOf(decided)).to.include.members(['SaleCompleted', 'SaleRefunded'])
    expect(await saleIn(scenario)).to.include({ refunded_total: '30.00' })
  })

  it('does not count a second payment that is given back [ORDER-45]', async () => {
    const scenario = await given(...shop(), placed())
    await report(scenario, 1, 'approved')
    await report(scenario, 2, 'approved')
    expect(typesOf(await report(scenario, 2, 'refunded'))).not.to.include.oneOf(['SaleRefunded', 'SaleCancelled'])
    expect(await saleIn(scenario)).to.include({ status: 'completed', refunded_total: '0.00' })
  })

  it('stays with the second payment if the first is given back [ORDER-45]', async () => {
    const scenario = await given(...shop(), placed())
    await report(scenario, 1, 'approved', { refunded: '30.00' })
    await report(scenario, 2, 'approved')
    const decided = await report(scenario, 1, 'refunded')
    expect(dataIn(decided, 'SaleRefunded')).to.include({
      provider_payment_id: 'p2',
      amount: '-30.00',
      refunded: '0.00',
    })
    expect(await saleIn(scenario)).to.include({ status: 'completed', refunded_total: '0.00' })
  })
})

describe('goods of an order that is a sale', () => {
  const tooMuch = { fields: { 'restock[0].quantity': ['deve somar no máximo 0.000'] }, unknown_fields: [] }
  const back = (place: number, quantity: string, amount: string) => ({
    ...{ line: place, catalog_item_id: 1, description: 'Item 1', quantity, amount, restock: true },
  })
  const paid = async (stock?: string) => {
    const scenario = await given(...shop(stock), placed())
    await report(scenario, 1, 'approved')
    return scenario
  }

  it('come back as the refund says; the movement names the order [ORDER-46] [RETURN-785]', async () => {
    const scenario = await paid()
    const decided = await giveBack(scenario, 1, '30.00', '1.000')
    decided.accepts(
      'updated',
      event('OrderRefundCompleted', { id: 1, refund_id: attemptId(1), provider_refund_id: 'd1' }),
      event('StockAdjusted', { id: 1, reason: 'return', before: '3.000', after: '4.000', order_id: 1 }),
      event('SaleRestocked', { id: SALE, order_id: 1, items: [back(0, '1.000', '30.00')] }),
    )
    expect((await orderIn(scenario)).goods_out).to.deep.equal([{ catalog_item_id: 1, quantity: '1.000' }])
  })

  it('fill the lines of the sale in their order, and no line beyond its price [RETURN-785]', async () => {
    const twice = [line(1, '1.000', '30.00', '30.00'), line(1, '3.000', '3.33', '10.00')]
    const scenario = await given(...shop(), placed({ items: twice, subtotal: '40.00', delivery_fee: '60.00' }))
    await report(scenario, 1, 'approved')
    const some = await giveBack(scenario, 1, '5.00', '1.500')
    expect(dataIn(some, 'SaleRestocked')).to.deep.include({
      items: [back(0, '1.000', '30.00'), back(1, '0.500', '1.67')],
    })
    const rest = await giveBack(scenario, 2, '5.00', '2.500')
    expect(dataIn(rest, 'SaleRestocked')).to.deep.include({ items: [back(1, '2.500', '8.33')] })
    const { items, returned_total } = await saleIn(scenario)
    expect([items.map(({ returned }) => returned), returned_total]).to.deep.equal([['1.000', '3.000'], '0.00'])
  })

  it('come back to no sale where the store registers none [RETURN-785]', async () => {
    const scenario = await given(...shop('5.000', false), placed())
    await report(scenario, 1, 'approved')
    expect(typesOf(await giveBack(scenario, 1, '30.00', '1.000'))).to.deep.equal([
      'OrderRefundCompleted',
      'StockAdjusted',
    ])
  })

  it('come back once, and never more than went out [ORDER-46]', async () => {
    const scenario = await paid()
    await giveBack(scenario, 1, '30.00', '2.000')
    expect(await stockIn(scenario)).to.equal('5.000')
    const more = await scenario.when(requestRefund, {
      id: 1,
      refund_id: attemptId(2),
      idempotency_key: 'k2',
      restock: [{ catalog_item_id: 1, quantity: '0.001' }],
    })
    more.refuses('validation_failed', tooMuch)
    await giveBack(scenario, 3, null, null)
    await report(scenario, 1, 'refunded')
    expect(await stockIn(scenario)).to.equal('5.000')
  })

  it('that were not counted when they were sold do not come back [ORDER-46]', async () => {
    const uncounted = [...shop(), stockCounted(1, '5.000', null), placed()]
    const sold = eventsOf(await report(await given(...uncounted), 1, 'approved'))
    const scenario = await given(...uncounted, ...sold, stockCounted(1, null, '9.000'))
    const restock = [{ catalog_item_id: 1, quantity: '1.000' }]
    const asked = await scenario.when(requestRefund, { id: 1, refund_id: attemptId(1), idempotency_key: 'k1', restock })
    asked.refuses('validation_failed', tooMuch)
  })

  it('leave again with a payment after the refund that brought them back [ORDER-46]', async () => {
    const scenario = await paid()
    await giveBack(scenario, 1, null, '1.000')
    await report(scenario, 1, 'refunded')
    expect(await stockIn(scenario)).to.equal('4.000')
    const again = await report(scenario, 2, 'approved')
    expect(dataIn<DataOf<'StockAdjusted'>>(again, 'StockAdjusted')).to.deep.equal({
      id: 1,
      reason: 'adjustment',
      before: '4.000',
      after: '3.000',
      order_id: 1,
    })
    expect(await orderIn(scenario)).to.deep.include({
      sale_id: SALE + 1,
      goods_out: [{ catalog_item_id: 1, quantity: '2.000' }],
    })
    await giveBack(scenario, 2, null, '2.000')
    await report(scenario, 2, 'refunded')
    expect(await stockIn(scenario)).to.equal('5.000')
  })

  it('stay where they are if a dispute is won after a part came back [ORDER-46] [RETURN-785]', async () => {
    const scenario = await paid()
    await giveBack(scenario, 1, '30.00', '1.000')
    await report(scenario, 1, 'approved', { refunded: '30.00' })
    await report(scenario, 1, 'charged_back', { refunded: '30.00' })
    await report(scenario, 1, 'charged_back', { status_detail: 'reimbursed', refunded: '30.00' })
    const sale = await saleIn(scenario, SALE + 1)
    expect(sale).to.include({ status: 'completed', refunded_total: '30.00' })
    expect(sale.items.map(({ returned }) => returned)).to.deep.equal(['1.000', '0.000', '0.000'])
    expect(await stockIn(scenario)).to.equal('4.000')
  })
})
