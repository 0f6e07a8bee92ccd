import { expect } from 'chai'
import { cancelSale } from '#commands/cancel-sale.ts'
import { OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import { ReturnBody, returnGoods } from '#commands/return-goods.ts'
import { reverseReturn } from '#commands/reverse-return.ts'
import { refuse } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import { creditBalanceOf, creditOf } from '#projections/store-credit.ts'
import {
  cashSessionClosed,
  cashSessionOpened,
  companyRegistered,
  customerCreated,
  fiscalDocument,
  itemCreated,
  paymentTypeCreated,
} from '../../support/facts.ts'
import { FIRST_NEW_ID, given, type Scenario } from '../../support/given.ts'
import { offlineSaleOf } from '../../support/offline-sales.ts'

const [CASH, ACCOUNT, STORE_CREDIT] = [1, 3, 4] as const
const shop = [
  companyRegistered(),
  paymentTypeCreated({ id: CASH }),
  paymentTypeCreated({ id: ACCOUNT, name: 'Crediário', kind: 'credit_account' }),
  paymentTypeCreated({ id: STORE_CREDIT, name: 'Troca', kind: 'exchange_credit' }),
  customerCreated({ id: 9, name: 'Eva' }),
  itemCreated({ id: 10, stock: '5.000' }),
]
const by = (payment_type_id: number, amount: number) => ({ payment_type_id, amount: amount.toFixed(2) })
const RETURN = `return/${FIRST_NEW_ID}`
const SALE = `sale/${FIRST_NEW_ID}`

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
const reverse = (scenario: Scenario) => scenario.when(reverseReturn, { id: FIRST_NEW_ID, reason: 'Engano' })

describe('the reversal of a return', () => {
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
    expect(creditBalanceOf(await scenario.rows(creditOf(9)), 9)).to.equal('0.00')
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
