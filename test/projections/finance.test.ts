import { expect } from 'chai'
import { event } from '#events/catalogue.ts'
import {
  payableById,
  payables,
  receivableByExternalId,
  receivableById,
  receivablePayments,
  receivables,
} from '#projections/finance.ts'
import {
  companyRegistered,
  noCustomer,
  payableCreated,
  plainAccount,
  type plainPayment,
  receivableCreated,
  receivablePaid,
  settlement,
} from '../support/facts.ts'
import { COMPANY_ID, from, given, lineageOf, minute } from '../support/given.ts'

const ana = { customer_id: 9, customer_external_id: 'c9', customer_name: 'Ana' }
const created = receivableCreated({ id: 3, external_id: 'a', ...ana })
const paid = receivablePaid(3)
const settled = event('ReceivableSettled', { id: 3, ...settlement })
const byId = receivableById(3)
const at = (time: string) => `2026-03-10T${time}.000-03:00`

describe('receivables projection', () => {
  it('writes a row with all columns, and the API’s object without clock-dependent fields', async () => {
    const scenario = await given(companyRegistered(), created)
    const row = (await scenario.rows(byId)).get(byId)
    expect(row).to.have.all.keys(Object.keys(receivables.columns))
    expect(row).to.deep.equal({
      company_id: COMPANY_ID,
      id: 3,
      external_id: 'a',
      party_id: 9,
      origin: 'api',
      status: 'pending',
      amount_cents: 10_000,
      open_cents: 10_000,
      reduced_cents: 0,
      due_date: '2026-03-10',
      settled_on: null,
      installment_group: null,
      search: 'aluguel\na',
      deleted_at: null,
      ...lineageOf(1),
      doc: {
        ...created.data,
        installment: null,
        metadata: null,
        status: 'pending',
        paid_amount: '0.00',
        open_amount: '100.00',
        paid_at: null,
        payment_method: null,
        settled_on: null,
        payments: [],
        created_at: at('12:01:00'),
        updated_at: at('12:01:00'),
      },
    })
  })

  it('keeps the receivable of a sale, which is found by the id in the sale', async () => {
    const scenario = await given(
      companyRegistered(),
      from('pdv', receivableCreated({ id: 4, origin: 'sale', sale_id: 8 })),
    )
    const row = (await scenario.rows(receivableById(4))).get(receivableById(4))
    expect(row).to.include({ origin: 'sale', status: 'pending' })
    expect(row?.doc).to.include({ origin: 'sale', sale_id: 8 })
  })

  it('updates the columns that repeat fields of the object', async () => {
    const changes = { ...noCustomer, external_id: null, amount: '7.50', due_date: '2026-04-01' }
    const scenario = await given(companyRegistered(), created, event('ReceivableUpdated', { id: 3, changes }))
    const row = (await scenario.rows(byId)).get(byId)
    expect(row).to.include({
      external_id: null,
      party_id: null,
      amount_cents: 750,
      due_date: '2026-04-01',
      revision: 2,
    })
    expect(row?.doc).to.include({ ...changes, created_at: at('12:01:00'), updated_at: at('12:02:00') })
  })

  it('settles with the accounting date of the event, and paid_at in the company’s zone', async () => {
    const scenario = await given(companyRegistered(), created, paid, settled)
    const row = (await scenario.rows(byId)).get(byId)
    expect(row).to.include({ status: 'settled', settled_on: '2026-03-10', revision: 2 })
    expect(row?.doc).to.include({ status: 'settled', payment_method: 'pix', settled_on: '2026-03-10' })
    expect(row?.doc.paid_at).to.equal(at('12:00:00'))
  })

  it('keeps each payment, what it covers, and a row of what was received on its day [ACCT-100]', async () => {
    const part = receivablePaid(3, { amount: '30.00', interest: '1.50', fine: '0.50', discount: '2.00' })
    const reversed = event('ReceivablePaymentReversed', { id: 3, payment_id: 2, reason: 'Engano' })
    const scenario = await given(companyRegistered(), created, part)
    const row = () => scenario.rows(byId).then((rows) => rows.get(byId))
    const { paid_at: _, ...amounts } = part.data as typeof plainPayment & { id: number }
    expect(await row()).to.include({ status: 'pending', open_cents: 7000, settled_on: null })
    expect((await row())?.doc.payments).to.deep.equal([
      {
        ...amounts,
        id: 2,
        received: '30.00',
        paid_at: at('12:00:00'),
        receipt: 2,
        cash_session_id: null,
        order_id: null,
        created_at: at('12:02:00'),
        reversed_at: null,
        reversal_reason: null,
      },
    ])
    await scenario.happens(reversed)
    expect(await row()).to.include({ status: 'pending', open_cents: 10_000 })
    expect((await row())?.doc.payments[0]).to.include({ reversed_at: at('12:03:00'), reversal_reason: 'Engano' })
    const rows = scenario.changed(receivablePayments)
    expect(rows.map(({ received_cents, paid_on, reverses }) => [received_cents, paid_on, reverses])).to.deep.equal([
      [3000, '2026-03-10', null],
      [-3000, '2026-03-10', 2],
    ])
  })

  it('counts nothing as received for goods that came back [ACCT-103]', async () => {
    const scenario = await given(companyRegistered(), created, receivablePaid(3, { kind: 'return', amount: '100.00' }))
    expect(await scenario.show('receivable/3')).to.include({ status: 'settled', open_amount: '0.00' })
    expect(scenario.changed(receivablePayments)[0]).to.include({ kind: 'return', received_cents: 0 })
  })

  it('keeps a deleted receivable with its external id, and revives it under the same id', async () => {
    const deleted = event('ReceivableDeleted', { id: 3 })
    const gone = await given(companyRegistered(), created, deleted)
    const byExternalId = receivableByExternalId('a')
    expect((await gone.rows(byExternalId)).get(byExternalId)).to.include({ id: 3, deleted_at: minute(2) })
    const fields = { ...plainAccount, ...noCustomer, external_id: 'a', amount: '1.00' }
    const revived = event('ReceivableRevived', { id: 3, ...fields })
    const back = await given(companyRegistered(), created, deleted, revived)
    const row = (await back.rows(byId)).get(byId)
    expect(row).to.include({ deleted_at: null, party_id: null, amount_cents: 100, status: 'pending', revision: 3 })
    expect(row?.doc).to.include({ ...fields, created_at: at('12:01:00'), updated_at: at('12:03:00') })
  })
})

describe('payables projection', () => {
  it('keeps payables separate from receivables, with their supplier', async () => {
    const horta = { supplier_id: 2, supplier_external_id: null, supplier_name: 'Horta' }
    const scenario = await given(companyRegistered(), payableCreated({ id: 3, ...horta }))
    const rows = await scenario.rows(payableById(3), byId)
    expect(rows.get(payableById(3))).to.have.all.keys(Object.keys(payables.columns))
    expect(rows.get(payableById(3))?.doc).to.include(horta)
    expect(rows.get(payableById(3))).to.include({ party_id: 2 })
    expect(rows.get(byId)).to.equal(null)
  })
})

describe('is_overdue', () => {
  /** Rendered at an instant, for an account due on 2026-03-10. */
  const overdue = async (timezone: string, now: string, ...more: ReturnType<typeof event>[]) => {
    const scenario = await given(companyRegistered({ timezone }), created, ...more)
    return ((await scenario.show('receivable/3', now)) as { is_overdue: boolean }).is_overdue
  }

  it("starts after the due day in the company's zone [ACCT-4]", async () => {
    for (const [timezone, last, first] of [
      ['America/Sao_Paulo', '2026-03-11T02:59:59.999Z', '2026-03-11T03:00:00.000Z'],
      ['Pacific/Kiritimati', '2026-03-10T09:59:59.999Z', '2026-03-10T10:00:00.000Z'],
      ['Pacific/Pago_Pago', '2026-03-11T10:59:59.999Z', '2026-03-11T11:00:00.000Z'],
      ['Asia/Kathmandu', '2026-03-10T18:14:59.999Z', '2026-03-10T18:15:00.000Z'],
    ] as const) {
      expect(await overdue(timezone, last), `${timezone} ${last}`).to.equal(false)
      expect(await overdue(timezone, first), `${timezone} ${first}`).to.equal(true)
    }
  })

  it('ends with the settlement, also a late one [ACCT-4]', async () => {
    expect(await overdue('America/Sao_Paulo', '2027-01-01T00:00:00.000Z')).to.equal(true)
    expect(await overdue('America/Sao_Paulo', '2027-01-01T00:00:00.000Z', paid, settled)).to.equal(false)
  })

  it('is the last field, and not stored in the row', async () => {
    const scenario = await given(companyRegistered(), created)
    const shown = (await scenario.show('receivable/3')) as object
    expect(Object.keys(shown).at(-1)).to.equal('is_overdue')
    expect((await scenario.rows(byId)).get(byId)?.doc).not.to.have.property('is_overdue')
  })
})
