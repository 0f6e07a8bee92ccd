import { toCents } from '#domain/money.ts'
import type { DataOf } from '#events/catalogue.ts'
import { type Grant, isRefusal, type Permit } from '#ledger/command.ts'
import { dueBack, type MoneyDue, type SaleMoney } from './money-back.ts'
import { returnedLines, sumOfParts } from './offline-return-fact.ts'
import { type ReturnableSale, sumCents, worthOf } from './returned-goods.ts'

export type ReturnRefusal = DataOf<'ReturnRefused'>['code']

/** A sale as a return of a till is held against it. */
export interface JudgedSale {
  readonly sellerId: number | null
  readonly isCancelled: boolean
  readonly goods: ReturnableSale
  readonly money: SaleMoney
  /** What was returned of it before, in cents; and in the same decision, which the user's day does not count yet. */
  readonly before: number
  readonly together: number
}

type Sent = Pick<DataOf<'ReturnAwaited'>, 'items' | 'refunds' | 'on_credit'>

/** Whether a user may return goods of a sale: one of the user's own, without the permission to see all. */
export const mayReturn = ({ sellerId }: Pick<JudgedSale, 'sellerId'>, userId: number, permit: Permit): boolean =>
  sellerId === userId || !isRefusal(permit('see_all_sales'))

/**
 * What is due for a return of a till, or why it is refused: money and goods that a till gives are facts as far as they
 * were the buyer's (UP-100). Lines that the sale lacks have nothing left.
 */
export function judgeReturn(
  sent: Sent,
  { isCancelled, goods, money, before, together }: JudgedSale,
  permit: Permit,
): { readonly due: MoneyDue; readonly granted: Grant } | ReturnRefusal {
  if (isCancelled) return 'sale_cancelled'
  const lines = returnedLines(sent)
  for (const { line, thousandths } of lines) {
    const of = goods.lines[line]
    if (!of || thousandths > of.sold.thousandths - of.returned.thousandths) return 'already_returned'
  }
  const [total, onCredit] = [sumOfParts(sent.refunds), toCents(sent.on_credit)]
  const due = dueBack(money, sumCents(worthOf(goods, lines)))
  if (onCredit > due.on_credit || total - onCredit > due.total - due.on_credit) return 'payment_mismatch'
  const granted = permit('return_goods', { cents: total + together, before })
  return isRefusal(granted) ? 'permission_required' : { due, granted }
}
