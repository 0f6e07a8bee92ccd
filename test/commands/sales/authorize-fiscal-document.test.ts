import { expect } from 'chai'
import { authorizeFiscalDocument } from '#commands/sales/authorize-fiscal-document.ts'
import { event } from '#events/catalogue.ts'
import { companyRegistered, saleCompleted } from '../../support/facts.ts'
import { given, minute } from '../../support/given.ts'

const input = { id: 8, number: 'NFC-e 1' }
const sold = saleCompleted({ id: 8 })

describe('authorize fiscal document', () => {
  it('shows the document on the sale [SALE-20]', async () => {
    const scenario = await given(companyRegistered(), sold)
    const decided = await scenario.when(authorizeFiscalDocument, input)
    decided.accepts('updated', event('FiscalDocumentAuthorized', { ...input, issued_at: minute(2) }))
    expect(await scenario.show('sale/8')).to.deep.include({
      status: 'completed',
      fiscal_document: { status: 'authorized', number: 'NFC-e 1', issued_at: '2026-03-10T12:02:00.000-03:00' },
    })
  })

  it('takes the same number again, and refuses another [SALE-20]', async () => {
    const scenario = await given(companyRegistered(), sold)
    await scenario.when(authorizeFiscalDocument, input)
    const again = await scenario.when(authorizeFiscalDocument, input)
    again.accepts('unchanged')
    const other = await scenario.when(authorizeFiscalDocument, { id: 8, number: 'NFC-e 2' })
    other.refuses('fiscal_document_issued')
  })

  it('refuses cancelled sales and finds no missing ones [SALE-20]', async () => {
    const cancelled = event('SaleCancelled', { id: 8, reason: null, restock: [] })
    const scenario = await given(companyRegistered(), sold, cancelled)
    const decided = await scenario.when(authorizeFiscalDocument, input)
    decided.refuses('validation_failed', { fields: { sale: ['a venda está cancelada'] }, unknown_fields: [] })
    const missing = await scenario.when(authorizeFiscalDocument, { id: 9, number: '1' })
    missing.refuses('not_found')
  })
})
