import { expect } from 'chai'
import { type CancelSaleInput, cancelSale } from '#commands/cancel-sale.ts'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import { event } from '#events/catalogue.ts'
import type { Accepted, NewEvent } from '#ledger/command.ts'
import { noCustomer, offlineSaleCompleted, receivableCreated, receivablePaid } from '../../../support/facts.ts'
import { FIRST_NEW_ID, given } from '../../../support/given.ts'
import { ACCOUNT, CASH, input, paidBy, shop } from './shop.ts'

describe('receivables of an offline sale', () => {
  const onAccount = input(paidBy(ACCOUNT, 'pending'))
  const cancel: CancelSaleInput = { id: FIRST_NEW_ID }

  it('are created for its credit payments, due after the day of the sale in the company’s zone [UP-11]', async () => {
    const scenario = await given(...shop)
    const late = input({ created_at: '2026-03-11T02:59:59.999Z', ...paidBy(ACCOUNT) })
    const { decision } = await scenario.when(recordOfflineSale, late, 'pdv')
    expect((decision as Accepted).events.slice(1)).to.deep.equal([
      event('ReceivableCreated', {
        id: FIRST_NEW_ID,
        external_id: null,
        origin: 'sale',
        description: `Venda ${FIRST_NEW_ID} a prazo: Crediário`,
        ...noCustomer,
        amount: '10.00',
        due_date: '2026-04-09',
        sale_id: FIRST_NEW_ID,
      }),
    ])
    expect(await scenario.show(`receivable/${FIRST_NEW_ID}`)).to.include({ status: 'pending', origin: 'sale' })
  })

  it('are created once per such payment, and not for zero amounts [UP-11]', async () => {
    const scenario = await given(...shop)
    const of = (payment_type_id: number, amount: number) => ({ payment_type_id, amount, status: 'completed' })
    const payments = [of(ACCOUNT, 4), of(CASH, 5), of(ACCOUNT, 1), of(ACCOUNT, 0)]
    const { decision } = await scenario.when(recordOfflineSale, input({ payments }), 'pdv')
    const { events } = decision as Accepted
    expect(events[0]?.data).to.deep.include({ receivable_ids: [FIRST_NEW_ID, FIRST_NEW_ID + 1] })
    expect(events.slice(1).map((each) => (each.data as { amount: string }).amount)).to.deep.equal(['4.00', '1.00'])
  })

  it('are deleted with the sale’s cancellation while pending [UP-12]', async () => {
    const scenario = await given(...shop)
    await scenario.when(recordOfflineSale, onAccount, 'pdv')
    const decided = await scenario.when(cancelSale, cancel, 'pdv')
    decided.accepts(
      'updated',
      event('SaleCancelled', {
        id: FIRST_NEW_ID,
        reason: null,
        restock: [{ catalog_item_id: 10, quantity: '1.000' }],
      }),
      event('ReceivableDeleted', { id: FIRST_NEW_ID }),
    )
    expect(await scenario.show(`receivable/${FIRST_NEW_ID}`)).to.equal(null)
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '5.000' })
  })

  /** A sale on credit with the receivable 4 of 10.00, and events about it. */
  const owed = (...more: NewEvent[]) =>
    given(
      ...shop,
      offlineSaleCompleted({ id: 8, receivable_ids: [4] }),
      receivableCreated({ id: 4, origin: 'sale', amount: '10.00', sale_id: 8 }),
      ...more,
    )

  it('block the cancellation once one is settled [UP-12]', async () => {
    const scenario = await owed(receivablePaid(4, { amount: '10.00' }))
    const decided = await scenario.when(cancelSale, { id: 8 }, 'pdv')
    decided.refuses('already_settled')
  })

  it('block the cancellation while a part is paid; a reversal of the payment allows it [UP-12]', async () => {
    const scenario = await owed(receivablePaid(4, { amount: '4.00' }))
    const decided = await scenario.when(cancelSale, { id: 8 }, 'pdv')
    decided.refuses('has_payments', { receivable_id: 4 })
    const payment_id = shop.length + 2
    await scenario.happens(event('ReceivablePaymentReversed', { id: 4, payment_id, reason: 'Devolvido em dinheiro' }))
    const again = await scenario.when(cancelSale, { id: 8 }, 'pdv')
    expect(again.decision).to.include({ outcome: 'updated' })
    expect(await scenario.show('receivable/4')).to.equal(null)
  })

  it('do not block the cancellation if deleted earlier', async () => {
    const scenario = await given(...shop)
    const { decision } = await scenario.when(recordOfflineSale, onAccount, 'pdv')
    const again = await given(
      ...shop,
      ...(decision as Accepted).events,
      event('ReceivableDeleted', { id: FIRST_NEW_ID }),
    )
    const decided = await again.when(cancelSale, cancel, 'system')
    decided.accepts(
      'updated',
      event('SaleCancelled', {
        id: FIRST_NEW_ID,
        reason: null,
        restock: [{ catalog_item_id: 10, quantity: '1.000' }],
      }),
    )
  })

  it('do not let the integration API change the counter sale', async () => {
    const scenario = await given(...shop)
    await scenario.when(recordOfflineSale, onAccount, 'pdv')
    const decided = await scenario.when(cancelSale, cancel, 'api')
    decided.refuses('managed_by_pdv')
  })
})
