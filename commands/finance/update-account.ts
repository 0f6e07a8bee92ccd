import { refuse } from '#domain/refusal.ts'
import { accept, type Command, command, isRefusal } from '#ledger/command.ts'
import type { AccountFields } from '#projections/finance.ts'
import { changesBetween, isEmpty } from '../records/changes.ts'
import { duplicateOf } from '../records/duplicate.ts'
import type { AccountInput } from './account-input.ts'
import { type AccountSide, findLock } from './account-side.ts'
import { findParty, partyRefs } from './party.ts'

interface Update<N> {
  readonly id: number
  readonly changes: Partial<AccountInput> & N
}

/** Changes the fields that are named, while the account is pending. */
export function updateAccount<P extends object, N>(side: AccountSide<P, N>): Command<Update<N>> {
  return command<Update<N>>({
    needs: ({ id, changes }) => [
      side.byId(id),
      ...(changes.external_id ? [side.byExternalId(changes.external_id)] : []),
      ...partyRefs(side.party, changes),
    ],
    decide(rows, { id, changes: patch }, { origin }) {
      const known = rows.get(side.byId(id))
      if (!known || known.deleted_at) return refuse('not_found')
      const lock = findLock(known, origin)
      if (lock) return lock
      const party = findParty(rows, side.party, patch)
      if (party && isRefusal(party)) return party
      const { external_id, description, amount, due_date } = patch
      const same = external_id && duplicateOf('external_id', rows.get(side.byExternalId(external_id)), id)
      if (same) return same
      const after = { external_id, description, ...party, amount, due_date } as Partial<AccountFields & P>
      const changes = changesBetween(known.doc, after)
      const subject = `${side.name}/${id}`
      if (isEmpty(changes)) return accept('unchanged', subject)
      return accept('updated', subject, [side.updated(id, changes)])
    },
  })
}
