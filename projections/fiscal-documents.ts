import { readAccessKey, withoutZeros } from '#domain/access-key.ts'
import type { DataOf } from '#events/catalogue.ts'
import { byPk, table } from '#ledger/table.ts'
import { companyRef } from './companies.ts'
import { projection } from './define.ts'

/** What a fiscal document is known by, and the sale that last recorded it. */
interface FiscalDocumentRow {
  company_id: number
  /** See `documentNames`. */
  name: string
  sale_id: number
  /** A cancelled document keeps its names, even if its sale has another document now. */
  is_cancelled: boolean
}

const fiscalDocuments = table<FiscalDocumentRow>('fiscal_documents', {
  columns: { company_id: 'bigint', name: 'text', sale_id: 'bigint', is_cancelled: 'boolean' },
  keys: { pk: ['company_id', 'name'] },
})

export const fiscalDocumentByName = (name: string) => byPk(fiscalDocuments, name)

type Identified = Pick<DataOf<'FiscalDocumentRecorded'>, 'model' | 'series' | 'number' | 'access_key'>

interface DocumentNames {
  /** Names that a recorded document takes. */
  readonly taken: readonly string[]
  /** Names under which another sale must not have recorded a document. */
  readonly exclusive: readonly string[]
}

/**
 * Names of a document: its key, and model, series and number. Branches of a company number their documents apart, so
 * two keys with one number are of two documents if their CNPJ differ; a document without a key may be of any branch.
 */
export function documentNames({ model, series, number, access_key }: Identified): DocumentNames {
  const numbered = model && series && number ? `${model} ${withoutZeros(series)} ${withoutZeros(number)}` : null
  if (access_key === null) {
    const own = numbered === null ? [] : [`keyless ${numbered}`]
    return { taken: own, exclusive: numbered === null ? [] : [...own, `keyed ${numbered}`] }
  }
  const key = `key ${access_key}`
  if (numbered === null) return { taken: [key], exclusive: [key] }
  const ofBranch = `${readAccessKey(access_key).cnpj} ${numbered}`
  return { taken: [key, ofBranch, `keyed ${numbered}`], exclusive: [key, ofBranch, `keyless ${numbered}`] }
}

export const fiscalDocumentsProjection = projection('fiscal_documents', [fiscalDocuments], {
  FiscalDocumentRecorded: {
    refs: ({ data }) => documentNames(data).taken.map(fiscalDocumentByName),
    apply(rows, { data }) {
      const { company_id } = companyRef(rows)
      const is_cancelled = data.status === 'cancelled'
      for (const name of documentNames(data).taken)
        rows.put(fiscalDocuments, { company_id, name, sale_id: data.id, is_cancelled })
    },
  },
})
