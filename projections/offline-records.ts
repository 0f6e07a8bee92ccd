import type { EventOf } from '#events/catalogue.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef } from './companies.ts'
import { projection } from './define-projection.ts'

/** Item or customer by the identifier that a till gave it. */
interface OfflineRecordRow {
  company_id: number
  kind: 'item' | 'customer'
  offline_id: string
  record_id: number
  /** SHA-256 (hex) of an item as it was sent; null of a customer, of whom nothing may stay. */
  fingerprint: string | null
}

const offlineRecords = table<OfflineRecordRow>('offline_records', {
  about: 'Items and customers that tills have made, by offline_id.',
  columns: {
    company_id: 'bigint',
    kind: 'text',
    offline_id: 'text',
    record_id: 'bigint',
    fingerprint: 'text',
  },
  keys: { pk: ['company_id', 'kind', 'offline_id'] },
})

export const offlineRecord = (kind: OfflineRecordRow['kind'], offlineId: string) =>
  byPk(offlineRecords, kind, offlineId)

type Named = EventOf<'OfflineItemNamed'> | EventOf<'OfflineCustomerNamed'>

const named = (kind: OfflineRecordRow['kind'], fingerprintOf: (event: Named) => string | null) => ({
  apply(rows: Changes, event: Named) {
    const { id: record_id, offline_id } = event.data
    const { company_id } = companyRef(rows)
    rows.add(offlineRecords, { company_id, kind, offline_id, record_id, fingerprint: fingerprintOf(event) })
  },
})

export const offlineRecordsProjection = projection('offline_records', [offlineRecords], {
  OfflineItemNamed: named('item', ({ data }) => ('fingerprint' in data ? data.fingerprint : null)),
  OfflineCustomerNamed: named('customer', () => null),
})
