import { accept, type Command, command, isRefusal } from '#ledger/command.ts'
import { changesBetween, isEmpty } from '../records/changes.ts'
import type { AccountInput } from './account-input.ts'
import { type AccountSide, findLock } from './account-side.ts'
import { findParty, partyRefs } from './party.ts'

type Replacement = AccountInput & { readonly external_id: string }

/** Makes the account with this external id what the input says: creates, replaces or revives it, while it is pending. */
export function replaceAccount<P extends object, N>(side: AccountSide<P, N>): Command<Replacement & N> {
  return command<Replacement & N>({
    needs: (input) => [side.byExternalId(input.external_id), ...partyRefs(side.party, input)],
    ids: () => ({ [side.name]: 1 }),
    decide(rows, input, { nextId, origin }) {
      const known = rows.get(side.byExternalId(input.external_id))
      const lock = known && findLock(known, origin)
      if (lock) return lock
      const party = findParty(rows, side.party, input) ?? side.party.recorded(null)
      if (isRefusal(party)) return party
      const { external_id, description, amount, due_date } = input
      const fields = { external_id, description, ...party, amount, due_date }
      if (!known) {
        const start = { ...fields, origin: origin === 'api' ? 'api' : 'pdv', sale_id: null } as const
        const created = side.created(nextId(side.name), start)
        return accept('created', created.subject, [created])
      }
      const { id } = known
      const subject = `${side.name}/${id}`
      if (known.deleted_at) return accept('updated', subject, [side.revived(id, fields)])
      const changes = changesBetween(known.doc, fields)
      if (isEmpty(changes)) return accept('unchanged', subject)
      return accept('updated', subject, [side.updated(id, changes)])
    },
  })
}
