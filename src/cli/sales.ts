import { authorizeFiscalDocument, FiscalDocumentInput } from '#commands/sales/authorize-fiscal-document.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { SaleObject } from '#projections/sales.ts'
import { accepted, checked, companyOf, idOf, type Verbs } from './verb.ts'

export const verbs: Verbs<'sale'> = {
  'sale fiscal-document': {
    async run(context, { company, sale, number }) {
      const input = checked(FiscalDocumentInput, { id: idOf(sale), number })
      const core = await context.core()
      const companyId = await companyOf(core, company)
      return accepted(await runAsSystem<SaleObject>(core.writer, companyId, authorizeFiscalDocument, input))
    },
  },
}
