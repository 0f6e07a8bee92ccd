import { dateInZone, IMPOSSIBLE, isImpossible } from '#domain/instant.ts'
import { toCents } from '#domain/money.ts'
import { invalid, refuse } from '#domain/refusal.ts'
import { accept, type Command, command } from '#ledger/command.ts'
import { ownCompany, timezoneOf } from '#projections/companies.ts'
import { type AccountSide, findAccountLock } from './account-commands.ts'
import type { SettleInput } from './account-input.ts'

/** Settles an account in full. There is no partial settlement, so a different amount is an error (ACCT-5). */
export function settleAccount<P extends object, N>(side: AccountSide<P, N>): Command<SettleInput> {
  return command<SettleInput>({
    permission: side.name === 'payable' ? 'settle' : 'receive',
    needs: ({ id }) => [side.byId(id), ownCompany],
    decide(rows, { id, payment_method, ...input }, { now, origin }) {
      const known = rows.get(side.byId(id))
      if (!known || known.deleted_at) return refuse('not_found')
      const lock = findAccountLock(known, origin)
      if (lock) return lock
      if (typeof input.amount === 'string' && toCents(input.amount) !== known.amount_cents) {
        return invalid('amount', `deve ser o valor da conta, ${known.doc.amount}: não há liquidação parcial`)
      }
      const paid_at = input.paid_at ?? now
      if (isImpossible(paid_at, now)) return invalid('paid_at', IMPOSSIBLE)
      const settled_on = dateInZone(paid_at, timezoneOf(rows))
      return accept('updated', `${side.name}/${id}`, [side.settled(id, { paid_at, settled_on, payment_method })])
    },
  })
}
