import { signBytes } from './chain.ts'
import { save, show, type Till } from './context.ts'
import { fittingBytes, receiptCodes } from './printed-code.ts'
import type { Recorded, SaleElement } from './records.ts'

/** Shows a sale that is on the disk; a code of a former device cannot be signed any more. */
export async function showReceipt(till: Till, sale: Recorded<SaleElement>): Promise<void> {
  const { key } = till.chain
  const isOwn = sale.element.till.id === till.store.get().device?.id
  const bytes = fittingBytes(sale)
  const codes =
    key && isOwn && sale.element.status === 'completed' ? receiptCodes(bytes, await signBytes(key, bytes)) : []
  show(till, { name: 'receipt', key: sale.key, codes })
  save(till, { shown: sale.key })
}
