import { refuse } from '#domain/refusal.ts'
import { accept, type Command, command } from '#ledger/command.ts'
import type { DeleteInput } from './account-input.ts'
import { type AccountSide, findLock } from './account-side.ts'

/** Takes a pending account out of lists and sums; its external id stays, so that PUT by-external can revive it. */
export function deleteAccount<P extends object, N>(side: AccountSide<P, N>): Command<DeleteInput> {
  return command<DeleteInput>({
    needs: ({ id }) => [side.byId(id)],
    decide(rows, { id }, { origin }) {
      const known = rows.get(side.byId(id))
      if (!known || known.deleted_at) return refuse('not_found')
      return findLock(known, origin) ?? accept('deleted', `${side.name}/${id}`, [side.deleted(id)])
    },
  })
}
