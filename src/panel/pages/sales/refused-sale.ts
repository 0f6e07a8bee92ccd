import { OfflineSaleInput } from '#commands/sales/offline-sale-input.ts'
import { pathId } from '#http/paths.ts'
import { getRefusedSale, type RefusedSale, type RefusedSaleDetails } from '#queries/sales/offline-sales.ts'
import type { PageContext } from '../../route.ts'

export const REFUSED_SALES_PATH = '/caixas/recusadas'

/** The refused sale of a path; null if it does not exist. */
export async function refusedSaleOf({ readModel, params }: PageContext): Promise<RefusedSaleDetails | null> {
  const id = pathId(params.id)
  return id === null ? null : getRefusedSale(readModel.reader, id)
}

export const refusedTitle = ({ offline_id }: RefusedSale): string =>
  `Venda recusada: ${offline_id || 'sem identificação'}`

/** Why a refused sale cannot be recorded, even corrected; null if it can. */
export function recordingObstacle({ settled_at, sent, code }: RefusedSaleDetails): string | null {
  if (settled_at !== null) return 'Esta venda já está resolvida.'
  if (sent === null) return 'A venda era grande demais para ser guardada: registre o valor de outra forma.'
  const isCancellation = ['already_settled', 'has_payments', 'fiscal_document_issued'].includes(code)
  return isCancellation ? 'A venda já está registrada e não pode mais ser cancelada.' : null
}

/** Why it cannot be recorded unchanged: a malformed upload cannot. */
export function asIsObstacle(sale: RefusedSaleDetails): string | null {
  const isWhole = OfflineSaleInput.safeParse(sale.payload).success
  return recordingObstacle(sale) ?? (isWhole ? null : 'Faltam dados para registrar a venda: corrija-a.')
}
