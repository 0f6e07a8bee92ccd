import { refuse } from '#domain/refusal.ts'
import { accept, command } from '#ledger/command.ts'
import { offlineSaleById } from '#projections/offline-sales.ts'
import { awaitedDetailRefs } from './awaited-returns.ts'
import type { OfflineSaleUpload } from './offline-sale-input.ts'
import { warning } from './offline-sale-warnings.ts'
import { newSaleRefs, offlineSaleNeeds, recordSale } from './record-offline-sale.ts'

/** Refused till sale that a person records, unchanged or corrected. */
export interface RefusedSaleRecording {
  readonly sale: OfflineSaleUpload
  /** Fingerprint of the till's upload, which detects a repeated one. */
  readonly fingerprint: string
  readonly how: 'recorded_as_is' | 'recorded_corrected'
  /** Reason in the person's words. */
  readonly reason: string
}

/**
 * Records a sale that was refused on upload (UP-17). Recorded as is, amounts may contradict each other and unknown
 * products are named by number. A corrected sale is checked like an upload.
 */
export const recordRefusedSale = command<RefusedSaleRecording>({
  permission: 'sell',
  needs: ({ sale }) => offlineSaleNeeds(sale),
  needsMore: (rows, { sale }) => newSaleRefs(rows, sale),
  needsLast: (rows, { sale }) => awaitedDetailRefs(rows, sale.offline_id),
  decide(rows, { sale, fingerprint, how, reason }, context) {
    const known = rows.get(offlineSaleById(sale.offline_id))
    if (known?.fingerprint === fingerprint) return accept('unchanged', `sale/${known.sale_id}`)
    if (known) return refuse('duplicate_resource', { field: 'offline_id', conflicting_id: known.sale_id })
    const remark = warning(how, { found: reason })
    return recordSale(rows, sale, context, { fingerprint, remark, asIs: how === 'recorded_as_is' })
  },
})
