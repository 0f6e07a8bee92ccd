import type { AccountObject, AccountPayment } from '#projections/finance.ts'
import type { Reader } from '../reader.ts'
import { t } from '../table-names.ts'
import type { BalanceSide } from './open-balances.ts'

const PAYMENTS = { receivables: 'receivable_payments', payables: 'payable_payments' } as const

/** Accounts of a receipt: as many as one payment has at most. */
const MAX_LINES = 50

/** An account of a receipt, with the payment that the receipt is of. */
export interface ReceiptLine<P> {
  readonly account: AccountObject<P>
  readonly payment: AccountPayment
}

/** Accounts that were paid together, the oldest due date first; empty if there is no such receipt. */
export async function readAccountReceipt<P>(
  reader: Reader,
  side: BalanceSide,
  receipt: number,
): Promise<ReceiptLine<P>[]> {
  const { rows } = await reader.query<{ account: AccountObject<P>; payment_id: number }>({
    name: `account_receipt_${side}`,
    text: `select t.doc as account, p.revision as payment_id
      from ${t[PAYMENTS[side]]} p join ${t[side]} t on t.company_id = p.company_id and t.id = p.account_id
      where p.company_id = $1 and p.receipt = $2 and p.reverses is null
      order by t.due_date, t.id limit ${MAX_LINES}`,
    values: [receipt],
  })
  return rows.flatMap(({ account, payment_id }) => {
    const payment = account.payments.find(({ id }) => id === payment_id)
    return payment ? [{ account, payment }] : []
  })
}
