import { z } from 'zod'
import { refuse } from '#domain/refusal.ts'
import { Id } from '#domain/text.ts'
import { accept, type Command, command } from '#ledger/command.ts'
import type { PersonFields } from '#projections/people.ts'
import type { PersonKind } from './person-kind.ts'

/** DELETE by id. */
export const DeletePersonInput = z.strictObject({ id: Id })
export type DeletePersonInput = z.infer<typeof DeletePersonInput>

/** Takes a person out of lists and frees its name; its external id stays, so that PUT by-external can revive it. */
export function deletePerson<F extends PersonFields>(kind: PersonKind<F>): Command<DeletePersonInput> {
  return command<DeletePersonInput>({
    needs: ({ id }) => [kind.byId(id)],
    decide(rows, { id }) {
      const known = rows.get(kind.byId(id))
      if (!known || known.deleted_at) return refuse('not_found')
      return accept('deleted', `${kind.name}/${id}`, [kind.deleted(id)])
    },
  })
}
