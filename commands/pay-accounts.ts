import * as z from 'zod'
import { dateInZone, IMPOSSIBLE, Instant, isImpossible } from '#domain/instant.ts'
import { fromCents, MAX_CENTS, Money, toCents } from '#domain/money.ts'
import {
  type PaymentAmounts,
  paymentMethodName,
  shareInOrder,
  sumReceived,
  toAcquiredPayment,
} from '#domain/payment-rules.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import { boundedText, Id, searchKey } from '#domain/text.ts'
import type { DataOf } from '#events/catalogue.ts'
import { accept, type Command, command, isRefusal, type NewEvent } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { cashSessionByName } from '#projections/cash-sessions.ts'
import { companyRef, getTimezone, ownCompany } from '#projections/companies.ts'
import { type AccountPayment, type AccountRow, receivableById } from '#projections/finance.ts'
import { saleById } from '#projections/sales.ts'
import { type PaymentTypeObject, paymentTypeById } from '#projections/stores.ts'
import {
  type AccountPaymentInput,
  type AccountSide,
  DrawerOfAccounts,
  findAccountLock,
  payPermission,
  permitDiscount,
  type ReversalInput,
  type SettleInput,
  sumForgiven,
} from './account-commands.ts'
import { type AccountCash, moveNamedDrawer, namedSessionRefs } from './named-drawers.ts'
import { saleMoney, sumKeptWorth, toReturnableSale } from './returned-goods.ts'

type Receipt = Omit<DataOf<'ReceivablePaymentReceived'>, 'id' | 'paid_on'>

interface Side {
  readonly name: 'receivable' | 'payable'
}

/** Ways of paying with terms of an acquirer; an account may be received by one of them. */
const acquirerTypeRefs = (rows: Rows, { name }: Side): AnyRef[] =>
  name === 'payable' ? [] : companyRef(rows).acquirer_type_ids.map(paymentTypeById)

/**
 * What the acquirer keeps and pays of an account that was received by card. Accounts name a method, not a way of paying
 * of the shop: it is the one with that name, else the only one whose name has the method's word.
 */
function acquiredReceipt(rows: Rows, { name }: Side, receipt: Receipt): Pick<Receipt, 'acquired'> {
  const { kind, payment_method } = receipt
  const cents = sumReceived(receipt)
  if (name === 'payable' || kind !== 'payment' || payment_method === null || cents <= 0) return {}
  const types = companyRef(rows).acquirer_type_ids.flatMap((id) => rows.get(paymentTypeById(id))?.doc ?? [])
  const method = searchKey(paymentMethodName(payment_method))
  const word = { credit_card: 'credito', debit_card: 'debito' }[payment_method]
  const alike = types.filter(
    (type) => type.kind === 'card' && word !== undefined && searchKey(type.name).includes(word),
  )
  const type = types.find((each) => searchKey(each.name) === method) ?? (alike.length === 1 ? alike[0] : undefined)
  if (!type) return {}
  const daySold = () => dateInZone(receipt.paid_at, getTimezone(rows))
  return toAcquired(type, cents, daySold)
}

/** What an acquirer keeps and pays of a receipt; nothing without terms. */
export function toAcquired(type: PaymentTypeObject, cents: number, daySold: () => string): Pick<Receipt, 'acquired'> {
  const acquired = toAcquiredPayment(type, { cents, instalments: 1, daySold })
  if (!acquired) return {}
  return {
    acquired: {
      payment_type_id: type.id,
      ...acquired,
      ...(type.acquirer_fee_refunded && { acquirer_fee_refunded: true }),
    },
  }
}

/** Recorded payment; the day follows from `paid_at`. */
export type NewAccountPayment = Omit<DataOf<'ReceivablePaymentReceived'>, 'id' | 'paid_on'>

/** A payment without interest, fine, discount or excess. */
const PLAIN_PAYMENT = {
  kind: 'payment',
  interest: '0.00',
  fine: '0.00',
  discount: '0.00',
  excess: '0.00',
} as const

/** Payments of an account, reversed ones included, before further parts are refused. What is open can always be paid. */
const MAX_PAYMENTS = 200

/** Whether an account takes no further part. */
const isFullOfPayments = (
  { open_cents, doc }: Pick<AccountRow<unknown>, 'open_cents' | 'doc'>,
  cents: number,
): boolean => cents < open_cents && doc.payments.length >= MAX_PAYMENTS

/** Events of a payment of at most the open amount: the payment, and the settlement if nothing stays open. */
function paymentEvents<P extends object, N>(
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
      const events = paymentEvents(side, known, { ...payment, ...granted, ...acquired }, getTimezone(rows))
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
  if (cents > open_cents) return refuseField('amount', `é mais que o valor em aberto, ${doc.open_amount}`)
  if (isFullOfPayments({ open_cents, doc }, cents))
    return refuseField('amount', `a conta já tem ${MAX_PAYMENTS} pagamentos: pague tudo o que está em aberto`)
  const received = sumReceived(amounts)
  if (received < 0)
    return refuseField('discount', `é mais que o valor pago, ${fromCents(received + toCents(amounts.discount))}`)
  if (received > MAX_CENTS) return refuseField('interest', `o total deve ser no máximo ${fromCents(MAX_CENTS)}`)
  if (isImpossible(paid_at, now)) return refuseField('paid_at', IMPOSSIBLE)
  return { kind: 'payment', ...amounts, paid_at, payment_method: input.payment_method ?? null }
}

/** Reverses a payment: the account owes its part again (ACCT-104). */
export function reverseAccountPayment<P extends object, N>(side: AccountSide<P, N>): Command<ReversalInput> {
  return command<ReversalInput>({
    permission: payPermission(side),
    needs: ({ id }) => [side.byId(id)],
    needsMore(rows, { id, payment_id, cash_session_id }) {
      const known = rows.get(side.byId(id))
      return [
        ...namedSessionRefs(paymentOf(known, payment_id)?.cash_session_id),
        ...namedSessionRefs(cash_session_id),
        ...(typeof known?.doc.sale_id === 'number' ? [saleById(known.doc.sale_id)] : []),
      ]
    },
    needsLast(rows, { id }) {
      const saleId = rows.get(side.byId(id))?.doc.sale_id ?? null
      const sale = saleId === null ? null : rows.get(saleById(saleId))
      return sale ? sale.receivable_ids.map(receivableById) : []
    },
    decide(rows, input, context) {
      const { id, payment_id, reason } = input
      const known = rows.get(side.byId(id))
      if (!known || known.deleted_at) return refuse('not_found')
      if (known.origin === 'sale' && context.origin === 'api') return refuse('managed_by_pdv')
      const payment = paymentOf(known, payment_id)
      if (!payment) return refuse('not_found')
      if (payment.reversed_at !== null) return refuse('already_reversed')
      if (payment.order_id !== null)
        return refuseField('payment_id', `é do link do pedido ${payment.order_id}: estorne o pagamento do pedido`)
      if (payment.kind === 'return')
        return refuseField('payment_id', 'é uma devolução de mercadoria: não pode ser estornada')
      if (known.doc.sale_id !== null && owesForReturnedGoods(rows, known.doc.sale_id, payment))
        return refuse('goods_returned', { sale_id: known.doc.sale_id })
      const own = side.name === 'receivable' ? drawerOf(rows, payment) : {}
      const isOwnOpen = 'from_drawer' in own
      if (isOwnOpen && input.cash_session_id && input.cash_session_id !== payment.cash_session_id)
        return refuseField('cash_session_id', 'a gaveta que recebeu o dinheiro está aberta: é ela que o devolve')
      const drawer = isOwnOpen ? null : cashOfReversal(side, input, payment)
      const moved = drawer ? moveNamedDrawer(rows, drawer, context) : []
      if (isRefusal(moved)) return moved
      const reversed = side.paymentReversed(id, { payment_id, reason, ...own })
      return accept('updated', `${side.name}/${id}`, [reversed, ...moved])
    },
  })
}

/**
 * Whether a sale without this payment would have given back more than it took, or leave more debt than the goods are
 * worth that did not come back.
 */
function owesForReturnedGoods(rows: Rows, saleId: number, { amount, received }: AccountPayment): boolean {
  const sale = rows.get(saleById(saleId))
  if (!sale?.returned) return false
  const money = saleMoney(rows, sale)
  return (
    money.received - toCents(received) < money.given_back ||
    money.open + toCents(amount) > sumKeptWorth(toReturnableSale(sale))
  )
}

const paymentOf = (known: Readonly<AccountRow<unknown>> | null, id: number): AccountPayment | null =>
  known?.doc.payments.find((each) => each.id === id) ?? null

/**
 * The open drawer that holds the money of a till's receipt. A closed one was counted with it: what is given back then is
 * a movement of the till that gives it.
 */
function drawerOf(rows: Rows, { cash_session_id, received: amount }: AccountPayment) {
  const session = cash_session_id === null ? null : rows.get(cashSessionByName(cash_session_id))
  return session && session.closed_at === null ? { from_drawer: { id: session.id, amount } } : {}
}

/** What a reversed payment in cash moves in the named drawer. */
function cashOfReversal(side: Side, input: ReversalInput, payment: AccountPayment): AccountCash | null {
  const { id, reason, cash_session_id: session, movement_id: movementId } = input
  if (payment.payment_method !== 'cash' || !session || !movementId) return null
  const accounts = [movedAccount(side, id, toCents(payment.received))]
  return { session, movementId, reason, kind: side.name === 'receivable' ? 'out' : 'in', accounts }
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
  return returnPaymentEvents(side, known, { cents, at }, getTimezone(rows))
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
  return !known || known.deleted_at ? null : receiptEvents(side, known, { cents, at, ...details }, getTimezone(rows))
}

/** The same of an account as it is after earlier events of the decision. `kept_cents` of the sum became store credit. */
export function receiptEvents<P extends object, N>(
  side: AccountSide<P, N>,
  account: Pick<AccountRow<P>, 'id' | 'open_cents'>,
  {
    cents,
    at,
    kept_cents = 0,
    ...details
  }: AccountFact & { readonly kept_cents?: number } & Pick<
      NewAccountPayment,
      'payment_method' | 'cash_session_id' | 'order_id' | 'acquired'
    >,
  timezone: string,
): TillReceipt {
  const covered = Math.min(cents - kept_cents, account.open_cents)
  const payment = {
    ...PLAIN_PAYMENT,
    amount: fromCents(covered),
    excess: fromCents(cents - covered),
    paid_at: at,
    ...details,
  }
  return { events: paymentEvents(side, account, payment, timezone), excess_cents: cents - covered }
}

/** Accounts of one payment. */
export const MAX_ACCOUNTS = 50

/** A sum that a person receives or pays for some accounts. */
export const AccountsPayment = z.strictObject({
  /** With the open amounts that the person saw. */
  accounts: z
    .array(z.strictObject({ id: Id, open_amount: Money }))
    .min(1)
    .max(MAX_ACCOUNTS),
  /** What changes hands; absent: all that is open, with interest and fine and without the discount. */
  received: Money.nullish(),
  interest: Money.nullish(),
  fine: Money.nullish(),
  discount: Money.nullish(),
  paid_at: Instant.nullish(),
  payment_method: boundedText(60),
  ...DrawerOfAccounts,
})
export type AccountsPayment = z.infer<typeof AccountsPayment>

/**
 * Applies a received sum to accounts, the oldest due date first, in one transaction. An account that has
 * changed since it was shown refuses all.
 */
export function payAccounts<P extends object, N>(side: AccountSide<P, N>): Command<AccountsPayment> {
  return command<AccountsPayment>({
    permission: payPermission(side),
    needs: ({ accounts, cash_session_id }) => [
      ...accounts.map(({ id }) => side.byId(id)),
      ...namedSessionRefs(cash_session_id),
      ownCompany,
    ],
    needsMore: (rows) => acquirerTypeRefs(rows, side),
    decide(rows, input, context) {
      const { now, origin, revision, permit } = context
      const known = loadAccounts(rows, side, input)
      if (isRefusal(known)) return known
      const lock = known.map((account) => findAccountLock(account, origin)).find((each) => each !== null)
      if (lock) return lock
      const stale = known.some(({ id, doc }) =>
        input.accounts.some((each) => each.id === id && each.open_amount !== doc.open_amount),
      )
      if (stale)
        return refuseField('accounts', 'o valor em aberto mudou desde que a página foi aberta: confira e repita')
      const paid_at = input.paid_at ?? now
      if (isImpossible(paid_at, now)) return refuseField('paid_at', IMPOSSIBLE)
      const parts = partsOf(known, input)
      if (isRefusal(parts)) return parts
      const full = parts.find(({ account, amount }) => isFullOfPayments(account, toCents(amount)))
      if (full)
        return refuseField(
          'received',
          `a conta ${full.account.id} já tem pagamentos demais: pague tudo o que está em aberto`,
        )
      const discount = toCents(input.discount ?? '0.00')
      const granted = permitDiscount(side, permit, largestGiver(parts), discount)
      if (isRefusal(granted)) return granted
      const drawer = cashOfAccounts(side, input, parts)
      const moved = drawer ? moveNamedDrawer(rows, drawer, context) : []
      if (isRefusal(moved)) return moved
      const events = parts.flatMap(({ account, ...amounts }, n) => {
        const received = {
          ...{ ...PLAIN_PAYMENT, ...amounts, paid_at, payment_method: input.payment_method },
          ...(drawer && { cash_session_id: drawer.session }),
        }
        const payment = { ...received, ...granted, ...acquiredReceipt(rows, side, received) }
        return paymentEvents(side, account, n === 0 ? payment : { ...payment, receipt: revision }, getTimezone(rows))
      })
      return accept('updated', `${side.name}/${(parts[0] as Part<P>).account.id}`, [...events, ...moved])
    },
  })
}

/** Movement of a drawer for an account of a side. */
const movedAccount = ({ name }: Side, id: number, cents: number): AccountCash['accounts'][number] =>
  name === 'receivable' ? { receivable_id: id, cents } : { receivable_id: null, payable_id: id, cents }

/** What accounts that are paid in cash move in the named drawer: a bill that is paid out of it is a bleed. */
function cashOfAccounts<P>(side: Side, input: AccountsPayment, parts: readonly Part<P>[]): AccountCash | null {
  const { payment_method, cash_session_id: session, movement_id: movementId } = input
  if (payment_method !== 'cash' || !session || !movementId) return null
  return {
    ...{ session, movementId, reason: null },
    kind: side.name === 'receivable' ? 'received' : 'out',
    accounts: parts.map(({ account: { id }, ...part }) =>
      movedAccount(side, id, sumReceived({ ...PLAIN_PAYMENT, ...part })),
    ),
  }
}

/** The accounts of the input, the oldest due date first. */
function loadAccounts<P extends object, N>(
  rows: Rows,
  side: AccountSide<P, N>,
  { accounts }: AccountsPayment,
): Readonly<AccountRow<P>>[] | Refusal {
  const ids = [...new Set(accounts.map(({ id }) => id))]
  const known = ids.flatMap((id) => rows.get(side.byId(id)) ?? []).filter(({ deleted_at }) => deleted_at === null)
  if (known.length < ids.length) return refuse('not_found')
  return known.sort((a, b) => (a.due_date === b.due_date ? a.id - b.id : a.due_date < b.due_date ? -1 : 1))
}

/** Of the paid accounts, the one that was given most before: all of the discount counts beside that. */
const largestGiver = <P>(parts: readonly Part<P>[]): Readonly<AccountRow<P>> =>
  (parts.toSorted((one, other) => sumForgiven(other.account) - sumForgiven(one.account))[0] as Part<P>).account

interface Part<P> {
  readonly account: Readonly<AccountRow<P>>
  readonly amount: string
  readonly interest: string
  readonly fine: string
  readonly discount: string
}

/** What each account gets of the sum. Interest and fine go with the first one, the discount as far as each reaches. */
function partsOf<P>(accounts: readonly Readonly<AccountRow<P>>[], input: AccountsPayment): Part<P>[] | Refusal {
  const { interest, fine, discount } = {
    interest: toCents(input.interest ?? '0.00'),
    fine: toCents(input.fine ?? '0.00'),
    discount: toCents(input.discount ?? '0.00'),
  }
  const open = accounts.reduce((sum, { open_cents }) => sum + open_cents, 0)
  const extras = interest + fine - discount
  const covered = typeof input.received === 'string' ? toCents(input.received) - extras : open
  if (covered > open) return refuseField('received', `é mais que o valor em aberto, ${fromCents(open + extras)}`)
  if (covered + extras > MAX_CENTS) return refuseField('received', `deve ser no máximo ${fromCents(MAX_CENTS)}`)
  if (covered <= 0) return refuseField('received', 'não chega para os juros e a multa')
  if (covered + extras < 0)
    return refuseField('discount', `é mais que o valor em aberto, ${fromCents(covered + interest + fine)}`)
  const shares = shareInOrder(
    accounts.map(({ open_cents }) => open_cents),
    covered,
  )
  const discounts = shareInOrder(
    shares.map((cents, n) => (n === 0 ? cents + interest + fine : cents)),
    discount,
  )
  return accounts.flatMap((account, n) => {
    const cents = shares[n] as number
    if (cents === 0) return []
    return [
      {
        account,
        amount: fromCents(cents),
        interest: fromCents(n === 0 ? interest : 0),
        fine: fromCents(n === 0 ? fine : 0),
        discount: fromCents(discounts[n] as number),
      },
    ]
  })
}

/** Pays all that is open. A different amount is an error (ACCT-5). */
export function settleAccount<P extends object, N>(side: AccountSide<P, N>): Command<SettleInput> {
  return command<SettleInput>({
    permission: payPermission(side),
    needs: ({ id }) => [side.byId(id), ownCompany],
    needsMore: (rows) => acquirerTypeRefs(rows, side),
    decide(rows, { id, payment_method, ...input }, { now, origin }) {
      const known = rows.get(side.byId(id))
      if (!known || known.deleted_at) return refuse('not_found')
      const lock = findAccountLock(known, origin)
      if (lock) return lock
      const { open_amount } = known.doc
      if (typeof input.amount === 'string' && toCents(input.amount) !== known.open_cents) {
        return refuseField('amount', `deve ser o valor em aberto, ${open_amount}: uma parte se paga com um pagamento`)
      }
      const paid_at = input.paid_at ?? now
      if (isImpossible(paid_at, now)) return refuseField('paid_at', IMPOSSIBLE)
      const received = { ...PLAIN_PAYMENT, amount: open_amount, paid_at, payment_method }
      const payment = { ...received, ...acquiredReceipt(rows, side, received) }
      return accept('updated', `${side.name}/${id}`, paymentEvents(side, known, payment, getTimezone(rows)))
    },
  })
}
