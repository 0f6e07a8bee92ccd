import { invalid, type Refusal } from '#domain/refusal.ts'
import type { PersonFields } from '#projections/people.ts'
import { documentProblem, type PersonChanges, type PersonInput } from './person-input.ts'

type Address = NonNullable<PersonFields['address']>

/** What a PATCH names of a person with the fields `F`; of the address, some parts. */
export type PersonPatch<F extends PersonFields> = Partial<Omit<F, 'address'>> & Pick<PersonChanges, 'address'>

/** A whole person as it is recorded: what was not sent is empty. */
export function personOf(input: PersonInput & { readonly external_id?: string | null }): PersonFields {
  return {
    external_id: input.external_id ?? null,
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
export function patchOf<F extends PersonFields>(before: F, { address, ...rest }: PersonPatch<F>): Partial<F> {
  const fields = rest as unknown as Partial<F>
  if (address === undefined) return fields
  // Parts of an address follow the rule of PATCH too: absent is left alone.
  return { ...fields, address: address && addressOf({ ...before.address, ...address }) }
}

/** Refuses changes after which document and type of person do not go together, naming the field that was sent. */
export function misfit(before: PersonFields, changes: Partial<PersonFields>): Refusal | null {
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
