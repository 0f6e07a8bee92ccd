import { text } from '#domain/text.ts'
import { findPersonByName, listPersonsByName } from '#queries/people.ts'
import { textOf } from '../forms/body.ts'
import type { Field } from '../forms/form.ts'
import { suggested } from '../forms/kinds.ts'
import type { Submission, Visit } from '../route.ts'
import { recordsIn } from '../ui/list.tsx'
import type { AccountPages } from './account-pages.ts'

/** Names that are suggested while one types. */
const SUGGESTIONS = 200

type Parties = Pick<AccountPages<unknown>['party'], 'table' | 'listing' | 'label' | 'unknown' | 'field'>

/**
 * The other party of an account, by name: names are unique, and a list to choose from would have no end. Of a name that
 * nobody has, those that it is a part of are suggested. `current` is what the account's party is called in it.
 */
export async function partyField(visit: Visit, parties: Parties, current?: string | null): Promise<Field> {
  const typed = 'form' in visit ? textOf((visit as Submission).form, parties.field).trim() : ''
  const found = typed === '' ? null : await findParty(visit, parties, typed)
  const names = await suggestions(visit, parties, found === null ? typed : '')
  return {
    label: parties.label,
    columns: 6,
    hint: 'O nome como está no cadastro. Pode ficar em branco.',
    kind: {
      ...suggested(names),
      read: () => found,
      problem: () => (found === null ? notFound(parties.unknown, typed === '' ? [] : names) : null),
      show: () => current ?? '',
    },
  }
}

const Name = text(120)

async function findParty({ books }: Visit, { table }: Parties, typed: string): Promise<number | null> {
  const name = Name.safeParse(typed)
  return name.success ? findPersonByName(books.pool, table, books.companyId, name.data) : null
}

async function suggestions({ books }: Visit, { listing }: Parties, part: string): Promise<string[]> {
  const name = part === '' ? undefined : Name.safeParse(part).data
  if (part !== '' && name === undefined) return []
  const page = await listPersonsByName(books.pool, listing, books.companyId, { limit: SUGGESTIONS, name })
  const persons = recordsIn<{ name: string }>(page)
  return persons.map((person) => person.name)
}

/** Names that are told beside the field, for those whose browser suggests none. */
const TOLD = 5

function notFound(unknown: string, names: readonly string[]): string {
  if (names.length === 0) return `${unknown}; cadastre antes ou deixe em branco`
  const more = names.length > TOLD ? ' …' : ''
  return `${unknown} com este nome; parecidos: ${names.slice(0, TOLD).join(', ')}${more}`
}
