import { runAsSystem } from '#access/as-system.ts'
import { FiscalDocumentFields, recordFiscalDocument } from '#commands/sales/record-fiscal-document.ts'
import type { SaleObject } from '#projections/sales.ts'
import { accepted, checked, companyOf, given, idOf, optional, required, verb } from './verb.ts'

export const saleVerbs = {
  'fiscal-document': verb({
    summary: 'records the fiscal document of a sale, which cannot be cancelled while it is in force',
    flags: {
      company: required('ID'),
      sale: required('ID'),
      number: required('NUMBER'),
      status: optional('authorized|cancelled|contingency'),
      model: optional('CODE'),
      series: optional('SERIES'),
      'access-key': optional('KEY'),
      protocol: optional('PROTOCOL'),
      'authorized-at': optional('TIME'),
      'xml-sha256': optional('HEX'),
      'xml-url': optional('URL'),
    },
    async run(context, { company, sale, ...flags }) {
      const document = Object.entries(given(flags)).map(([flag, value]) => [flag.replaceAll('-', '_'), value])
      const id = idOf(sale)
      const input = { ...checked(FiscalDocumentFields, Object.fromEntries(document)), id }
      const core = await context.core()
      const companyId = await companyOf(core, company)
      return accepted(await runAsSystem<SaleObject>(core.writer, companyId, recordFiscalDocument, input))
    },
  }),
}
