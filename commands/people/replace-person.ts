import { accept, type Command, command } from '#ledger/command.ts'
import type { PersonFields } from '#projections/people.ts'
import { changesBetween, isEmpty } from '../records/changes.ts'
import type { PersonKind } from './person-kind.ts'
import { findDuplicate, uniqueRefs } from './unique-fields.ts'

/** Makes the person with this external id what the input says: creates, replaces or revives it. */
export function replacePerson<F extends PersonFields, I extends { name: string; external_id: string }>(
  kind: PersonKind<F>,
  fieldsOf: (input: I) => F,
): Command<I> {
  return command<I>({
    needs: (input) => uniqueRefs(kind, input),
    ids: () => ({ [kind.name]: 1 }),
    decide(rows, input, { nextId }) {
      const known = rows.get(kind.byExternalId(input.external_id))
      const duplicate = findDuplicate(rows, kind, { name: input.name }, known?.id ?? null)
      if (duplicate) return duplicate
      const fields = fieldsOf(input)
      if (!known) {
        const created = kind.created(nextId(kind.name), fields)
        return accept('created', created.subject, [created])
      }
      const { id } = known
      const subject = `${kind.name}/${id}`
      if (known.deleted_at) return accept('updated', subject, [kind.revived(id, fields)])
      const changes = changesBetween(known.doc, fields)
      if (isEmpty(changes)) return accept('unchanged', subject)
      return accept('updated', subject, [kind.updated(id, changes)])
    },
  })
}
