import { expect } from 'chai'
import { event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/command.ts'
import { saleByExternalId, saleById, sales } from '#projections/sales.ts'
import { companyRegistered, fiscalDocument, itemCreated, saleCompleted } from '../support/facts.ts'
import { COMPANY_ID, from, given, lineageOf, minute } from '../support/given.ts'

const line = {
  catalog_item_id: 3,
  external_id: 'c',
  description: 'Café',
  quantity: '2.000',
  unit_price: '5.00',
  total: '10.00',
  moves_stock: true,
}
const adHoc = { ...line, catalog_item_id: null, external_id: null, description: 'Bolo', moves_stock: false }
const customer = { id: 4, external_id: null, name: 'Ana' }
const item = itemCreated({ id: 3, stock: '5.000' })
const sold = saleCompleted({ id: 8, external_id: 'x', customer, items: [line, adHoc] })
const ref = saleById(8)

describe('sales projection', () => {
  it('writes a row with all columns and the API’s object; the panel counts as the counter [PANEL-110]', async () => {
    const scenario = await given(companyRegistered(), item, from('panel', sold))
    const row = (await scenario.rows(ref)).get(ref)
    expect(row).to.have.all.keys(Object.keys(sales.columns))
    const { doc, ...columns } = row!
    expect(columns).to.deep.equal({
      company_id: COMPANY_ID,
      id: 8,
      external_id: 'x',
      status: 'completed',
      origin: 'pdv',
      customer_id: 4,
      seller_id: null,
      seller_name: null,
      sold_at: '2026-03-10T14:00:00.000Z',
      total_cents: 1000,
      cost_cents: null,
      received_cents: 1000,
      line_discounts: null,
      returned: null,
      cash_session_id: null,
      cancel_session_id: null,
      actor: null,
      access_key: null,
      fiscal: 'missing',
      documented_at: null,
      stock_moves: [{ catalog_item_id: 3, quantity: '2.000' }],
      receivable_ids: [],
      credit_cents: null,
      payment_type_ids: [1],
      ...lineageOf(2),
    })
    expect(doc).to.deep.include({ status: 'completed', origin: 'pdv', customer, change: '0.00' })
    expect(doc).to.include({ sold_at: '2026-03-10T11:00:00.000-03:00', created_at: '2026-03-10T12:02:00.000-03:00' })
    expect(doc).to.include({ fiscal_document: null, cancelled_at: null, cancel_reason: null })
    expect(doc.items[0]).to.have.all.keys(
      'catalog_item_id',
      'external_id',
      'description',
      'quantity',
      'unit_price',
      'total',
      'discount',
      'discount_share',
      'returned',
    )
  })

  it('stores the cost of all items at the time of sale, or null if one is unknown [PANEL-123]', async () => {
    const costly = itemCreated({ id: 3, stock: '5.000', cost: '3.33' })
    const dearer = event('CatalogItemUpdated', { id: 3, changes: { cost: '9.00' } })
    const weighed = { ...line, quantity: '1.500' }
    const cost = async (...events: readonly NewEvent[]) => {
      const scenario = await given(companyRegistered(), ...events)
      return (await scenario.rows(ref)).get(ref)?.cost_cents
    }
    expect(await cost(costly, saleCompleted({ id: 8, items: [weighed] }), dearer)).to.equal(500)
    expect(await cost(costly, dearer, saleCompleted({ id: 8, items: [weighed] }))).to.equal(1350)
    expect(await cost(costly, sold)).to.equal(null)
    expect(await cost(saleCompleted({ id: 8, items: [{ ...weighed, moves_stock: false }] }))).to.equal(null)
  })

  it('shows a cancellation and keeps the external id', async () => {
    const cancelled = event('SaleCancelled', { id: 8, reason: 'erro', restock: [] })
    const scenario = await given(companyRegistered(), item, sold, cancelled)
    const byExternalId = saleByExternalId('x')
    const row = (await scenario.rows(byExternalId)).get(byExternalId)
    expect(row).to.include({ id: 8, status: 'cancelled', revision: 3, changed_at: minute(3) })
    const at = '2026-03-10T12:03:00.000-03:00'
    expect(row?.doc).to.include({ status: 'cancelled', cancelled_at: at, cancel_reason: 'erro', updated_at: at })
  })

  it('records whether a completed sale has a valid fiscal document', async () => {
    const document = (status: 'authorized' | 'cancelled' | 'contingency') =>
      event('FiscalDocumentRecorded', { id: 8, ...fiscalDocument, status })
    const cancelled = event('SaleCancelled', { id: 8, reason: null, restock: [] })
    for (const [events, fiscal] of [
      [[document('contingency')], 'present'],
      [[document('authorized')], 'present'],
      [[document('cancelled')], 'missing'],
      [[cancelled], null],
      [[document('cancelled'), cancelled], null],
    ] as const) {
      const scenario = await given(companyRegistered(), item, sold, ...events)
      expect((await scenario.rows(ref)).get(ref)).to.include({ fiscal })
    }
  })

  it('shows the time of recording as issue time of a document in contingency', async () => {
    const document = event('FiscalDocumentRecorded', {
      id: 8,
      ...fiscalDocument,
      status: 'contingency',
      authorized_at: null,
    })
    const scenario = await given(companyRegistered(), item, sold, document)
    expect(await scenario.show('sale/8')).to.deep.include({
      fiscal_document: {
        ...fiscalDocument,
        status: 'contingency',
        authorized_at: null,
        issued_at: '2026-03-10T12:03:00.000-03:00',
      },
    })
  })

  it('shows times in the company’s zone, and names as of the sale [SALE-14]', async () => {
    const manaus = companyRegistered({ timezone: 'America/Manaus' })
    const renamed = event('CatalogItemUpdated', { id: 3, changes: { name: 'Café especial' } })
    const scenario = await given(manaus, item, sold, renamed)
    const shown = (await scenario.show('sale/8')) as { items: { description: string }[] }
    expect(shown).to.include({ sold_at: '2026-03-10T10:00:00.000-04:00' })
    expect(shown.items[0]?.description).to.equal('Café')
  })
})
