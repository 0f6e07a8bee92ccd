import { expect } from 'chai'
import { dueBack } from '#commands/money-back.ts'
import { reverseReceivablePayment } from '#commands/receivables-payables.ts'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import { ReturnBody, returnGoods } from '#commands/return-goods.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import {
  customerCreated,
  offlineSaleCompleted,
  paymentTypeCreated,
  plainPayment,
  receivableCreated,
} from '../../support/facts.ts'
import { type Decided, from, given, type Scenario } from '../../support/given.ts'
import { ACCOUNT, CARD, CASH, input, paidBy, shop } from './record-offline-sale/shop.ts'

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

function firstData<D>({ decision }: Decided): D {
  if (isRefusal(decision) || !decision.events[0]) throw new Error(JSON.stringify(decision))
  return decision.events[0].data as D
}

function totalOf(decided: Decided): string {
  const { total, items, refunds } = firstData<DataOf<'SaleReturned'>>(decided)
  expect([items[0]?.amount, refunds.length > 0]).to.deep.equal([total, total !== '0.00'])
  return total
}

const ENDED = {
  'was deleted': [event('ReceivableDeleted', { id: DEBT })],
  'was settled with a discount': [paid('90.00', { discount: '90.00' })],
  'was edited to 0.00 of what is owed': [
    paid('0.01', { discount: '0.01' }),
    event('ReceivableUpdated', { id: DEBT, changes: { amount: '0.01' } }),
  ],
} as const

describe('money back of a sale', () => {
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
