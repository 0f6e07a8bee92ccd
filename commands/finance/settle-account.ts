import { IMPOSSIBLE, isImpossible } from '#domain/instant.ts'
import { toCents } from '#domain/money.ts'
import { invalid, refuse } from '#domain/refusal.ts'
import { accept, type Command, command } from '#ledger/command.ts'
import { ownCompany, timezoneOf } from '#projections/companies.ts'
import { type AccountSide, findAccountLock, payPermission } from './account-commands.ts'
import type { SettleInput } from './account-input.ts'
import { PLAIN_PAYMENT, paymentEvents } from './account-payments.ts'
import { acquiredReceipt, acquirerTypeRefs } from './card-receipt.ts'

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
        return invalid('amount', `deve ser o valor em aberto, ${open_amount}: uma parte se paga com um pagamento`)
      }
      const paid_at = input.paid_at ?? now
      if (isImpossible(paid_at, now)) return invalid('paid_at', IMPOSSIBLE)
      const received = { ...PLAIN_PAYMENT, amount: open_amount, paid_at, payment_method }
      const payment = { ...received, ...acquiredReceipt(rows, side, received) }
      return accept('updated', `${side.name}/${id}`, paymentEvents(side, known, payment, timezoneOf(rows)))
    },
  })
}
