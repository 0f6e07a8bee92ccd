import * as z from 'zod'
import { fromCents, toBigCents, toCents } from '#domain/money.ts'
import { refuse } from '#domain/refusals.ts'
import { boundedText } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import type { PaymentKind } from '#events/company-events.ts'
import { accept, command, type Grant, isRefusal, type NewEvent, type Permit } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { cashSessionByName } from '#projections/cash-sessions.ts'
import { receivableById, standingPayments } from '#projections/finance.ts'
import { type ReturnRow, returnById } from '#projections/returns.ts'
import { type SaleRow, saleById } from '#projections/sales.ts'
import { getStock, stockById } from '#projections/stock.ts'
import { creditByCustomer, getCreditBalance } from '#projections/store-credit.ts'
import { paymentTypeById } from '#projections/stores.ts'
import { voucherBalance, voucherByCode, voucherParts } from '#projections/vouchers.ts'
import { dueBack, type MoneyDue, type SaleMoney } from './money-back.ts'
import { namedSessionRefs } from './named-drawers.ts'
import { sumOfParts, toReturnLines } from './offline-returns.ts'
import { receivableRefs, receivableSide } from './receivables-payables.ts'
import { type ReturnableSale, shareWorth, sumCents } from './returned-goods.ts'

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
 * were the buyer's. Lines that the sale lacks have nothing left.
 */
export function judgeReturn(
  sent: Sent,
  { isCancelled, goods, money, before, together }: JudgedSale,
  permit: Permit,
): { readonly due: MoneyDue; readonly granted: Grant } | ReturnRefusal {
  if (isCancelled) return 'sale_cancelled'
  const lines = toReturnLines(sent)
  for (const { line, thousandths } of lines) {
    const of = goods.lines[line]
    if (!of || thousandths > of.sold.thousandths - of.returned.thousandths) return 'already_returned'
  }
  const [total, onCredit] = [sumOfParts(sent.refunds), toCents(sent.on_credit)]
  const due = dueBack(money, sumCents(shareWorth(goods, lines)))
  if (onCredit > due.on_credit || total - onCredit > due.total - due.on_credit) return 'payment_mismatch'
  const granted = permit('return_goods', { cents: total + together, before })
  return isRefusal(granted) ? 'permission_required' : { due, granted }
}

/** Body of POST /returns/{id}/reverse. */
export const ReverseReturnBody = z.strictObject({ reason: boundedText(500) })
type ReverseReturnInput = z.infer<typeof ReverseReturnBody> & { readonly id: number }

/** Undoes a return that was recorded by mistake: the goods are sold again, and nothing was given back. */
export const reverseReturn = command<ReverseReturnInput>({
  needs: ({ id }) => [returnById(id)],
  needsMore(rows, { id }) {
    const known = rows.get(returnById(id))
    if (!known) return []
    const { credit_customer_id: customerId, stock, refunds } = known.doc
    return [
      saleById(known.sale_id),
      ...(customerId === null ? [] : [creditByCustomer(customerId)]),
      ...stock.map(({ catalog_item_id }) => stockById(catalog_item_id)),
      ...refunds.map(({ payment_type_id }) => paymentTypeById(payment_type_id)),
      ...voucherParts(refunds).map(({ voucher }) => voucherByCode(voucher)),
      ...namedSessionRefs(known.cash_session_id),
    ]
  },
  needsLast(rows, { id }) {
    const known = rows.get(returnById(id))
    const sale = known && rows.get(saleById(known.sale_id))
    return sale ? receivableRefs(sale) : []
  },
  decide(rows, { id, reason }, { permit }) {
    const known = rows.get(returnById(id))
    const sale = known && rows.get(saleById(known.sale_id))
    if (!known || !sale) return refuse('not_found')
    const granted = permit('cancel_all')
    if (isRefusal(granted)) return granted
    const { doc } = known
    if (doc.reversed_at !== null) return accept('unchanged', `return/${id}`)
    if (doc.fiscal_document && doc.fiscal_document.status !== 'cancelled') return refuse('fiscal_document_issued')
    const credit = creditGiven(rows, known)
    if (credit && toBigCents(getCreditBalance(rows, credit.customer_id)) < toBigCents(credit.amount))
      return refuse('credit_spent')
    const vouchers = voucherParts(doc.refunds)
    const isSpent = vouchers.some(
      ({ voucher, amount }) => toBigCents(voucherBalance(rows, voucher)) < toBigCents(amount),
    )
    if (isSpent) return refuse('credit_spent')
    const reversed = event('ReturnReversed', {
      ...{ id, sale_id: sale.id, reason },
      items: doc.items.map(({ line, quantity, amount }) => ({ line, quantity, amount })),
      delivery_fee: doc.delivery_fee,
      total: doc.total,
      stock: doc.stock.filter(({ catalog_item_id }) => getStock(rows, catalog_item_id) !== null),
      ...(credit && { credit }),
      ...(vouchers.length > 0 && { vouchers }),
      is_in_drawer: isInDrawer(rows, known),
      ...granted,
    })
    return accept('updated', reversed.subject, [reversed, ...raised(rows, known, sale, reason)])
  },
})

const ofKind = (rows: Rows, { doc }: Readonly<ReturnRow>, kind: PaymentKind): number =>
  sumOfParts(
    doc.refunds.filter(({ payment_type_id, voucher }) => {
      return voucher === undefined && rows.get(paymentTypeById(payment_type_id))?.doc.kind === kind
    }),
  )

/** Store credit that the return gave to a customer. */
function creditGiven(rows: Rows, known: Readonly<ReturnRow>): { customer_id: number; amount: string } | null {
  const customer_id = known.doc.credit_customer_id
  return customer_id === null ? null : { customer_id, amount: fromCents(ofKind(rows, known, 'exchange_credit')) }
}

/** A closed drawer was counted without the money: who has it brings it in by a movement. */
function isInDrawer(rows: Rows, { cash_session_id: name }: Readonly<ReturnRow>): boolean {
  if (name === null) return false
  return (rows.get(cashSessionByName(name))?.closed_at ?? null) === null
}

/** Events that reverse the payments by which the return lowered accounts: those right after it, up to their sum. */
function raised(rows: Rows, known: Readonly<ReturnRow>, sale: Readonly<SaleRow>, reason: string): NewEvent[] {
  let left = ofKind(rows, known, 'credit_account')
  const payments = sale.receivable_ids.flatMap((id) => {
    const account = rows.get(receivableById(id))
    return account && account.deleted_at === null
      ? standingPayments(account.doc).map((payment) => ({ account: id, payment }))
      : []
  })
  return payments
    .filter(({ payment }) => payment.kind === 'return' && payment.id > known.recorded_revision)
    .sort((a, b) => a.payment.id - b.payment.id)
    .flatMap(({ account, payment }) => {
      const cents = toCents(payment.amount)
      if (cents > left) return []
      left -= cents
      return [receivableSide.paymentReversed(account, { payment_id: payment.id, reason })]
    })
}
