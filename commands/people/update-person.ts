import { refuse } from '#domain/refusal.ts'
import { accept, type Command, command } from '#ledger/command.ts'
import type { PersonFields } from '#projections/people.ts'
import { changesBetween, isEmpty } from '../records/changes.ts'
import { misfit, type PersonPatch, patchOf } from './person-fields.ts'
import type { PersonKind } from './person-kind.ts'
import { findDuplicate, uniqueRefs } from './unique-fields.ts'

interface Update<F extends PersonFields> {
  readonly id: number
  readonly changes: PersonPatch<F>
}

/** Changes the fields that are named; nothing is recorded where they have these values already. */
export function updatePerson<F extends PersonFields>(kind: PersonKind<F>): Command<Update<F>> {
  return command<Update<F>>({
    needs: ({ id, changes }) => [kind.byId(id), ...uniqueRefs(kind, changes)],
    decide(rows, { id, changes: patch }) {
      const known = rows.get(kind.byId(id))
      if (!known || known.deleted_at) return refuse('not_found')
      const after = patchOf(known.doc, patch)
      const refusal = misfit(known.doc, after) ?? findDuplicate(rows, kind, after, id)
      if (refusal) return refusal
      const changes = changesBetween(known.doc, after)
      const subject = `${kind.name}/${id}`
      if (isEmpty(changes)) return accept('unchanged', subject)
      return accept('updated', subject, [kind.updated(id, changes)])
    },
  })
}
