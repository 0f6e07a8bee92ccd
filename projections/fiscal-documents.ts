import { readAccessKey, withoutZeros } from '#domain/fiscal-values.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef } from './companies.ts'
import { existing, projection } from './define-projection.ts'
import { returnById } from './returns.ts'
import type { SaleRow } from './sales.ts'
import { stockMoves } from './stock.ts'

/** What a fiscal document is known by, and the sale or return that last recorded it. */
interface FiscalDocumentRow {
  company_id: number
  /** See `documentNames`. */
  name: string
  /** The sale, also of a return. */
  sale_id: number
  /** Null for the document of the sale itself. */
  return_id: number | null
  /** A cancelled document keeps its names, even if its sale or return has another document now. */
  is_cancelled: boolean
}

const fiscalDocuments = table<FiscalDocumentRow>('fiscal_documents', {
  about: 'Fiscal documents of sales and returns, by key and by number.',
  columns: { company_id: 'bigint', name: 'text', sale_id: 'bigint', return_id: 'bigint', is_cancelled: 'boolean' },
  keys: { pk: ['company_id', 'name'] },
})

export const fiscalDocumentByName = (name: string) => byPk(fiscalDocuments, name)

type Identified = Pick<DataOf<'FiscalDocumentRecorded'>, 'model' | 'series' | 'number' | 'access_key'>

interface DocumentNames {
  /** Names that a recorded document takes. */
  readonly taken: readonly string[]
  /** Names under which another sale or return must not have recorded a document. */
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

/** What has a document: a sale, or a return of one. */
export type DocumentHolder = Pick<FiscalDocumentRow, 'sale_id' | 'return_id'>

function takeNames(
  rows: Changes,
  document: Identified & { readonly status: string },
  { sale_id, return_id }: DocumentHolder,
): void {
  const { company_id } = companyRef(rows)
  const is_cancelled = document.status === 'cancelled'
  for (const name of documentNames(document).taken)
    rows.put(fiscalDocuments, { company_id, name, sale_id, return_id, is_cancelled })
}

export const fiscalDocumentsProjection = projection('fiscal_documents', [fiscalDocuments], {
  FiscalDocumentRecorded: {
    refs: ({ data }) => documentNames(data).taken.map(fiscalDocumentByName),
    apply: (rows, { data }) => takeNames(rows, data, { sale_id: data.id, return_id: null }),
  },
  ReturnDocumentRecorded: {
    refs: ({ data }) => [returnById(data.id), ...documentNames(data).taken.map(fiscalDocumentByName)],
    apply: (rows, { data }) =>
      takeNames(rows, data, { sale_id: existing(rows, returnById(data.id)).sale_id, return_id: data.id }),
  },
})

export type OfflineSaleWarning = DataOf<'OfflineSaleCompleted'>['warnings'][number]

/** Uploaded sale by the till's identifier, for detecting repeated uploads. */
export interface OfflineSaleRow {
  company_id: number
  offline_id: string
  sale_id: number
  fingerprint: string
  /** Uploading actor, as `user/3`, and time of recording. */
  actor: string | null
  recorded_at: string
  revision: number
  warnings: readonly OfflineSaleWarning[]
  /** Copied from the sale, so that one query loads what a cancellation changes. */
  stock_moves: SaleRow['stock_moves']
  receivable_ids: readonly number[]
  cash_session_id: string | null
}

/** SQL of a partial index: sales with warnings, which are few. */
export const HAS_WARNINGS = 'json_array_length(warnings) > 0'

const offlineSales = table<OfflineSaleRow>('offline_sales', {
  about: 'Uploaded sales by offline_id, with their fingerprint.',
  columns: {
    company_id: 'bigint',
    offline_id: 'text',
    sale_id: 'bigint',
    fingerprint: 'text',
    actor: 'text',
    recorded_at: 'timestamptz',
    revision: 'bigint',
    warnings: 'json',
    stock_moves: 'json',
    receivable_ids: 'json',
    cash_session_id: 'text',
  },
  keys: { pk: ['company_id', 'offline_id'] },
  indexes: ['(company_id, sale_id)', `(company_id, sale_id) where ${HAS_WARNINGS}`],
  past: { id: 'sale_id', isFixed: true },
})

export const offlineSaleById = (offlineId: string) => byPk(offlineSales, offlineId)

type OfflineSaleEvent = EventOf<'OfflineSaleCompleted'> | EventOf<'OfflineSaleCancelled'>

function recordUpload(
  rows: Changes,
  { actor, recorded_at, revision, data }: OfflineSaleEvent,
  receivable_ids: readonly number[],
): void {
  const { id: sale_id, offline_id, fingerprint, warnings, items, cash_session_id = null } = data
  const { company_id } = companyRef(rows)
  const known = { company_id, offline_id, sale_id, fingerprint, actor, recorded_at, revision, warnings }
  rows.add(offlineSales, { ...known, stock_moves: stockMoves(items), receivable_ids, cash_session_id })
}

export const offlineSalesProjection = projection('offline_sales', [offlineSales], {
  OfflineSaleCompleted: { apply: (rows, event) => recordUpload(rows, event, event.data.receivable_ids) },
  OfflineSaleCancelled: { apply: (rows, event) => recordUpload(rows, event, []) },
})
