import { invalid, type Refusal } from '../../src/domain/refusal.ts'
import type { DataOf } from '../../src/events/catalogue.ts'
import { documentProblem, type PersonChanges, type PersonInput } from './person-input.ts'

/** All fields of a person that a caller sets, external id aside; null where empty. */
export type Person = Omit<DataOf<'CustomerCreated'>, 'id' | 'external_id'>
type Address = NonNullable<Person['address']>

/** A whole person as it is recorded: what was not sent is empty. */
export function personOf(input: PersonInput): Person {
  return {
    name: input.name,
    person_type: input.person_type,
    document: input.document ?? null,
    phone: input.phone ?? null,
    email: input.email ?? null,
    address: input.address ? addressOf(input.address) : null,
    notes: input.notes ?? null,
  }
}

/** The fields that a PATCH names, with the values that they would have afterwards. */
export function patchOf(before: Person, { address, ...fields }: PersonChanges): Partial<Person> {
  if (address === undefined) return fields
  // Parts of an address follow the rule of PATCH too: absent is left alone.
  return { ...fields, address: address && addressOf({ ...before.address, ...address }) }
}

/** Refuses changes after which document and type of person do not go together, naming the field that was sent. */
export function misfit(before: Person, changes: Partial<Person>): Refusal | null {
  const message = documentProblem({ ...before, ...changes })
  if (message === null) return null
  return changes.document
    ? invalid('document', message)
    : invalid('person_type', 'não combina com o documento cadastrado: envie também o novo documento ou null')
}

/** An address with every part present; one without any content is none. */
function addressOf(input: Partial<Address>): Address | null {
  const address = {
    zip: input.zip ?? null,
    street: input.street ?? null,
    number: input.number ?? null,
    complement: input.complement ?? null,
    district: input.district ?? null,
    city: input.city ?? null,
    state: input.state ?? null,
  }
  return Object.values(address).some((part) => part !== null) ? address : null
}
