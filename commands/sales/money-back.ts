import { toCents } from '#domain/money.ts'
import type { Rows } from '#ledger/working-set.ts'
import { type AccountObject, receivableById, standingPayments } from '#projections/finance.ts'
import type { SaleRow } from '#projections/sales.ts'

/** Money of a sale and of its accounts, in cents. */
export interface SaleMoney {
  /** When it was sold, and since then for its accounts. */
  readonly received: number
  /** Still owed for it. */
  readonly open: number
  /** Given back for its goods, without what lowered its accounts. */
  readonly given_back: number
}

export type SoldMoney = Pick<SaleRow, 'status' | 'received_cents'> & {
  readonly doc: Pick<SaleRow['doc'], 'returned_total'>
}
export type SaleAccount = Pick<AccountObject<unknown>, 'open_amount' | 'payments'>

const sumOf = (amounts: readonly string[]): number => amounts.reduce((sum, amount) => sum + toCents(amount), 0)

/** Of a sale with its accounts, deleted ones left out. A cancellation gave everything back. */
export function moneyOf({ status, received_cents, doc }: SoldMoney, accounts: readonly SaleAccount[]): SaleMoney {
  if (status === 'cancelled') return { received: 0, open: 0, given_back: 0 }
  const payments = accounts.flatMap(standingPayments)
  const lowered = payments.flatMap(({ kind, amount }) => (kind === 'return' ? [amount] : []))
  return {
    received: received_cents + sumOf(payments.map(({ received }) => received)),
    open: sumOf(accounts.map(({ open_amount }) => open_amount)),
    given_back: toCents(doc.returned_total) - sumOf(lowered),
  }
}

/** The same of loaded rows. */
export function saleMoney(rows: Rows, sale: SoldMoney & Pick<SaleRow, 'receivable_ids'>): SaleMoney {
  const accounts = sale.receivable_ids.flatMap((id) => {
    const account = rows.get(receivableById(id))
    return account && account.deleted_at === null ? [account.doc] : []
  })
  return moneyOf(sale, accounts)
}

/** What is due for goods, in cents, and the part of it that lowers what is owed. */
export interface MoneyDue {
  readonly total: number
  readonly on_credit: number
}

/**
 * What is due for goods that come back, in cents (RETURN-780): first less is owed for the sale, then money goes back, at
 * most what was received. What was neither received nor is owed, is not due.
 */
export function dueBack({ received, open, given_back }: SaleMoney, goods: number): MoneyDue {
  const on_credit = Math.min(open, goods)
  const money = Math.min(goods - on_credit, Math.max(received - given_back, 0))
  return { on_credit, total: on_credit + money }
}
