import { accept, type Command, command, isRefusal } from '#ledger/command.ts'
import { duplicateOf } from '../records/duplicate.ts'
import type { AccountInput } from './account-input.ts'
import type { AccountSide } from './account-side.ts'
import { findParty, partyRefs } from './party.ts'

/** Enters an account that is still to be settled. */
export function createAccount<P extends object, N>(side: AccountSide<P, N>): Command<AccountInput & N> {
  return command<AccountInput & N>({
    needs: (input) => [
      ...(input.external_id ? [side.byExternalId(input.external_id)] : []),
      ...partyRefs(side.party, input),
    ],
    ids: () => ({ [side.name]: 1 }),
    decide(rows, input, { nextId, origin }) {
      const party = findParty(rows, side.party, input) ?? side.party.recorded(null)
      if (isRefusal(party)) return party
      const { external_id = null, description, amount, due_date } = input
      const same = external_id && duplicateOf('external_id', rows.get(side.byExternalId(external_id)), null)
      if (same) return same
      const created = side.created(nextId(side.name), {
        external_id,
        origin: origin === 'api' ? 'api' : 'pdv',
        description,
        ...party,
        amount,
        due_date,
        sale_id: null,
      })
      return accept('created', created.subject, [created])
    },
  })
}
