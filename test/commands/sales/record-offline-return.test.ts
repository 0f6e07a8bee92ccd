import { expect } from 'chai'
import { cancelSale } from '#commands/sales/cancel-sale.ts'
import { OfflineReturnInput } from '#commands/sales/offline-return-input.ts'
import { OfflineSaleInput } from '#commands/sales/offline-sale-input.ts'
import { recordOfflineReturn } from '#commands/sales/record-offline-return.ts'
import { recordOfflineSale } from '#commands/sales/record-offline-sale.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { isRefusal } from '#ledger/command.ts'
import { companyRegistered, customerCreated, itemCreated, paymentTypeCreated } from '../../support/facts.ts'
import { type Decided, FIRST_NEW_ID, given, type Scenario } from '../../support/given.ts'

const [CASH, ACCOUNT, STORE_CREDIT] = [1, 3, 4] as const
const shop = [
  companyRegistered(),
  paymentTypeCreated({ id: CASH }),
  paymentTypeCreated({ id: ACCOUNT, name: 'Crediário', kind: 'credit_account' }),
  paymentTypeCreated({ id: STORE_CREDIT, name: 'Troca', kind: 'exchange_credit' }),
  customerCreated({ id: 9, name: 'Eva' }),
  itemCreated({ id: 10, stock: '5.000' }),
]

/** Two units for 9.99 together. */
const sale = (fields: object = {}) =>
  OfflineSaleInput.parse({
    offline_id: 'v1',
    status: 'completed',
    created_at: '2026-03-10T14:00:00.000Z',
    items: [{ product_id: 10, quantity: 2, price: 5, total: 9.99 }],
    payments: [{ payment_type_id: CASH, amount: 9.99, status: 'completed' }],
    total: 9.99,
    ...fields,
  })

const back = (fields: object = {}) =>
  OfflineReturnInput.parse({
    offline_id: 'd1',
    sale_offline_id: 'v1',
    reason: 'Defeito',
    returned_at: '2026-03-10T14:30:00.000Z',
    items: [{ line: 0, quantity: 1 }],
    refunds: [{ payment_type_id: CASH, amount: 5 }],
    ...fields,
  })

const upload = (scenario: Scenario, fields: object = {}) =>
  scenario.when(recordOfflineReturn, back(fields), 'pdv', 'user/3')
const sell = (scenario: Scenario, fields: object = {}) =>
  scenario.when(recordOfflineSale, sale(fields), 'pdv', 'user/3')

function returnIn({ decision }: Decided): DataOf<'SaleReturned'> {
  if (isRefusal(decision)) throw new Error(`${decision.refused} ${JSON.stringify(decision.details)}`)
  return decision.events.find(({ type }) => type === 'SaleReturned')?.data as DataOf<'SaleReturned'>
}

const codesIn = (decided: Decided): unknown => returnIn(decided).warnings?.map(({ code }) => code) ?? []

describe('record offline return', () => {
  it('records goods that a till took back, once per identifier [UP-100]', async () => {
    const scenario = await given(...shop)
    await sell(scenario)
    const decided = await upload(scenario, { cash_session_id: 's1' })
    expect(returnIn(decided)).to.deep.include({
      sale_id: FIRST_NEW_ID,
      total: '5.00',
      cash_session_id: 's1',
      offline_id: 'd1',
      stock: [{ catalog_item_id: 10, quantity: '1.000' }],
    })
    expect(codesIn(decided)).to.deep.equal([])
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '4.000' })
    const again = await upload(scenario, { cash_session_id: 's1' })
    again.accepts('unchanged')
    expect(again.decision).to.include({ subject: `return/${FIRST_NEW_ID}` })
    const other = await upload(scenario, { items: [{ line: 0, quantity: 2 }] })
    other.refuses('duplicate_resource', { field: 'offline_id', conflicting_id: FIRST_NEW_ID })
  })

  it('records more than was sold and other amounts than are due with warnings; the items sum to what was given back [UP-100]', async () => {
    const scenario = await given(...shop)
    await sell(scenario)
    expect(codesIn(await upload(scenario))).to.deep.equal([])
    const more = await upload(scenario, {
      offline_id: 'd2',
      items: [{ line: 0, quantity: 3 }],
      refunds: [{ payment_type_id: CASH, amount: 20 }],
    })
    expect(returnIn(more).warnings).to.deep.equal([
      { code: 'returned_more', line: 0, found: '3.000', expected: '1.000' },
      { code: 'refund_differs', line: null, found: '20.00', expected: '4.99' },
    ])
    expect(returnIn(more).items[0]).to.include({ amount: '20.00', quantity: '3.000' })
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '7.000' })
  })

  it('records a return of a cancelled sale with a warning, and restocks nothing again [UP-100]', async () => {
    const scenario = await given(...shop)
    await sell(scenario)
    await scenario.when(cancelSale, { id: FIRST_NEW_ID }, 'panel')
    const decided = await upload(scenario)
    expect(codesIn(decided)).to.deep.equal(['sale_cancelled'])
    expect(returnIn(decided).stock).to.deep.equal([])
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '5.000' })
  })

  it('refuses unknown sales, lines and payment types [UP-100]', async () => {
    const scenario = await given(...shop)
    await sell(scenario)
    for (const fields of [
      { sale_offline_id: undefined, sale_id: 77 },
      { items: [{ line: 1, quantity: 1 }] },
      { refunds: [{ payment_type_id: 99, amount: 5 }] },
    ])
      expect((await upload(scenario, fields)).decision).to.include({ refused: 'validation_failed' })
    for (const fields of [{ sale_id: 1 }, { sale_offline_id: undefined }])
      expect(() => back(fields)).to.throw('informe exatamente um')
  })

  it('refuses totals and stock that are too large [UP-100]', async () => {
    for (const fields of [
      {
        items: [
          { line: 0, quantity: 999_999_999.999 },
          { line: 1, quantity: 1 },
        ],
      },
      {
        refunds: [
          { payment_type_id: CASH, amount: 9_999_999_999.99 },
          { payment_type_id: CASH, amount: 0.01 },
        ],
      },
    ])
      expect(() => back(fields)).to.throw('grande demais')
    const scenario = await given(...shop)
    await sell(scenario)
    const full = await upload(scenario, { items: [{ line: 0, quantity: 999_999_999 }] })
    full.refuses('validation_failed', {
      fields: { items: ['o estoque resultante do item 10 é grande demais'] },
      unknown_fields: [],
    })
  })

  it('knows a return again by either name of its sale, and with a session that is a number [UP-100]', async () => {
    const scenario = await given(...shop)
    await sell(scenario)
    await sell(scenario, { offline_id: 'v2' })
    expect(returnIn(await upload(scenario, { cash_session_id: 7 }))).to.include({ cash_session_id: '7' })
    const byId = { sale_offline_id: undefined, sale_id: FIRST_NEW_ID }
    ;(await upload(scenario, byId)).accepts('unchanged')
    for (const other of [{ sale_offline_id: undefined, sale_id: FIRST_NEW_ID + 1 }, { sale_offline_id: 'v2' }])
      (await upload(scenario, other)).refuses('duplicate_resource', {
        field: 'offline_id',
        conflicting_id: FIRST_NEW_ID,
      })
    await upload(scenario, { offline_id: 'd2', sale_offline_id: 'v3' })
    ;(await upload(scenario, { offline_id: 'd2', sale_offline_id: 'v3' })).accepts('unchanged')
    const ofOther = await upload(scenario, { ...byId, offline_id: 'd2' })
    expect(ofOther.decision).to.include({ refused: 'duplicate_resource' })
  })

  it('joins lines that the sale of a waiting return lacks to its last line, and warns [UP-101]', async () => {
    const scenario = await given(...shop)
    await upload(scenario, {
      items: [
        { line: 0, quantity: 2 },
        { line: 1, quantity: 1, restock: false },
      ],
      refunds: [{ payment_type_id: CASH, amount: 15 }],
    })
    const returned = returnIn(await sell(scenario))
    expect(returned.items).to.have.length(1)
    expect(returned.items[0]).to.include({ line: 0, quantity: '3.000', amount: '15.00', restock: false })
    expect(returned.warnings).to.deep.equal([
      { code: 'returned_more', line: 0, found: '3.000', expected: '2.000' },
      { code: 'refund_differs', line: null, found: '15.00', expected: '9.99' },
    ])
  })

  it('keeps a return that comes before its sale, and records it with the sale [UP-101]', async () => {
    const scenario = await given(...shop)
    const kept = await upload(scenario)
    kept.accepts('created', ...(isRefusal(kept.decision) ? [] : kept.decision.events))
    expect(kept.decision).to.have.nested.property('events[0].type', 'ReturnAwaited')
    expect(kept.decision).to.deep.include({ remarks: { warnings: [], isAwaited: true } })
    expect(await scenario.show(`return/${FIRST_NEW_ID}`)).to.equal(null)
    const second = await upload(scenario, { offline_id: 'd2', items: [{ line: 0, quantity: 2 }] })
    second.accepts('created', ...(isRefusal(second.decision) ? [] : second.decision.events))
    ;(await upload(scenario)).accepts('unchanged')
    const sold = await sell(scenario)
    if (isRefusal(sold.decision)) throw new Error(sold.decision.refused)
    const returned = sold.decision.events
      .filter(({ type }) => type === 'SaleReturned')
      .map(({ data }) => data as DataOf<'SaleReturned'>)
    expect(returned.map(({ id, total }) => [id, total])).to.deep.equal([
      [FIRST_NEW_ID, '5.00'],
      [FIRST_NEW_ID + 1, '5.00'],
    ])
    expect(returned[1]?.warnings?.map(({ code }) => code)).to.deep.equal(['returned_more', 'refund_differs'])
    expect(await scenario.show(`return/${FIRST_NEW_ID}`)).to.include({ sale_id: FIRST_NEW_ID })
    expect(await scenario.show(`sale/${FIRST_NEW_ID}`)).to.include({ returned_total: '10.00' })
    ;(await upload(scenario)).accepts('unchanged')
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '6.000' })
  })

  it('lowers what is owed for the sale as far as the till says, also of a return that waited [UP-100] [UP-101] [RETURN-5]', async () => {
    const onCredit = { payments: [{ payment_type_id: ACCOUNT, amount: 9.99, status: 'pending' }], customer_id: 9 }
    const refunds = [{ payment_type_id: ACCOUNT, amount: 5 }]
    for (const isBefore of [false, true]) {
      const scenario = await given(...shop)
      if (isBefore) await upload(scenario, { refunds })
      await sell(scenario, onCredit)
      if (!isBefore) expect(codesIn(await upload(scenario, { refunds }))).to.deep.equal([])
      expect(await scenario.show(`receivable/${FIRST_NEW_ID}`)).to.include({ open_amount: '4.99', status: 'pending' })
      const cash = await upload(scenario, { offline_id: 'd2', refunds: [{ payment_type_id: CASH, amount: 4.99 }] })
      expect(codesIn(cash)).to.deep.equal(['receivable_open'])
    }
  })

  it('gives store credit to the sale’s customer, or warns that there is none [CREDIT-1]', async () => {
    const scenario = await given(...shop)
    await sell(scenario)
    await sell(scenario, { offline_id: 'v2', customer_id: 9 })
    const refunds = [{ payment_type_id: STORE_CREDIT, amount: 5 }]
    expect(codesIn(await upload(scenario, { refunds }))).to.deep.equal(['credit_without_customer'])
    const unknown = await upload(scenario, { offline_id: 'd3', refunds, customer_id: 987_654 })
    expect(returnIn(unknown)).not.to.have.property('credit')
    expect(returnIn(unknown).warnings).to.deep.include({
      ...{ code: 'credit_without_customer', line: null, found: '987654', expected: null },
    })
    const named = await upload(scenario, { offline_id: 'd2', sale_offline_id: 'v2', refunds })
    expect(returnIn(named).credit).to.deep.equal({ customer_id: 9, amount: '5.00' })
  })

  it('gives no store credit to customers that are deleted or erased, at once or with the sale [CREDIT-1] [UP-101]', async () => {
    const refunds = [{ payment_type_id: STORE_CREDIT, amount: 5 }]
    for (const gone of [
      event('CustomerDeleted', { id: 9 }),
      event('PersonForgotten', {
        kind: 'customer',
        id: 9,
        parts: ['identity', 'contact'],
        ground: 'holder_request',
        reason: null,
        subjects: ['customer/9'],
      }),
    ]) {
      const scenario = await given(...shop)
      await upload(scenario, { refunds, customer_id: 9 })
      await upload(scenario, { offline_id: 'd2', sale_offline_id: 'v2', refunds })
      await scenario.happens(gone)
      const waiting = [await sell(scenario), await sell(scenario, { offline_id: 'v2', customer_id: 9 })]
      const late = [
        await upload(scenario, { offline_id: 'd3', refunds, customer_id: 9 }),
        await upload(scenario, { offline_id: 'd4', sale_offline_id: 'v2', refunds }),
      ]
      for (const decided of [...waiting, ...late]) {
        expect(returnIn(decided)).not.to.have.property('credit')
        expect(codesIn(decided)).to.include('credit_without_customer')
      }
    }
  })

  it('gives store credit of a waiting return to the customer that it names [CREDIT-1] [UP-101]', async () => {
    const scenario = await given(...shop)
    await upload(scenario, { refunds: [{ payment_type_id: STORE_CREDIT, amount: 5 }], customer_id: 9 })
    expect(returnIn(await sell(scenario)).credit).to.deep.equal({ customer_id: 9, amount: '5.00' })
  })

  it('bars the cancelled copy of the sale [RETURN-6]', async () => {
    const scenario = await given(...shop)
    await sell(scenario)
    await upload(scenario)
    ;(await sell(scenario, { status: 'cancelled' })).refuses('sale_returned')
  })
})
