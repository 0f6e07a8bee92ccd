import type { PaymentAmounts } from '#domain/account-payments.ts'
import { receivedCents } from '#domain/account-payments.ts'
import { dateInZone, IMPOSSIBLE, isImpossible } from '#domain/instant.ts'
import { fromCents, MAX_CENTS, toCents } from '#domain/money.ts'
import { invalid, type Refusal, refuse } from '#domain/refusal.ts'
import type { DataOf } from '#events/catalogue.ts'
import { accept, type Command, command, isRefusal } from '#ledger/command.ts'
import type { NewEvent } from '#ledger/envelope.ts'
import type { Rows } from '#ledger/working-set.ts'
import { cashSessionByName } from '#projections/cash-sessions.ts'
import { ownCompany, timezoneOf } from '#projections/companies.ts'
import { type AccountPayment, type AccountRow, receivableById } from '#projections/finance.ts'
import { saleById } from '#projections/sales.ts'
import { saleMoney } from '../sales/money-back.ts'
import { keptWorth, returnableOf } from '../sales/returned-goods.ts'
import { type AccountSide, findAccountLock, payPermission, permitDiscount } from './account-commands.ts'
import type { AccountPaymentInput, ReversalInput } from './account-input.ts'
import { acquiredReceipt, acquirerTypeRefs } from './card-receipt.ts'

/** Recorded payment; the day follows from `paid_at`. */
export type NewAccountPayment = Omit<DataOf<'ReceivablePaymentReceived'>, 'id' | 'paid_on'>

/** A payment without interest, fine, discount or excess. */
export const PLAIN_PAYMENT = {
  kind: 'payment',
  interest: '0.00',
  fine: '0.00',
  discount: '0.00',
  excess: '0.00',
} as const

/** Payments of an account, reversed ones included, before further parts are refused. What is open can always be paid. */
const MAX_PAYMENTS = 200

/** Whether an account takes no further part. */
export const isFullOfPayments = (
  { open_cents, doc }: Pick<AccountRow<unknown>, 'open_cents' | 'doc'>,
  cents: number,
): boolean => cents < open_cents && doc.payments.length >= MAX_PAYMENTS

/** Events of a payment of at most the open amount: the payment, and the settlement if nothing stays open. */
export function paymentEvents<P extends object, N>(
  side: AccountSide<P, N>,
  { id, open_cents }: Pick<AccountRow<P>, 'id' | 'open_cents'>,
  payment: NewAccountPayment,
  timezone: string,
): NewEvent[] {
  const { amount, paid_at, payment_method } = payment
  const cents = toCents(amount)
  if (cents > open_cents) throw new Error(`${side.name} ${id}: payment of ${amount} exceeds the open amount`)
  const day = dateInZone(paid_at, timezone)
  const paid = side.paid(id, { ...payment, paid_on: day })
  if (cents === 0 || cents < open_cents) return [paid]
  return [paid, side.settled(id, { paid_at, settled_on: day, payment_method })]
}

/** Pays a part of an account, or all that is open (ACCT-100). */
export function payAccount<P extends object, N>(side: AccountSide<P, N>): Command<AccountPaymentInput> {
  return command<AccountPaymentInput>({
    permission: payPermission(side),
    needs: ({ id }) => [side.byId(id), ownCompany],
    needsMore: (rows) => acquirerTypeRefs(rows, side),
    decide(rows, { id, ...input }, { now, origin, permit }) {
      const known = rows.get(side.byId(id))
      if (!known || known.deleted_at) return refuse('not_found')
      const lock = findAccountLock(known, origin)
      if (lock) return lock
      const payment = checkPayment(known, input, now)
      if (isRefusal(payment)) return payment
      const granted = permitDiscount(side, permit, known, toCents(payment.discount))
      if (isRefusal(granted)) return granted
      const acquired = acquiredReceipt(rows, side, payment)
      const events = paymentEvents(side, known, { ...payment, ...granted, ...acquired }, timezoneOf(rows))
      return accept('created', `${side.name}/${id}`, events)
    },
  })
}

/** The payment of an input, or the refusal of what the account does not allow. */
function checkPayment(
  { open_cents, doc }: Readonly<AccountRow<unknown>>,
  input: Omit<AccountPaymentInput, 'id'>,
  now: string,
): NewAccountPayment | Refusal {
  const paid_at = input.paid_at ?? now
  const amounts: PaymentAmounts = {
    amount: input.amount,
    interest: input.interest ?? '0.00',
    fine: input.fine ?? '0.00',
    discount: input.discount ?? '0.00',
    excess: '0.00',
  }
  const cents = toCents(input.amount)
  if (cents > open_cents) return invalid('amount', `é mais que o valor em aberto, ${doc.open_amount}`)
  if (isFullOfPayments({ open_cents, doc }, cents))
    return invalid('amount', `a conta já tem ${MAX_PAYMENTS} pagamentos: pague tudo o que está em aberto`)
  const received = receivedCents(amounts)
  if (received < 0)
    return invalid('discount', `é mais que o valor pago, ${fromCents(received + toCents(amounts.discount))}`)
  if (received > MAX_CENTS) return invalid('interest', `o total deve ser no máximo ${fromCents(MAX_CENTS)}`)
  if (isImpossible(paid_at, now)) return invalid('paid_at', IMPOSSIBLE)
  return { kind: 'payment', ...amounts, paid_at, payment_method: input.payment_method ?? null }
}

/** Reverses a payment: the account owes its part again (ACCT-104). */
export function reverseAccountPayment<P extends object, N>(side: AccountSide<P, N>): Command<ReversalInput> {
  return command<ReversalInput>({
    permission: payPermission(side),
    needs: ({ id }) => [side.byId(id)],
    needsMore(rows, { id, payment_id }) {
      const known = rows.get(side.byId(id))
      const name = paymentOf(known, payment_id)?.cash_session_id ?? null
      return [
        ...(name === null ? [] : [cashSessionByName(name)]),
        ...(typeof known?.doc.sale_id === 'number' ? [saleById(known.doc.sale_id)] : []),
      ]
    },
    needsLast(rows, { id }) {
      const saleId = rows.get(side.byId(id))?.doc.sale_id ?? null
      const sale = saleId === null ? null : rows.get(saleById(saleId))
      return sale ? sale.receivable_ids.map(receivableById) : []
    },
    decide(rows, { id, payment_id, reason }, { origin }) {
      const known = rows.get(side.byId(id))
      if (!known || known.deleted_at) return refuse('not_found')
      if (known.origin === 'sale' && origin === 'api') return refuse('managed_by_pdv')
      const payment = paymentOf(known, payment_id)
      if (!payment) return refuse('not_found')
      if (payment.reversed_at !== null) return refuse('already_reversed')
      if (payment.kind === 'return')
        return invalid('payment_id', 'é uma devolução de mercadoria: não pode ser estornada')
      if (known.doc.sale_id !== null && owesForReturnedGoods(rows, known.doc.sale_id, payment))
        return refuse('goods_returned', { sale_id: known.doc.sale_id })
      const reversal = { payment_id, reason, ...drawerOf(rows, payment) }
      return accept('updated', `${side.name}/${id}`, [side.paymentReversed(id, reversal)])
    },
  })
}

/**
 * Whether a sale without this payment would have given back more than it took, or leave more debt than the goods are
 * worth that did not come back (ACCT-780).
 */
function owesForReturnedGoods(rows: Rows, saleId: number, { amount, received }: AccountPayment): boolean {
  const sale = rows.get(saleById(saleId))
  if (!sale?.returned) return false
  const money = saleMoney(rows, sale)
  return (
    money.received - toCents(received) < money.given_back ||
    money.open + toCents(amount) > keptWorth(returnableOf(sale))
  )
}

const paymentOf = (known: Readonly<AccountRow<unknown>> | null, id: number): AccountPayment | null =>
  known?.doc.payments.find((each) => each.id === id) ?? null

/**
 * The open drawer that holds the money of a till's receipt. A closed one was counted with it: what is given back then is
 * a movement of the till that gives it (CASH-13).
 */
function drawerOf(rows: Rows, { cash_session_id, received: amount }: AccountPayment) {
  const session = cash_session_id === null ? null : rows.get(cashSessionByName(cash_session_id))
  return session && session.closed_at === null ? { from_drawer: { id: session.id, amount } } : {}
}

/** A fact: money that a till received, or goods that came back. */
interface AccountFact {
  readonly cents: number
  /** UTC */
  readonly at: string
}

/**
 * Events of goods that came back for an account, which lower what is owed. `cents` is at most what is open. The account
 * and `ownCompany` are loaded.
 */
export function goodsReturnedEvents<P extends object, N>(
  side: AccountSide<P, N>,
  rows: Rows,
  id: number,
  { cents, at }: AccountFact,
): NewEvent[] {
  const known = rows.get(side.byId(id))
  if (!known) throw new Error(`${side.name} ${id} does not exist`)
  return returnPaymentEvents(side, known, { cents, at }, timezoneOf(rows))
}

/** The same of an account that is being created in the same decision. */
export function returnPaymentEvents<P extends object, N>(
  side: AccountSide<P, N>,
  account: Pick<AccountRow<P>, 'id' | 'open_cents'>,
  { cents, at }: AccountFact,
  timezone: string,
): NewEvent[] {
  const payment = {
    ...PLAIN_PAYMENT,
    kind: 'return',
    amount: fromCents(cents),
    paid_at: at,
    payment_method: null,
  } as const
  return paymentEvents(side, account, payment, timezone)
}

/** Recorded money of a till; `excess_cents` is what was received beyond the open amount. */
export interface TillReceipt {
  readonly events: NewEvent[]
  readonly excess_cents: number
}

/**
 * Events of money that a till received for an account. What is more than the open amount is recorded as excess. Null if
 * the account does not exist. The account and `ownCompany` are loaded.
 */
export function tillReceiptEvents<P extends object, N>(
  side: AccountSide<P, N>,
  rows: Rows,
  id: number,
  { cents, at, ...details }: AccountFact & { readonly payment_method: string; readonly cash_session_id: string },
): TillReceipt | null {
  const known = rows.get(side.byId(id))
  if (!known || known.deleted_at) return null
  const covered = Math.min(cents, known.open_cents)
  const payment = {
    ...PLAIN_PAYMENT,
    amount: fromCents(covered),
    excess: fromCents(cents - covered),
    paid_at: at,
    ...details,
  }
  return { events: paymentEvents(side, known, payment, timezoneOf(rows)), excess_cents: cents - covered }
}
