import { refuse } from '#domain/refusal.ts'
import { accept, command } from '#ledger/command.ts'
import { offlineSaleById } from '#projections/sales.ts'
import type { OfflineSale } from './offline-sale-input.ts'
import { warning } from './offline-sale-warnings.ts'
import { offlineSaleNeeds, recordSale } from './record-offline-sale.ts'

/** A sale of a till that was refused, and that a person records: as it was sent, or corrected. */
export interface RefusedSaleRecording {
  readonly sale: OfflineSale
  /** Of what the till has sent, by which it is known when it comes again. */
  readonly fingerprint: string
  readonly how: 'recorded_as_is' | 'recorded_corrected'
  /** Why, in the person's words. */
  readonly reason: string
}

/**
 * Records what a till could not get recorded (UP-17). As it is, amounts may contradict each other, and what the company does
 * not have is called by its number; corrected, it is judged as an upload is.
 */
export const recordRefusedSale = command<RefusedSaleRecording>({
  needs: ({ sale }) => offlineSaleNeeds(sale),
  decide(rows, { sale, fingerprint, how, reason }, context) {
    const known = rows.get(offlineSaleById(sale.offline_id))
    if (known?.fingerprint === fingerprint) return accept('unchanged', `sale/${known.sale_id}`)
    if (known) return refuse('duplicate_resource', { field: 'offline_id', conflicting_id: known.sale_id })
    const remark = warning(how, { found: reason })
    return recordSale(rows, sale, context, { fingerprint, remark, asIs: how === 'recorded_as_is' })
  },
})
