import { authorizeFiscalDocument, FiscalDocumentInput } from '#commands/sales/authorize-fiscal-document.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { SaleObject } from '#projections/sales.ts'
import { accepted, checked, companyOf, idOf, required, verb } from './verb.ts'

export const saleVerbs = {
  'fiscal-document': verb({
    summary: 'notes that a sale has an authorized fiscal document, so that it cannot be cancelled any more',
    flags: { company: required('ID'), sale: required('ID'), number: required('NUMBER') },
    async run(context, { company, sale, number }) {
      const input = checked(FiscalDocumentInput, { id: idOf(sale), number })
      const core = await context.core()
      const companyId = await companyOf(core, company)
      return accepted(await runAsSystem<SaleObject>(core.writer, companyId, authorizeFiscalDocument, input))
    },
  }),
}
