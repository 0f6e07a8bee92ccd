import { FiscalDocumentFields, recordFiscalDocument } from '#commands/sales/record-fiscal-document.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { SaleObject } from '#projections/sales.ts'
import { accepted, companyIdFrom, givenFlags, parseIdArgument, type Verbs, validateInput } from './verb.ts'

export const verbs: Verbs<'sale'> = {
  'sale fiscal-document': {
    async run(context, { company, sale, ...flags }) {
      const document = Object.entries(givenFlags(flags)).map(([flag, value]) => [flag.replaceAll('-', '_'), value])
      const id = parseIdArgument(sale)
      const input = { ...validateInput(FiscalDocumentFields, Object.fromEntries(document)), id }
      const { core, companyId } = await companyIdFrom(context, company)
      return accepted(await runAsSystem<SaleObject>(core.writer, companyId, recordFiscalDocument, input))
    },
  },
}
