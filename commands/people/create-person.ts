import { accept, type Command, command } from '#ledger/command.ts'
import type { PersonFields } from '#projections/people.ts'
import type { PersonKind } from './person-kind.ts'
import { findDuplicate, uniqueRefs } from './unique-fields.ts'

/** Creates a person with a name and an external id that no other of the kind has. */
export function createPerson<F extends PersonFields, I extends { name: string; external_id?: string | null }>(
  kind: PersonKind<F>,
  fieldsOf: (input: I) => F,
): Command<I> {
  return command<I>({
    needs: (input) => uniqueRefs(kind, input),
    ids: () => ({ [kind.name]: 1 }),
    decide(rows, input, { nextId }) {
      const duplicate = findDuplicate(rows, kind, input, null)
      if (duplicate) return duplicate
      const created = kind.created(nextId(kind.name), fieldsOf(input))
      return accept('created', created.subject, [created])
    },
  })
}
