import { expect } from 'chai'
import { cancelSale } from '#commands/cancel-sale.ts'
import { OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { OfflineReturnInput, recordOfflineReturn } from '#commands/record-offline-return.ts'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import { recordRefusedReturn, resolveRefusedReturn } from '#commands/refused-upload-commands.ts'
import { refuse } from '#domain/refusals.ts'
import type { Permission } from '#domain/rights.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { isRefusal, type Permit } from '#ledger/command.ts'
import { companyRegistered, customerCreated, itemCreated, paymentTypeCreated, userCreated } from '../support/facts.ts'
import { type Decided, FIRST_NEW_ID, given, type Scenario } from '../support/given.ts'

const [CASH, ACCOUNT, STORE_CREDIT] = [1, 3, 4] as const
const shop = [
  companyRegistered(),
  paymentTypeCreated({ id: CASH }),
  paymentTypeCreated({ id: ACCOUNT, name: 'Crediário', kind: 'credit_account' }),
  paymentTypeCreated({ id: STORE_CREDIT, name: 'Troca', kind: 'exchange_credit' }),
  customerCreated({ id: 9, name: 'Eva' }),
  itemCreated({ id: 10, stock: '5.000' }),
  userCreated({ id: 3, role: 'owner' }),
  userCreated({ id: 4, email: 'rui@loja.example', role: 'clerk' }),
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
  scenario.when(recordOfflineReturn, { ...back(fields), userId: 3 }, 'pdv', 'user/3')
const sell = (scenario: Scenario, fields: object = {}, sellerId = 3) =>
  scenario.when(recordOfflineSale, { ...sale(fields), sellerId }, 'pdv', `user/${sellerId}`)

/** Why a return is kept for a person. */
function refusalIn({ decision }: Decided): unknown {
  if (isRefusal(decision)) return decision
  const refused = decision.events.find(({ type }) => type === 'ReturnRefused')
  return (refused?.data as DataOf<'ReturnRefused'> | undefined)?.code
}

function returnIn({ decision }: Decided): DataOf<'SaleReturned'> {
  if (isRefusal(decision)) throw new Error(`${decision.refused} ${JSON.stringify(decision.details)}`)
  return decision.events.find(({ type }) => type === 'SaleReturned')?.data as DataOf<'SaleReturned'>
}

/** Grants what is true, or up to so many cents. */
const permitOf =
  (granted: Partial<Record<Permission, boolean | number>>): Permit =>
  (permission, { cents, before } = { cents: 0, before: 0 }) => {
    const grant = granted[permission] ?? true
    return grant === true || (typeof grant === 'number' && cents + before <= grant) ? {} : refuse('permission_required')
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

  it('keeps more goods than are left, and more money than is due, whole for a person [UP-100]', async () => {
    const scenario = await given(...shop)
    await sell(scenario)
    expect(codesIn(await upload(scenario))).to.deep.equal([])
    for (const [n, fields, code] of [
      [1, { items: [{ line: 0, quantity: 1.001 }], refunds: [] }, 'already_returned'],
      [2, { refunds: [{ payment_type_id: CASH, amount: 5 }] }, 'payment_mismatch'],
      [3, { refunds: [{ payment_type_id: ACCOUNT, amount: 1 }] }, 'payment_mismatch'],
      [4, { refunds: [{ payment_type_id: STORE_CREDIT, amount: 5000 }] }, 'payment_mismatch'],
    ] as const) {
      const refused = await upload(scenario, { offline_id: `more${n}`, ...fields })
      expect(refusalIn(refused), code).to.equal(code)
      expect(refused.decision).to.deep.include({ remarks: { warnings: [], refusal: code } })
      const again = await upload(scenario, { offline_id: `more${n}`, ...fields })
      expect(again.decision).to.deep.include({ outcome: 'unchanged', remarks: { warnings: [], refusal: code } })
    }
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '4.000' })
    expect(await scenario.show(`sale/${FIRST_NEW_ID}`)).to.include({ returned_total: '5.00' })
    const rest = await upload(scenario, { offline_id: 'd3', refunds: [{ payment_type_id: CASH, amount: 4 }] })
    expect(returnIn(rest).warnings).to.deep.equal([
      { code: 'refund_differs', line: null, found: '4.00', expected: '4.99' },
    ])
  })

  it('keeps a return of a cancelled sale for a person, and restocks nothing again [UP-100]', async () => {
    const scenario = await given(...shop)
    await sell(scenario)
    await scenario.when(cancelSale, { id: FIRST_NEW_ID }, 'panel')
    expect(refusalIn(await upload(scenario))).to.equal('sale_cancelled')
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '5.000' })
  })

  it('is of own sales only without the right to see all, and within the limit of the role [UP-764]', async () => {
    const clerk = permitOf({ see_all_sales: false, return_goods: 4_00 })
    const bySale = { sale_offline_id: undefined, sale_id: FIRST_NEW_ID }
    const scenario = await given(...shop)
    await sell(scenario)
    await sell(scenario, { offline_id: 'v2' }, 4)
    const send = (fields: object) =>
      scenario.when(recordOfflineReturn, { ...back(fields), userId: 4 }, 'pdv', 'user/4', null, [], clerk)
    const unknown = { sale_offline_id: undefined, sale_id: 77 }
    const answers = [await send({ offline_id: 'a', ...bySale }), await send({ offline_id: 'b', ...unknown })]
    expect(answers.map(refusalIn)).to.deep.equal(['sale_unknown', 'sale_unknown'])
    const own = { sale_offline_id: 'v2' }
    expect(refusalIn(await send({ offline_id: 'c', ...own }))).to.equal('permission_required')
    const small = await send({ offline_id: 'd', ...own, refunds: [{ payment_type_id: CASH, amount: 4 }] })
    expect(small.decision).to.have.deep.nested.property('remarks.warnings', [
      { code: 'refund_differs', line: null, found: '4.00', expected: null },
    ])
    expect(returnIn(small).warnings).to.deep.equal([
      { code: 'refund_differs', line: null, found: '4.00', expected: '5.00' },
    ])
  })

  it('judges whose sale it is when a waiting return’s sale arrives [UP-101]', async () => {
    const scenario = await given(...shop)
    const send = (fields: object) => scenario.when(recordOfflineReturn, { ...back(fields), userId: 4 }, 'pdv', 'user/4')
    await send({ offline_id: 'a' })
    await send({ offline_id: 'b', sale_offline_id: 'v2' })
    expect(refusalIn(await sell(scenario))).to.equal('sale_unknown')
    expect(returnIn(await sell(scenario, { offline_id: 'v2' }, 4))).to.include({ returned_by: 4 })
  })

  it('waits 50 times a user, for at most seven days; a person records the rest [UP-101] [UP-763]', async () => {
    const scenario = await given(...shop)
    const nth = (n: number) => ({ offline_id: `w${n}`, sale_offline_id: `v${n}` })
    for (let n = 1; n <= 50; n++)
      expect((await upload(scenario, nth(n))).decision).to.have.nested.property('events[0].type', 'ReturnAwaited')
    expect(refusalIn(await upload(scenario, nth(51)))).to.equal('too_many_waiting')
    const other = { ...back({ offline_id: 'x' }), userId: 4 }
    const waits = await scenario.when(recordOfflineReturn, other, 'pdv', 'user/4')
    expect(waits.decision).to.have.nested.property('events[0].type', 'ReturnAwaited')
    await sell(scenario, { offline_id: 'v51' })
    const ofLast = { id: FIRST_NEW_ID + 50 }
    const recorded = await scenario.when(recordRefusedReturn, ofLast, 'panel', 'user/3')
    expect(returnIn(recorded)).to.include({ offline_id: 'w51', returned_by: 3, total: '5.00' })
    ;(await scenario.when(recordRefusedReturn, ofLast, 'panel')).accepts('unchanged')
    ;(await scenario.when(recordRefusedReturn, { id: FIRST_NEW_ID }, 'panel')).refuses('not_found')
    expect((await upload(scenario, nth(51))).decision).to.deep.include({ outcome: 'unchanged' })
  })

  it('is resolved by a person, whose words the till gets [UP-763]', async () => {
    const scenario = await given(...shop)
    await sell(scenario)
    const more = { items: [{ line: 0, quantity: 3 }] }
    await upload(scenario, more)
    const input = { id: FIRST_NEW_ID, note: 'Conferido' }
    ;(await scenario.when(recordRefusedReturn, input, 'panel')).refuses('return_refused', {
      reason: 'already_returned',
    })
    const resolved = await scenario.when(resolveRefusedReturn, input, 'panel')
    expect(resolved.decision).to.include({ outcome: 'updated' })
    ;(await scenario.when(resolveRefusedReturn, input, 'panel')).accepts('unchanged')
    ;(await scenario.when(recordRefusedReturn, input, 'panel')).refuses('not_found')
    expect((await upload(scenario, more)).decision).to.deep.include({
      remarks: { warnings: [], resolution: { note: 'Conferido' } },
    })
  })

  it('refuses unknown lines and payment types, and impossible times [UP-100] [UP-761]', async () => {
    const scenario = await given(...shop)
    await sell(scenario)
    for (const fields of [
      { items: [{ line: 1, quantity: 1 }] },
      { refunds: [{ payment_type_id: 99, amount: 5 }] },
      { returned_at: '9999-12-31T23:00:00.000Z' },
    ])
      expect((await upload(scenario, fields)).decision).to.include({ refused: 'validation_failed' })
    for (const fields of [{ sale_id: 1 }, { sale_offline_id: undefined }])
      expect(() => back(fields)).to.throw('informe exatamente um')
  })

  it('refuses totals that are too large [UP-100]', async () => {
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

  it('refuses lines that the sale of a waiting return lacks [UP-101]', async () => {
    const scenario = await given(...shop)
    await upload(scenario, {
      items: [
        { line: 0, quantity: 1 },
        { line: 1, quantity: 1 },
      ],
    })
    expect(refusalIn(await sell(scenario))).to.equal('already_returned')
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
    expect(returnIn(sold)).to.include({ id: FIRST_NEW_ID, total: '5.00', returned_by: 3 })
    expect(refusalIn(sold)).to.equal('already_returned')
    expect(await scenario.show(`return/${FIRST_NEW_ID}`)).to.include({ sale_id: FIRST_NEW_ID })
    expect(await scenario.show(`sale/${FIRST_NEW_ID}`)).to.include({ returned_total: '5.00' })
    ;(await upload(scenario)).accepts('unchanged')
    expect(await scenario.show('catalog_item/10')).to.include({ stock: '4.000' })
  })

  it('a till’s return lowers the debt of its sale, also if it waited [UP-100] [UP-101] [RETURN-5]', async () => {
    const onCredit = { payments: [{ payment_type_id: ACCOUNT, amount: 9.99, status: 'pending' }], customer_id: 9 }
    const refunds = [{ payment_type_id: ACCOUNT, amount: 5 }]
    for (const isBefore of [false, true]) {
      const scenario = await given(...shop)
      if (isBefore) await upload(scenario, { refunds })
      await sell(scenario, onCredit)
      if (!isBefore) expect(codesIn(await upload(scenario, { refunds }))).to.deep.equal([])
      expect(await scenario.show(`receivable/${FIRST_NEW_ID}`)).to.include({ open_amount: '4.99', status: 'pending' })
      const cash = await upload(scenario, { offline_id: 'd2', refunds: [{ payment_type_id: CASH, amount: 4.99 }] })
      expect(refusalIn(cash)).to.equal('payment_mismatch')
      const less = await upload(scenario, { offline_id: 'd3', refunds: [{ payment_type_id: ACCOUNT, amount: 4 }] })
      expect(codesIn(less)).to.deep.equal(['refund_differs', 'receivable_open'])
    }
  })

  it('gives store credit to the sale’s customer, or warns that there is none [CREDIT-1]', async () => {
    const scenario = await given(...shop)
    await sell(scenario)
    await sell(scenario, { offline_id: 'v2', customer_id: 9 })
    const refunds = [{ payment_type_id: STORE_CREDIT, amount: 5 }]
    const rest = [{ payment_type_id: STORE_CREDIT, amount: 4.99 }]
    expect(codesIn(await upload(scenario, { refunds }))).to.deep.equal(['credit_without_customer'])
    const unknown = await upload(scenario, { offline_id: 'd3', refunds: rest, customer_id: 987_654 })
    expect(returnIn(unknown)).not.to.have.property('credit')
    expect(returnIn(unknown).warnings).to.deep.include({
      ...{ code: 'credit_without_customer', line: null, found: '987654', expected: null },
    })
    const named = await upload(scenario, { offline_id: 'd2', sale_offline_id: 'v2', refunds })
    expect(returnIn(named).credit).to.deep.equal({ customer_id: 9, amount: '5.00' })
  })

  it('gives no store credit to deleted or erased customers [CREDIT-1] [UP-101]', async () => {
    const refunds = [{ payment_type_id: STORE_CREDIT, amount: 5 }]
    const rest = [{ payment_type_id: STORE_CREDIT, amount: 4.99 }]
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
        await upload(scenario, { offline_id: 'd3', refunds: rest, customer_id: 9 }),
        await upload(scenario, { offline_id: 'd4', sale_offline_id: 'v2', refunds: rest }),
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
