import { expect } from 'chai'
import { type CancelSaleInput, cancelSale } from '#commands/cancel-sale.ts'
import { recordFiscalDocument } from '#commands/fiscal-document-commands.ts'
import { fingerprintSale } from '#commands/offline-sale-input.ts'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import { type Refusal, refuse } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import type { Accepted, NewEvent, Permit } from '#ledger/command.ts'
import { offlineSaleById } from '#projections/fiscal-documents.ts'
import { stockById } from '#projections/stock.ts'
import {
  cashSessionOpened,
  customerCreated,
  itemCreated,
  noCustomer,
  offlineSale,
  offlineSaleCancelled,
  offlineSaleCompleted,
  paymentTypeCreated,
  receivableCreated,
  receivablePaid,
  userCreated,
} from '../support/facts.ts'
import { by, FIRST_NEW_ID, given } from '../support/given.ts'
import { ACCOUNT, CARD, CASH, input, ofProduct, paidBy, recorded, shop, warning } from './offline-company.ts'

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
        fingerprint: fingerprintSale(sale),
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
  it('is recorded as cancelled, without stock movements or receivables, like any cancelled sale [UP-16]', async () => {
    const scenario = await given(...shop)
    const sale = input({ status: 'cancelled', ...paidBy(ACCOUNT, 'pending') })
    const decided = await scenario.when(recordOfflineSale, sale, 'pdv')
    const [payment] = offlineSale.payments
    decided.accepts(
      'created',
      offlineSaleCancelled({
        id: FIRST_NEW_ID,
        fingerprint: fingerprintSale(sale),
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

describe('warnings of an offline sale', () => {
  const cases: [string, object, object[]][] = [
    ['exceeds the stock', ofProduct(10, 6), [warning('negative_stock', { product_id: 10, found: '-1.000' })]],
    ['sells the whole stock', ofProduct(10, 5), []],
    [
      'differs from the catalog price',
      ofProduct(10, 1, 9),
      [warning('price_differs', { product_id: 10, found: '9.00', expected: '10.00' })],
    ],
    [
      'has a pending payment that is not on credit',
      paidBy(CASH, 'pending'),
      [warning('payment_pending', { found: 'Dinheiro' })],
    ],
    [
      'gives change for a card',
      { amount_received: 12, change: 2, ...paidBy(CARD, 'completed', 12) },
      [warning('change_without_cash', { found: '2.00' })],
    ],
    ['has an unknown customer', { customer_id: 99 }, [warning('customer_unknown', { found: '99' })]],
    ['has a deleted customer', { customer_id: 4 }, [warning('customer_deleted', { found: '4' })]],
    [
      'was paid by card, with a received amount of zero',
      { amount_received: 0, ...paidBy(CARD) },
      [warning('amount_received_differs', { found: '0.00', expected: '10.00' })],
    ],
    ['is at most five minutes ahead', { created_at: '2026-03-10T15:13:00.000Z' }, []],
    [
      'is from the future',
      { created_at: '2026-03-10T15:13:00.001Z' },
      [warning('created_at_in_future', { found: '2026-03-10T15:13:00.001Z', expected: '2026-03-10T15:08:00.000Z' })],
    ],
    ['is from the day before the product was made', { created_at: '2026-03-09T15:07:00.000Z' }, []],
    [
      'is older than its product',
      { created_at: '2026-03-09T14:00:00.000Z' },
      [warning('created_at_old', { found: '2026-03-09T14:00:00.000Z', expected: '2026-03-09T15:04:00.000Z' })],
    ],
    [
      'was cancelled before it was made',
      { status: 'cancelled', cancelled_at: '2026-03-10T13:59:59.000Z' },
      [
        warning('cancelled_at_before_sale', {
          found: '2026-03-10T13:59:59.000Z',
          expected: '2026-03-10T14:00:00.000Z',
        }),
      ],
    ],
    [
      'is cancelled in the future',
      { status: 'cancelled', cancelled_at: '2026-03-10T15:13:00.001Z' },
      [warning('cancelled_at_in_future', { found: '2026-03-10T15:13:00.001Z', expected: '2026-03-10T15:08:00.000Z' })],
    ],
  ]
  it('records a sale to an erased customer without the name [UP-18, PRIV-6]', async () => {
    const forgotten = event('PersonForgotten', {
      kind: 'customer',
      id: 5,
      ground: 'holder_request',
      reason: null,
      parts: ['identity', 'contact'],
      subjects: ['customer/5'],
    })
    const scenario = await given(...shop, customerCreated({ id: 5, name: 'Eva' }), forgotten)
    const { decision } = await scenario.when(recordOfflineSale, input({ customer_id: 5 }), 'pdv')
    expect(decision).to.deep.nested.property('remarks.warnings', [warning('customer_forgotten', { found: '5' })])
    expect(decision).to.deep.nested.property('events[0].data.customer', { id: 5, external_id: null, name: null })
  })

  for (const [what, fields, warnings] of cases) {
    it(`records a sale that ${what} [UP-6, UP-762]`, async () => {
      const scenario = await given(...shop, customerCreated({ id: 4 }), event('CustomerDeleted', { id: 4 }))
      expect(recorded(await scenario.when(recordOfflineSale, input(fields), 'pdv')).warnings).to.deep.equal(warnings)
    })
  }

  it('adds up the lines of a product before checking the stock [UP-6]', async () => {
    const scenario = await given(...shop)
    const line = { product_id: 10, quantity: 3, price: 10, total: 30 }
    const sale = input({ ...ofProduct(10, 6), items: [line, line] })
    const { warnings } = recorded(await scenario.when(recordOfflineSale, sale, 'pdv'))
    expect(warnings).to.deep.equal([warning('negative_stock', { product_id: 10, found: '-1.000' })])
  })

  it('records the sale of a product deactivated meanwhile [UP-6]', async () => {
    const scenario = await given(...shop, event('CatalogItemDeactivated', { id: 10 }))
    const { warnings } = recorded(await scenario.when(recordOfflineSale, input(), 'pdv'))
    expect(warnings).to.deep.equal([warning('product_deactivated', { product_id: 10 })])
    expect((await scenario.rows(stockById(10))).get(stockById(10))?.stock).to.equal('4.000')
  })
})

describe('refused offline sales', () => {
  it('refuses a different sale under a used identifier [UP-5]', async () => {
    const scenario = await given(...shop, offlineSaleCompleted({ id: 8 }))
    const decided = await scenario.when(recordOfflineSale, input(), 'pdv')
    decided.refuses('duplicate_resource', { field: 'offline_id', conflicting_id: 8 })
  })

  it('reports every contradictory amount [UP-7]', async () => {
    const scenario = await given(...shop)
    const sale = input({ total: 20, items: [{ product_id: 10, quantity: 1, price: 10, total: 10.02 }] })
    const { decision } = await scenario.when(recordOfflineSale, sale, 'pdv')
    expect((decision as Refusal).refused).to.equal('validation_failed')
    expect((decision as Refusal).details?.fields).to.have.all.keys('items[0].total', 'total', 'change')
  })

  it('reports every unknown product and payment type [UP-9]', async () => {
    const scenario = await given(...shop)
    const item = { product_id: 99, quantity: 1, price: 5, total: 5 }
    const sale = input({
      items: [item, { ...item, product_id: 10 }, { ...item, product_id: 98 }],
      total: 15,
      amount_received: 15,
      ...paidBy(77, 'completed', 15),
    })
    const decided = await scenario.when(recordOfflineSale, sale, 'pdv')
    const unknown = ['produto não encontrado']
    decided.refuses('validation_failed', {
      fields: {
        'items[0].product_id': unknown,
        'items[2].product_id': unknown,
        'payments[0].payment_type_id': ['forma de pagamento não encontrada'],
      },
      unknown_fields: [],
    })
  })

  for (const [field, details] of [
    ['card', { card: { brand: 'visa' } }],
    ['end_to_end_id', { end_to_end_id: 'E1' }],
  ] as const)
    it(`refuses ${field} of a payment in cash`, async () => {
      const scenario = await given(...shop)
      const payments = paidBy(CASH).payments.map((payment) => ({ ...payment, ...details }))
      const { decision } = await scenario.when(recordOfflineSale, input({ payments }), 'pdv')
      expect((decision as Refusal).refused).to.equal('validation_failed')
      expect((decision as Refusal).details?.fields).to.have.all.keys(`payments[0].${field}`)
    })

  it('refuses stock below the limit', async () => {
    const scenario = await given(...shop)
    const sale = (offline_id: string) => input({ ...ofProduct(10, 999_999_999, 0.01), offline_id })
    recorded(await scenario.when(recordOfflineSale, sale('a'), 'pdv'))
    const decided = await scenario.when(recordOfflineSale, sale('b'), 'pdv')
    decided.refuses('validation_failed', {
      fields: { 'items[0].quantity': ['o estoque resultante é negativo demais'] },
      unknown_fields: [],
    })
  })
})
