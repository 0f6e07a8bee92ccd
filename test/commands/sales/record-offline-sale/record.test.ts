import { expect } from 'chai'
import { cancelSale } from '#commands/cancel-sale.ts'
import { recordFiscalDocument } from '#commands/fiscal-document-commands.ts'
import { fingerprintOf } from '#commands/offline-sale-input.ts'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import { refuse } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import type { Accepted, Permit } from '#ledger/command.ts'
import { offlineSaleById } from '#projections/fiscal-documents.ts'
import {
  cashSessionOpened,
  customerCreated,
  itemCreated,
  offlineSale,
  offlineSaleCancelled,
  offlineSaleCompleted,
  paymentTypeCreated,
  userCreated,
} from '../../../support/facts.ts'
import { by, FIRST_NEW_ID, given } from '../../../support/given.ts'
import { ACCOUNT, CARD, CASH, input, ofProduct, paidBy, recorded, shop, warning } from './shop.ts'

describe('record offline sale', () => {
  it('records the upload with names from the catalog, and debits the stock', async () => {
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
        payments: [{ ...payment!, amount: '12.00' }],
        amount_received: '12.00',
        change: '2.00',
      }),
    )
    const shown = await scenario.show(`sale/${FIRST_NEW_ID}`)
    expect(shown).to.include({ status: 'completed', origin: 'pdv', external_id: null, customer: null })
    expect(shown).to.include({ subtotal: '10.00', delivery_fee: '0.00', total: '10.00', change: '2.00' })
    expect(shown).to.include({ sold_at: '2026-03-10T11:00:00.000-03:00', cancelled_at: null })
    const { status: _, ...shownPayment } = { ...payment!, amount: '12.00' }
    expect((shown as { payments: object[] }).payments).to.deep.equal([shownPayment])
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '4.000' })
  })

  it('includes the surcharge of a payment type in the amount', async () => {
    const scenario = await given(...shop)
    const { data } = recorded(await scenario.when(recordOfflineSale, input(paidBy(CARD)), 'pdv'))
    expect(data.payments[0]).to.include({ amount: '10.00', surcharge: '2.00', net: '8.00' })
  })

  for (const [stated, amount] of [
    ['with the change', 20],
    ['without the change', 10],
  ] as const)
    it(`calculates surcharge and net of cash from the charged amount, for a payment ${stated} [SALE-8]`, async () => {
      const dear = paymentTypeCreated({ id: 4, name: 'Dinheiro com taxa', fee_percentage: '3.50' })
      const scenario = await given(...shop, dear)
      const sale = input({ amount_received: 20, change: 10, ...paidBy(4, 'completed', amount) })
      const { data } = recorded(await scenario.when(recordOfflineSale, sale, 'pdv'))
      expect(data.payments[0]).to.include({ surcharge: '0.34', net: '9.66' })
    })

  it('records nothing for a repeated upload, and returns its sale and warnings [UP-4]', async () => {
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

  for (const [kind, expected] of [
    ['promotion', []],
    // The sale has no customer to take the credit from.
    ['exchange_credit', ['credit_exceeded']],
    ['cashback', []],
  ] as const)
    it(`accepts ${kind}, which is reserved for the counter [UP-9]`, async () => {
      const scenario = await given(...shop, paymentTypeCreated({ id: 9, kind }))
      const { warnings } = recorded(await scenario.when(recordOfflineSale, input(paidBy(9)), 'pdv'))
      expect(warnings.map((warning) => (warning as { code: string }).code)).to.deep.equal(expected)
    })

  it('deducts change from cash, and the surcharge from the rest [SALE-8]', async () => {
    const dear = paymentTypeCreated({ id: 9, name: 'Notas', fee_percentage: '25.00' })
    const scenario = await given(...shop, dear)
    const payments = [
      { payment_type_id: CARD, amount: 5, status: 'completed' },
      { payment_type_id: 9, amount: 20, status: 'completed' },
    ]
    const sale = input({ payments, amount_received: 25, change: 15 })
    const { data } = recorded(await scenario.when(recordOfflineSale, sale, 'pdv'))
    expect(data.payments).to.deep.equal([
      { payment_type_id: CARD, name: 'Cartão', amount: '5.00', surcharge: '1.00', net: '4.00', status: 'completed' },
      { payment_type_id: 9, name: 'Notas', amount: '20.00', surcharge: '1.00', net: '4.00', status: 'completed' },
    ])
  })

  it('records discounts of lines in the lines, of the total in the sale [UP-20, UP-21, SALE-30]', async () => {
    const scenario = await given(...shop)
    const items = [
      { product_id: 10, quantity: 1, price: 10, total: 9 },
      { product_id: 11, quantity: 2, price: 4, total: 8 },
    ]
    const sale = input({ items, total: 15, amount_received: 15, ...paidBy(CASH, 'completed', 15) })
    const { warnings } = recorded(await scenario.when(recordOfflineSale, sale, 'pdv'))
    expect(warnings).to.deep.equal([
      warning('line_discount', { product_id: 10, found: '1.00', expected: '10.00' }),
      warning('discount', { found: '2.00', expected: '17.00' }),
    ])
    const shown = (await scenario.show(`sale/${FIRST_NEW_ID}`)) as { items: Record<string, string>[] }
    expect(shown).to.include({ subtotal: '17.00', discount: '2.00', delivery_fee: '0.00', total: '15.00' })
    expect(shown.items.map(({ total, discount, discount_share }) => [total, discount, discount_share])).to.deep.equal([
      ['9.00', '1.00', '1.06'],
      ['8.00', '0.00', '0.94'],
    ])
  })

  it('records the customer of the upload, in receivables too [UP-18]', async () => {
    const scenario = await given(...shop, customerCreated({ id: 4, external_id: 'c4' }))
    const sale = input({ customer_id: 4, ...paidBy(ACCOUNT) })
    expect(recorded(await scenario.when(recordOfflineSale, sale, 'pdv')).warnings).to.deep.equal([])
    const customer = { id: 4, external_id: 'c4', name: 'Ana' }
    expect(await scenario.show(`sale/${FIRST_NEW_ID}`)).to.deep.include({ customer, offline_id: 'pdv-1' })
    const owed = { customer_id: 4, customer_external_id: 'c4', customer_name: 'Ana' }
    expect(await scenario.show(`receivable/${FIRST_NEW_ID}`)).to.deep.include(owed)
  })

  it('records a deleted customer without the name [UP-18, PERSON-10]', async () => {
    const gone = event('CustomerDeleted', { id: 4 })
    const scenario = await given(...shop, customerCreated({ id: 4, external_id: 'c4' }), gone)
    await scenario.when(recordOfflineSale, input({ customer_id: 4 }), 'pdv')
    const customer = { id: 4, external_id: 'c4', name: 'Cliente excluído' }
    expect(await scenario.show(`sale/${FIRST_NEW_ID}`)).to.deep.include({ customer })
  })

  it('keeps the fiscal codes of the catalog [UP-36]', async () => {
    const codes = { ncm: '09012100', cfop: '5102', csosn: '102' }
    const scenario = await given(...shop, itemCreated({ id: 12, stock: '5.000', ...codes }))
    await scenario.when(recordOfflineSale, input(ofProduct(12)), 'pdv')
    const shown = (await scenario.show(`sale/${FIRST_NEW_ID}`)) as { items: object[] }
    expect(shown.items[0]).to.include(codes)
  })

  it('keeps card and Pix data of the payments', async () => {
    const scenario = await given(...shop, paymentTypeCreated({ id: 9, name: 'Pix', kind: 'pix' }))
    const card = {
      ...{ brand: 'visa', nsu: '004711', authorization: 'R07242', installments: 1 },
      ...{ acquirer_cnpj: '01027058000191', integrated: false },
    }
    const end_to_end_id = 'E00038166201907261559y6j6mt9l0pi'
    const payments = [
      { payment_type_id: CARD, amount: 4, status: 'completed', card: { ...card, holder: 'ignored' } },
      { payment_type_id: 9, amount: 6, status: 'completed', end_to_end_id },
    ]
    await scenario.when(recordOfflineSale, input({ payments }), 'pdv')
    const shown = (await scenario.show(`sale/${FIRST_NEW_ID}`)) as { payments: { card?: object }[] }
    expect(shown.payments[0]?.card).to.deep.equal(card)
    expect(shown.payments[1]).to.include({ end_to_end_id })
  })

  for (const [what, id] of [
    ['an untracked product', 11],
    ['a service', 12],
  ] as const)
    it(`moves no stock of ${what}`, async () => {
      const scenario = await given(...shop, itemCreated({ id: 12, type: 'service', name: 'Entrega' }))
      const { data } = recorded(await scenario.when(recordOfflineSale, input(ofProduct(id, 2)), 'pdv'))
      expect(data.items[0]).to.include({ catalog_item_id: id, moves_stock: false })
    })
})

describe('cancelled offline sale', () => {
  it('is recorded as cancelled, without stock movements or receivables, like any cancelled sale [UP-10]', async () => {
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

describe('repeated upload of an offline sale as cancelled', () => {
  const sale = input(ofProduct(10, 2))
  const restock = [{ catalog_item_id: 10, quantity: '2.000' }]
  const cancelled = { status: 'cancelled', created_at: '2026-03-10T14:00:00.000Z', ...ofProduct(10, 2) }
  const wordings: [string, object][] = [
    ['unchanged', cancelled],
    ['without payments', { ...cancelled, payments: [], amount_received: 0 }],
    ['with other payments', { ...cancelled, ...paidBy(CARD, 'completed', 20) }],
  ]
  for (const [what, fields] of wordings) {
    it(`cancels the sale, ${what}, permanently [UP-16]`, async () => {
      const scenario = await given(...shop)
      await scenario.when(recordOfflineSale, sale, 'pdv')
      const decided = await scenario.when(recordOfflineSale, input(fields), 'pdv')
      decided.accepts('updated', event('SaleCancelled', { id: FIRST_NEW_ID, reason: null, restock }))
      expect((decided.decision as Accepted).remarks).to.deep.equal({ warnings: [] })
      expect(await scenario.show('catalog_item/10')).to.include({ stock: '5.000' })
      for (const again of [input(fields), sale]) {
        const repeated = await scenario.when(recordOfflineSale, again, 'pdv')
        repeated.accepts('unchanged')
      }
    })
  }

  it('of another user needs the permission to cancel all [UP-1080]', async () => {
    const scenario = await given(...shop, userCreated({ id: 5 }), userCreated({ id: 6 }))
    const cancel = (sellerId: number, permit?: Permit) =>
      scenario.when(recordOfflineSale, { ...input(cancelled), sellerId }, 'pdv', `user/${sellerId}`, null, [], permit)
    const refuseAll: Permit = (permission) => refuse('permission_required', { permission })
    await scenario.when(recordOfflineSale, { ...sale, sellerId: 5 }, 'pdv')
    ;(await cancel(6, refuseAll)).refuses('permission_required', { permission: 'cancel_all' })
    const [own, asManager] = [await cancel(5, refuseAll), await cancel(6)]
    own.accepts('updated', event('SaleCancelled', { id: FIRST_NEW_ID, reason: null, restock }))
    asManager.accepts('unchanged')
  })

  it('warns of a drawer of another user [CASH-761]', async () => {
    const opened = by('user/5', cashSessionOpened({ session_id: 'gaveta' }))
    const scenario = await given(...shop, userCreated({ id: 5 }), userCreated({ id: 6 }), opened)
    await scenario.when(recordOfflineSale, { ...sale, sellerId: 5 }, 'pdv')
    const upload = { ...input({ ...cancelled, cash_session_id: 'gaveta' }), sellerId: 6 }
    const decided = await scenario.when(recordOfflineSale, upload, 'pdv')
    expect((decided.decision as Accepted).remarks).to.deep.equal({
      warnings: [warning('session_of_other', { found: 'gaveta' })],
    })
  })

  it('deletes its receivables [UP-12, UP-16]', async () => {
    const scenario = await given(...shop)
    await scenario.when(recordOfflineSale, input(paidBy(ACCOUNT)), 'pdv')
    const decided = await scenario.when(recordOfflineSale, input({ status: 'cancelled', ...paidBy(ACCOUNT) }), 'pdv')
    decided.accepts(
      'updated',
      event('SaleCancelled', { id: FIRST_NEW_ID, reason: null, restock: [{ catalog_item_id: 10, quantity: '1.000' }] }),
      event('ReceivableDeleted', { id: FIRST_NEW_ID }),
    )
  })

  it('changes nothing once the sale has a fiscal document [SALE-19, UP-16]', async () => {
    const scenario = await given(...shop)
    await scenario.when(recordOfflineSale, sale, 'pdv')
    await scenario.when(recordFiscalDocument, { id: FIRST_NEW_ID, number: '1', status: 'authorized' }, 'pdv')
    const decided = await scenario.when(recordOfflineSale, input(cancelled), 'pdv')
    decided.refuses('fiscal_document_issued')
  })

  const others: [string, object][] = [
    ['with another time', { created_at: '2026-03-10T15:00:00.000Z' }],
    ['with another quantity', ofProduct(10, 3)],
    ['with another product', { items: [{ product_id: 11, quantity: 2, price: 10, total: 20 }] }],
  ]
  for (const [what, fields] of others) {
    it(`is a different sale ${what}, and cancels nothing [UP-5]`, async () => {
      const scenario = await given(...shop)
      await scenario.when(recordOfflineSale, sale, 'pdv')
      const decided = await scenario.when(recordOfflineSale, input({ ...cancelled, ...fields }), 'pdv')
      decided.refuses('duplicate_resource', { field: 'offline_id', conflicting_id: FIRST_NEW_ID })
    })
  }

  it('keeps a cancelled sale cancelled when a late upload completes it [UP-16]', async () => {
    const scenario = await given(...shop)
    await scenario.when(recordOfflineSale, input(cancelled), 'pdv')
    const late = await scenario.when(recordOfflineSale, sale, 'pdv')
    late.accepts('unchanged')
  })
})

describe('offline sales projection', () => {
  it('records each upload under the till’s identifier', async () => {
    const warnings = [{ code: 'change_without_cash' as const, product_id: null, found: '1.00', expected: null }]
    const scenario = await given(...shop, offlineSaleCompleted({ id: 8, offline_id: 'a', warnings }))
    const row = (await scenario.rows(offlineSaleById('a'))).get(offlineSaleById('a'))
    expect(row).to.deep.include({ sale_id: 8, fingerprint: 'f'.repeat(64), actor: null, warnings })
  })
})
