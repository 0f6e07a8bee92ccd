import type { DataOf, EventOf } from '#events/catalogue.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef } from './companies.ts'
import { projection } from './define.ts'
import type { SaleRow } from './sales.ts'
import { stockMoves } from './stock.ts'

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
