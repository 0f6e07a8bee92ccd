import { dateInZone } from '#domain/instant.ts'
import { toCents } from '#domain/money.ts'
import { invalid, refuse } from '#domain/refusal.ts'
import { accept, type Command, command } from '#ledger/command.ts'
import { ownCompany, timezoneOf } from '#projections/companies.ts'
import type { SettleInput } from './account-input.ts'
import { type AccountSide, findLock } from './account-side.ts'

/** The last year of the calendar that dates can be of. */
const LAST_DAY = '9999-12-31'

/** Settles an account in full; the contract knows no partial settlement, so another amount is a mistake (spec, States). */
export function settleAccount<P extends object, N>(side: AccountSide<P, N>): Command<SettleInput> {
  return command<SettleInput>({
    needs: ({ id }) => [side.byId(id), ownCompany],
    decide(rows, { id, payment_method, ...input }, { now, origin }) {
      const known = rows.get(side.byId(id))
      if (!known || known.deleted_at) return refuse('not_found')
      const lock = findLock(known, origin)
      if (lock) return lock
      if (typeof input.amount === 'string' && toCents(input.amount) !== known.amount_cents) {
        return invalid('amount', `deve ser o valor da conta, ${known.doc.amount}: não há liquidação parcial`)
      }
      const paid_at = input.paid_at ?? now
      const settled_on = dateInZone(paid_at, timezoneOf(rows))
      // East of Greenwich the last hours of 9999 are a day of another year, which no date can tell.
      if (settled_on.length > LAST_DAY.length) return invalid('paid_at', `deve ser até ${LAST_DAY}`)
      return accept('updated', `${side.name}/${id}`, [side.settled(id, { paid_at, settled_on, payment_method })])
    },
  })
}
