import { expect } from 'chai'
import { cancelSale } from '#commands/cancel-sale.ts'
import { reverseReturn } from '#commands/offline-returns.ts'
import { OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { reverseReceivablePayment } from '#commands/receivables-payables.ts'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import { ReturnBody, returnGoods } from '#commands/return-goods.ts'
import { dueBack } from '#commands/returned-goods.ts'
import { refuse } from '#domain/refusals.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import { creditByCustomer, getCreditBalance } from '#projections/store-credit.ts'
import {
  cashSessionClosed,
  cashSessionOpened,
  companyRegistered,
  customerCreated,
  fiscalDocument,
  itemCreated,
  offlineSaleCompleted,
  paymentTypeCreated,
  plainPayment,
  receivableCreated,
} from '../support/facts.ts'
import { type Decided, FIRST_NEW_ID, from, given, type Scenario } from '../support/given.ts'
import { offlineSaleOf } from '../support/offline-sales.ts'
import { ACCOUNT, CARD, CASH, input, paidBy, shop } from './offline-company.ts'

const by = (payment_type_id: number, amount: number) => ({ payment_type_id, amount: amount.toFixed(2) })
const RETURN = `return/${FIRST_NEW_ID}`
const SALE = `sale/${FIRST_NEW_ID}`
const reverse = (scenario: Scenario) => scenario.when(reverseReturn, { id: FIRST_NEW_ID, reason: 'Engano' })

describe('the reversal of a return', () => {
  const [CASH, ACCOUNT, STORE_CREDIT] = [1, 3, 4] as const
  const shop = [
    companyRegistered(),
    paymentTypeCreated({ id: CASH }),
    paymentTypeCreated({ id: ACCOUNT, name: 'Crediário', kind: 'credit_account' }),
    paymentTypeCreated({ id: STORE_CREDIT, name: 'Troca', kind: 'exchange_credit' }),
    customerCreated({ id: 9, name: 'Eva' }),
    itemCreated({ id: 10, stock: '5.000' }),
  ]

  /** A shop that sold two units for 20.00 to a customer, and took one back. */
  async function shopWith(refunds: object[], payment_type_id: number = CASH, fields: object = {}): Promise<Scenario> {
    const scenario = await given(...shop)
    const sale = {
      customer_id: 9,
      items: [{ product_id: 10, quantity: 2, price: 10, total: 20 }],
      payments: [{ payment_type_id, amount: 20, status: 'completed' }],
      ...{ total: 20, amount_received: null, change: null },
    }
    await scenario.when(recordOfflineSale, OfflineSaleInput.parse(offlineSaleOf(sale)), 'pdv')
    const body = ReturnBody.parse({ reason: 'Defeito', items: [{ line: 0, quantity: '1' }], refunds })
    const { decision } = await scenario.when(returnGoods, { ...body, id: FIRST_NEW_ID, ...fields })
    if (isRefusal(decision)) throw new Error(JSON.stringify(decision))
    return scenario
  }

  it('sells the goods again, once, and the sale can be cancelled [RETURN-760]', async () => {
    const scenario = await shopWith([by(CASH, 10)])
    ;(await scenario.when(cancelSale, { id: FIRST_NEW_ID }, 'panel')).refuses('sale_returned')
    const reversed = (await reverse(scenario)).decision
    expect(reversed).to.deep.include({ outcome: 'updated' })
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '3.000' })
    expect(await scenario.show(SALE)).to.include({ returned_total: '0.00' })
    expect(await scenario.show(SALE)).to.have.nested.property('items[0].returned', '0.000')
    expect(await scenario.show(RETURN)).to.include({ reversal_reason: 'Engano', total: '10.00' })
    ;(await reverse(scenario)).accepts('unchanged')
    expect((await scenario.when(cancelSale, { id: FIRST_NEW_ID }, 'panel')).decision).to.include({ outcome: 'updated' })
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '5.000' })
  })

  it('leaves owed again what the return had lowered [RETURN-760]', async () => {
    const scenario = await shopWith([by(ACCOUNT, 10)], ACCOUNT)
    const account = `receivable/${FIRST_NEW_ID}`
    expect(await scenario.show(account)).to.include({ open_amount: '10.00' })
    await reverse(scenario)
    expect(await scenario.show(account)).to.include({ open_amount: '20.00', status: 'pending' })
  })

  it('takes store credit back, unless it was spent [RETURN-760]', async () => {
    const refunds = [by(STORE_CREDIT, 10)]
    const scenario = await shopWith(refunds)
    await reverse(scenario)
    expect(getCreditBalance(await scenario.rows(creditByCustomer(9)), 9)).to.equal('0.00')
    const spent = await shopWith(refunds)
    const purchase = {
      ...{ offline_id: 'v2', customer_id: 9, total: 1, amount_received: null, change: null },
      items: [{ product_id: 10, quantity: 0.1, price: 10, total: 1 }],
      payments: [{ payment_type_id: STORE_CREDIT, amount: 1, status: 'completed' }],
    }
    await spent.when(recordOfflineSale, OfflineSaleInput.parse(offlineSaleOf(purchase)), 'pdv')
    ;(await reverse(spent)).refuses('credit_spent')
  })

  it('puts the money back into its drawer, if that was not closed [RETURN-761]', async () => {
    for (const isClosed of [false, true]) {
      const scenario = await given(...shop)
      await scenario.happens(cashSessionOpened({ id: 1, session_id: 's1', offline_id: 'o' }))
      const sale = OfflineSaleInput.parse(offlineSaleOf())
      await scenario.when(recordOfflineSale, sale, 'pdv')
      const body = ReturnBody.parse({ reason: 'x', items: [{ line: 0, quantity: '1' }], refunds: [by(CASH, 10)] })
      await scenario.when(returnGoods, { ...body, id: FIRST_NEW_ID, cash_session_id: 's1' })
      if (isClosed) await scenario.happens(cashSessionClosed({ id: 1, session_id: 's1', offline_id: 'c' }))
      const { decision } = await reverse(scenario)
      if (isRefusal(decision)) throw new Error(decision.refused)
      expect(decision.events[0]?.data).to.include({ is_in_drawer: !isClosed })
    }
  })

  it('is refused with a fiscal document in force, without the right, and of no return [RETURN-760]', async () => {
    const scenario = await shopWith([by(CASH, 10)])
    const lacking = () => refuse('permission_required', { permission: 'cancel_all' })
    const input = { id: FIRST_NEW_ID, reason: 'Engano' }
    const clerks = await scenario.when(reverseReturn, input, 'panel', 'user/1', null, [], lacking)
    clerks.refuses('permission_required', { permission: 'cancel_all' })
    ;(await scenario.when(reverseReturn, { id: 77, reason: 'x' })).refuses('not_found')
    await scenario.happens(event('ReturnDocumentRecorded', { ...fiscalDocument, id: FIRST_NEW_ID }))
    ;(await reverse(scenario)).refuses('fiscal_document_issued')
  })
})

function firstData<D>({ decision }: Decided): D {
  if (isRefusal(decision) || !decision.events[0]) throw new Error(JSON.stringify(decision))
  return decision.events[0].data as D
}

function totalOf(decided: Decided): string {
  const { total, items, refunds } = firstData<DataOf<'SaleReturned'>>(decided)
  expect([items[0]?.amount, refunds.length > 0]).to.deep.equal([total, total !== '0.00'])
  return total
}

describe('money back of a sale', () => {
  const [SALE, DEBT, ITEM, CREDIT, PROMOTION] = [8, 5, 10, 4, 6] as const

  const line = {
    catalog_item_id: ITEM,
    external_id: null,
    description: 'Bolo',
    quantity: '2.000',
    unit_price: '45.00',
    total: '90.00',
    discount: '0.00',
    moves_stock: true,
  }

  /** Two of 45.00 on account, which owes 90.00. */
  const owing = (...since: ReturnType<typeof event>[]): Promise<Scenario> => {
    const payments = [
      {
        payment_type_id: ACCOUNT,
        name: 'Crediário',
        amount: '90.00',
        surcharge: '0.00',
        net: '90.00',
        status: 'pending',
      },
    ] as const
    const sale = offlineSaleCompleted({
      id: SALE,
      items: [line],
      total: '90.00',
      payments: [...payments],
      receivable_ids: [DEBT],
    })
    const debt = receivableCreated({ id: DEBT, origin: 'sale', sale_id: SALE, amount: '90.00' })
    return given(
      ...shop,
      customerCreated({ id: 9 }),
      paymentTypeCreated({ id: CREDIT, name: 'Troca', kind: 'exchange_credit' }),
      paymentTypeCreated({ id: PROMOTION, name: 'Promoção', kind: 'promotion' }),
      ...[sale, debt, ...since].map((each) => from('pdv', each)),
    )
  }

  const paid = (amount: string, fields: object = {}) =>
    event('ReceivablePaymentReceived', { id: DEBT, ...plainPayment, amount, ...fields })

  const back = (quantity: string, refunds: readonly (readonly [number, string])[], fields: object = {}) => ({
    id: SALE,
    ...ReturnBody.parse({
      reason: 'Defeito',
      items: [{ line: 0, quantity }],
      refunds: refunds.map(([payment_type_id, amount]) => ({ payment_type_id, amount })),
      ...fields,
    }),
  })

  const ENDED = {
    'was deleted': [event('ReceivableDeleted', { id: DEBT })],
    'was settled with a discount': [paid('90.00', { discount: '90.00' })],
    'was edited to 0.00 of what is owed': [
      paid('0.01', { discount: '0.01' }),
      event('ReceivableUpdated', { id: DEBT, changes: { amount: '0.01' } }),
    ],
  } as const

  it('first lowers what is owed, then gives back at most what was received [RETURN-780]', () => {
    expect(dueBack({ received: 30, open: 60, given_back: 0 }, 90)).to.deep.equal({ on_credit: 60, total: 90 })
    expect(dueBack({ received: 30, open: 60, given_back: 0 }, 70)).to.deep.equal({ on_credit: 60, total: 70 })
    expect(dueBack({ received: 30, open: 0, given_back: 10 }, 90)).to.deep.equal({ on_credit: 0, total: 20 })
    expect(dueBack({ received: 30, open: 0, given_back: 40 }, 90)).to.deep.equal({ on_credit: 0, total: 0 })
  })

  for (const [ending, events] of Object.entries(ENDED))
    it(`is nothing for goods that were never paid: the debt ${ending} [RETURN-780]`, async () => {
      const scenario = await owing(...events)
      for (const way of [CASH, CREDIT]) {
        const asked = await scenario.when(returnGoods, back('2', [[way, '90.00']], { customer_id: 9 }))
        asked.refuses('payment_mismatch', { due: '0.00', refunded: '90.00' })
      }
      expect(totalOf(await scenario.when(returnGoods, back('2', [])))).to.equal('0.00')
      expect(await scenario.show(`catalog_item/${ITEM}`)).to.include({ stock: '5.000' })
      expect(await scenario.show(`sale/${SALE}`)).to.include({ returned_total: '0.00' })
    })

  it('is what was received in parts, over several returns [RETURN-780]', async () => {
    const scenario = await owing(paid('60.00'), paid('30.00', { discount: '30.00' }))
    expect(totalOf(await scenario.when(returnGoods, back('1', [[CASH, '45.00']])))).to.equal('45.00')
    expect(totalOf(await scenario.when(returnGoods, back('1', [[CASH, '15.00']])))).to.equal('15.00')
  })

  it('leaves out promotions, cashback, pending payments and store credit that was not there [RETURN-780]', async () => {
    const scenario = await owing()
    const receivedBy = async (offline_id: string, payment_type_id: number, status = 'completed') => {
      const decided = await scenario.when(
        recordOfflineSale,
        { ...input({ offline_id, ...paidBy(payment_type_id, status) }), sellerId: 1 },
        'pdv',
      )
      return firstData<DataOf<'OfflineSaleCompleted'>>(decided).received
    }
    expect(await receivedBy('a', CASH)).to.equal('10.00')
    expect(await receivedBy('b', CARD, 'pending')).to.equal('0.00')
    expect(await receivedBy('c', ACCOUNT)).to.equal('0.00')
    expect(await receivedBy('d', PROMOTION)).to.equal('0.00')
    expect(await receivedBy('e', CREDIT)).to.equal('0.00')
  })

  it('is not given in a promotion, not even of the sale [RETURN-4]', async () => {
    const scenario = await owing(paid('90.00'))
    const asked = await scenario.when(returnGoods, back('1', [[PROMOTION, '45.00']]))
    expect(asked.decision).to.include({ refused: 'validation_failed' })
  })

  it('keeps receipts from being reversed where debt or money would be left without goods [ACCT-780]', async () => {
    const reverse = async (scenario: Scenario, revision: number) =>
      (await scenario.when(reverseReceivablePayment, { id: DEBT, payment_id: revision, reason: 'Engano' }, 'panel'))
        .decision
    const refused = { refused: 'goods_returned' }
    const first = shop.length + 5
    const given = await owing(paid('90.00'))
    await given.when(returnGoods, back('1', [[CASH, '45.00']]))
    expect(await reverse(given, first), 'the money is out').to.include(refused)
    const forgiven = await owing(paid('90.00', { discount: '90.00' }))
    await forgiven.when(returnGoods, back('2', []))
    expect(await reverse(forgiven, first), 'the goods are back').to.include(refused)
    const halves = await owing(paid('45.00'), paid('45.00'))
    await halves.when(returnGoods, back('1', [[CASH, '45.00']]))
    expect(await reverse(halves, first)).to.include({ outcome: 'updated' })
    expect(await reverse(halves, first + 1), 'the rest').to.include(refused)
    const untouched = await owing(paid('90.00'))
    expect(await reverse(untouched, first)).to.include({ outcome: 'updated' })
  })
})
