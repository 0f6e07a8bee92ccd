import { z } from 'zod'
import { refuse } from '#domain/refusal.ts'
import { Id, text } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { saleById } from '#projections/sales.ts'

/** Number of the authorized document, as the subscriber's fiscal software gives it. */
export const FiscalDocumentInput = z.strictObject({ id: Id, number: text(60) })
export type FiscalDocumentInput = z.infer<typeof FiscalDocumentInput>

/** Notes that a sale has an authorized fiscal document, after which it cannot be cancelled. The service issues none itself. */
export const authorizeFiscalDocument = command<FiscalDocumentInput>({
  needs: ({ id }) => [saleById(id)],
  decide(rows, { id, number }, { now }) {
    const sale = rows.get(saleById(id))
    if (!sale) return refuse('not_found')
    const known = sale.doc.fiscal_document
    if (known?.number === number) return accept('unchanged', `sale/${id}`)
    if (known) return refuse('fiscal_document_issued')
    if (sale.status === 'cancelled')
      return refuse('validation_failed', { fields: { sale: ['a venda está cancelada'] }, unknown_fields: [] })
    return accept('updated', `sale/${id}`, [event('FiscalDocumentAuthorized', { id, number, issued_at: now })])
  },
})
