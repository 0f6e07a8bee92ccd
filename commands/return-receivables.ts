import type { NewEvent } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { receivableById } from '#projections/finance.ts'
import type { SaleRow } from '#projections/sales.ts'
import { goodsReturnedEvents } from './pay-accounts.ts'
import { receivableSide } from './receivables-payables.ts'

type OfCredit = Pick<SaleRow, 'receivable_ids'>

/** Accounts of a sale on credit. */
export const receivableRefs = ({ receivable_ids }: OfCredit): AnyRef[] => receivable_ids.map(receivableById)

/** Accounts of the sale that are still owed, oldest first, with what is open of them in cents. */
const openAccounts = (rows: Rows, { receivable_ids }: OfCredit): { id: number; cents: number }[] =>
  receivable_ids.flatMap((id) => {
    const account = rows.get(receivableById(id))
    return account && !account.deleted_at && account.open_cents > 0 ? [{ id, cents: account.open_cents }] : []
  })

/** What the buyer still owes for the sale, in cents. */
export const openOf = (rows: Rows, sale: OfCredit): number =>
  openAccounts(rows, sale).reduce((sum, { cents }) => sum + cents, 0)

/** Events that lower the open accounts of a sale by an amount in cents, as far as they are open. */
export function lowerReceivables(rows: Rows, sale: OfCredit, cents: number, at: string): NewEvent[] {
  let left = cents
  return openAccounts(rows, sale).flatMap(({ id, cents: open }) => {
    const part = Math.min(open, left)
    left -= part
    return part === 0 ? [] : goodsReturnedEvents(receivableSide, rows, id, { cents: part, at })
  })
}
