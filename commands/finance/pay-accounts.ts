import * as z from 'zod'
import { shareInOrder } from '#domain/account-payments.ts'
import { IMPOSSIBLE, Instant, isImpossible } from '#domain/instant.ts'
import { fromCents, MAX_CENTS, Money, toCents } from '#domain/money.ts'
import { invalid, type Refusal, refuse } from '#domain/refusal.ts'
import { boundedText, Id } from '#domain/text.ts'
import { accept, type Command, command, isRefusal } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { ownCompany, timezoneOf } from '#projections/companies.ts'
import type { AccountRow } from '#projections/finance.ts'
import { type AccountSide, findAccountLock, forgivenOf, payPermission, permitDiscount } from './account-commands.ts'
import { isFullOfPayments, PLAIN_PAYMENT, paymentEvents } from './account-payments.ts'
import { acquiredReceipt, acquirerTypeRefs } from './card-receipt.ts'

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
})
export type AccountsPayment = z.infer<typeof AccountsPayment>

/**
 * Applies a received sum to accounts, the oldest due date first, in one transaction (PANEL-430). An account that has
 * changed since it was shown refuses all.
 */
export function payAccounts<P extends object, N>(side: AccountSide<P, N>): Command<AccountsPayment> {
  return command<AccountsPayment>({
    permission: payPermission(side),
    needs: ({ accounts }) => [...accounts.map(({ id }) => side.byId(id)), ownCompany],
    needsMore: (rows) => acquirerTypeRefs(rows, side),
    decide(rows, input, { now, origin, revision, permit }) {
      const known = loadAccounts(rows, side, input)
      if (isRefusal(known)) return known
      const lock = known.map((account) => findAccountLock(account, origin)).find((each) => each !== null)
      if (lock) return lock
      const stale = known.some(({ id, doc }) =>
        input.accounts.some((each) => each.id === id && each.open_amount !== doc.open_amount),
      )
      if (stale) return invalid('accounts', 'o valor em aberto mudou desde que a página foi aberta: confira e repita')
      const paid_at = input.paid_at ?? now
      if (isImpossible(paid_at, now)) return invalid('paid_at', IMPOSSIBLE)
      const parts = partsOf(known, input)
      if (isRefusal(parts)) return parts
      const full = parts.find(({ account, amount }) => isFullOfPayments(account, toCents(amount)))
      if (full)
        return invalid(
          'received',
          `a conta ${full.account.id} já tem pagamentos demais: pague tudo o que está em aberto`,
        )
      const discount = toCents(input.discount ?? '0.00')
      const granted = permitDiscount(side, permit, largestGiver(parts), discount)
      if (isRefusal(granted)) return granted
      const events = parts.flatMap(({ account, ...amounts }, n) => {
        const received = { ...PLAIN_PAYMENT, ...amounts, paid_at, payment_method: input.payment_method }
        const payment = { ...received, ...granted, ...acquiredReceipt(rows, side, received) }
        return paymentEvents(side, account, n === 0 ? payment : { ...payment, receipt: revision }, timezoneOf(rows))
      })
      return accept('updated', `${side.name}/${(parts[0] as Part<P>).account.id}`, events)
    },
  })
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
  (parts.toSorted((one, other) => forgivenOf(other.account) - forgivenOf(one.account))[0] as Part<P>).account

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
  if (covered > open) return invalid('received', `é mais que o valor em aberto, ${fromCents(open + extras)}`)
  if (covered + extras > MAX_CENTS) return invalid('received', `deve ser no máximo ${fromCents(MAX_CENTS)}`)
  if (covered <= 0) return invalid('received', 'não chega para os juros e a multa')
  if (covered + extras < 0)
    return invalid('discount', `é mais que o valor em aberto, ${fromCents(covered + interest + fine)}`)
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
