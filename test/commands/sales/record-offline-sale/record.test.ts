import { expect } from 'chai'
import { cancelSale } from '#commands/sales/cancel-sale.ts'
import { fingerprintOf } from '#commands/sales/offline-sale-input.ts'
import { recordOfflineSale } from '#commands/sales/record-offline-sale.ts'
import type { Accepted } from '#ledger/command.ts'
import { offlineSaleById } from '#projections/sales.ts'
import {
  itemCreated,
  offlineSale,
  offlineSaleCancelled,
  offlineSaleCompleted,
  paymentTypeCreated,
} from '../../../support/facts.ts'
import { FIRST_NEW_ID, given } from '../../../support/given.ts'
import { ACCOUNT, CARD, CASH, input, ofProduct, paidBy, recorded, shop } from './shop.ts'

describe('record offline sale', () => {
  it('records what the till says, names of the catalog beside it, and debits the stock', async () => {
    const scenario = await given(...shop)
    const sale = input({ amount_received: 12, change: 2, ...paidBy(CASH, 'completed', 12) })
    const decided = await scenario.when(recordOfflineSale, sale, 'pdv')
    const [line] = offlineSale.items
    const [payment] = offlineSale.payments
    decided.accepts(
      'created',
      offlineSaleCompleted({
        id: FIRST_NEW_ID,
        fingerprint: fingerprintOf(sale),
        items: [{ ...line!, moves_stock: true }],
        payments: [{ ...payment!, amount: '12.00', net: '12.00' }],
        amount_received: '12.00',
        change: '2.00',
      }),
    )
    const shown = await scenario.show(`sale/${FIRST_NEW_ID}`)
    expect(shown).to.include({ status: 'completed', origin: 'pdv', external_id: null, customer: null })
    expect(shown).to.include({ subtotal: '10.00', delivery_fee: '0.00', total: '10.00', change: '2.00' })
    expect(shown).to.include({ sold_at: '2026-03-10T11:00:00.000-03:00', cancelled_at: null })
    const { status: _, ...shownPayment } = { ...payment!, amount: '12.00', net: '12.00' }
    expect((shown as { payments: object[] }).payments).to.deep.equal([shownPayment])
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '4.000' })
  })

  it('takes the surcharge of a payment type from inside the amount', async () => {
    const scenario = await given(...shop)
    const { data } = recorded(await scenario.when(recordOfflineSale, input(paidBy(CARD)), 'pdv'))
    expect(data.payments[0]).to.include({ amount: '10.00', surcharge: '2.00', net: '8.00' })
  })

  it('records nothing when the same sale comes again, and finds its sale and its warnings [UP-4]', async () => {
    const scenario = await given(...shop)
    const sale = input(ofProduct(10, 9))
    const first = await scenario.when(recordOfflineSale, sale, 'pdv')
    const again = await scenario.when(recordOfflineSale, input({ ...ofProduct(10, 9), extra: true }), 'pdv')
    again.accepts('unchanged')
    expect(again.decision).to.deep.include({
      subject: (first.decision as Accepted).subject,
      remarks: (first.decision as Accepted).remarks,
    })
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '-4.000' })
  })

  it('takes promotions, exchange credit and cashback, which only the counter may [UP-9]', async () => {
    for (const kind of ['promotion', 'exchange_credit', 'cashback'] as const) {
      const scenario = await given(...shop, paymentTypeCreated({ id: 9, kind }))
      expect(recorded(await scenario.when(recordOfflineSale, input(paidBy(9)), 'pdv')).warnings).to.deep.equal([])
    }
  })

  it('moves no stock for untracked products and services', async () => {
    const service = itemCreated({ id: 12, type: 'service', name: 'Entrega' })
    const scenario = await given(...shop, service)
    for (const [place, id] of [11, 12].entries()) {
      const sale = input({ ...ofProduct(id, 2), offline_id: `pdv-${place}` })
      const { data } = recorded(await scenario.when(recordOfflineSale, sale, 'pdv'))
      expect(data.items[0]).to.include({ catalog_item_id: id, moves_stock: false })
    }
  })
})

describe('cancelled offline sale', () => {
  it('is recorded as cancelled, moves no stock, makes no receivable and looks like any cancelled sale [UP-10]', async () => {
    const scenario = await given(...shop)
    const sale = input({ status: 'cancelled', ...paidBy(ACCOUNT, 'pending') })
    const decided = await scenario.when(recordOfflineSale, sale, 'pdv')
    const [payment] = offlineSale.payments
    decided.accepts(
      'created',
      offlineSaleCancelled({
        id: FIRST_NEW_ID,
        fingerprint: fingerprintOf(sale),
        payments: [{ ...payment!, payment_type_id: ACCOUNT, name: 'Crediário', status: 'pending' }],
      }),
    )
    const shown = (await scenario.show(`sale/${FIRST_NEW_ID}`)) as Record<string, unknown>
    expect(shown).to.include({ status: 'cancelled', origin: 'pdv', cancel_reason: null })
    expect(shown.cancelled_at).to.equal(shown.created_at)
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '5.000' })
    const cancelled = await scenario.when(cancelSale, { id: FIRST_NEW_ID }, 'system')
    cancelled.accepts('unchanged')
  })
})

describe('offline sales projection', () => {
  it('remembers each upload under the till’s identifier', async () => {
    const warnings = [{ code: 'change_without_cash' as const, product_id: null, found: '1.00', expected: null }]
    const scenario = await given(...shop, offlineSaleCompleted({ id: 8, offline_id: 'a', warnings }))
    const row = (await scenario.rows(offlineSaleById('a'))).get(offlineSaleById('a'))
    expect(row).to.deep.include({ sale_id: 8, fingerprint: 'f'.repeat(64), actor: null, warnings })
  })
})
