import type { DataOf, EventOf } from '#events/catalogue.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyOf } from './companies.ts'
import { projection } from './define.ts'

export type OfflineSaleWarning = DataOf<'OfflineSaleCompleted'>['warnings'][number]

/** A sale that a till has uploaded, by the till's own identifier: a repeated upload finds it here. */
export interface OfflineSaleRow {
  company_id: number
  offline_id: string
  sale_id: number
  fingerprint: string
  /** Who uploaded it, as `user/3`, and when it was recorded. */
  actor: string | null
  recorded_at: string
  warnings: readonly OfflineSaleWarning[]
}

/** SQL: of rows that somebody should look at, which are few. */
export const HAS_WARNINGS = 'json_array_length(warnings) > 0'

export const offlineSales = table<OfflineSaleRow>('offline_sales', {
  columns: {
    company_id: 'bigint',
    offline_id: 'text',
    sale_id: 'bigint',
    fingerprint: 'text',
    actor: 'text',
    recorded_at: 'timestamptz',
    warnings: 'json',
  },
  keys: { pk: ['company_id', 'offline_id'] },
  indexes: ['(company_id, sale_id)', `(company_id, sale_id) where ${HAS_WARNINGS}`],
})

export const offlineSaleById = (offlineId: string) => byPk(offlineSales, offlineId)

function remember(rows: Changes, event: EventOf<'OfflineSaleCompleted'> | EventOf<'OfflineSaleCancelled'>): void {
  const { id, offline_id, fingerprint, warnings } = event.data
  const { company_id } = companyOf(rows)
  const { actor, recorded_at } = event
  rows.add(offlineSales, { company_id, offline_id, sale_id: id, fingerprint, actor, recorded_at, warnings })
}

export const offlineSalesProjection = projection('offline_sales', [offlineSales], {
  OfflineSaleCompleted: { apply: remember },
  OfflineSaleCancelled: { apply: remember },
})
