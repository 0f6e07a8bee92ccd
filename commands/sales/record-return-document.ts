import { IMPOSSIBLE, isImpossible } from '#domain/instant.ts'
import { invalid, refuse } from '#domain/refusal.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { ownCompany } from '#projections/companies.ts'
import { fiscalDocumentByName } from '#projections/fiscal-documents.ts'
import { returnById } from '#projections/returns.ts'
import { changedRecordFields, isEmpty } from '../records.ts'
import {
  type DocumentFacts,
  findOtherHolder,
  findWrongKey,
  holdersOf,
  isSameDocument,
  namesOf,
  toDocumentFacts,
} from './record-fiscal-document.ts'

/**
 * Records the fiscal document of a return as its issuer reports it. An authorized document is cancelled before
 * another takes its place; repeating it records nothing.
 */
export const recordReturnDocument = command<DocumentFacts & { readonly id: number }>({
  permission: 'return_goods',
  needs: ({ id, ...document }) => [ownCompany, returnById(id), ...namesOf(document).map(fiscalDocumentByName)],
  needsMore: (rows, document) => holdersOf(rows, document),
  decide(rows, { id, ...document }, { now }) {
    const of = rows.get(returnById(id))
    if (!of) return refuse('not_found')
    const known = of.doc.fiscal_document && toDocumentFacts(of.doc.fiscal_document)
    const isSame = known !== null && isSameDocument(known, document)
    if (document.authorized_at && isImpossible(document.authorized_at, now)) return invalid('authorized_at', IMPOSSIBLE)
    if (known?.status === 'authorized' && !isSame) return refuse('fiscal_document_issued')
    if (isSame && known.status === 'cancelled' && document.status !== 'cancelled')
      return invalid('status', 'um documento cancelado não volta a valer')
    if (isSame && known.status === 'authorized' && document.status === 'contingency')
      return invalid('status', 'um documento autorizado não volta à contingência')
    const holder = { sale_id: of.sale_id, return_id: id }
    const refused = findWrongKey(rows, document, now) ?? findOtherHolder(rows, holder, document, document)
    if (refused) return refused
    if (known && isEmpty(changedRecordFields(known, document))) return accept('unchanged', `return/${id}`)
    return accept('updated', `return/${id}`, [event('ReturnDocumentRecorded', { id, ...document })])
  },
})
