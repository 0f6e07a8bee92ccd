import type * as z from 'zod'
import { isCnpj, isCpf } from '#domain/person-values.ts'
import { type MetadataInput, wholeMetadata } from '#domain/record-values.ts'
import { invalid, type Refusal } from '#domain/refusals.ts'
import { nameKey } from '#domain/text.ts'
import type { PersonFields } from '#projections/people.ts'
import { recordedValues } from '#records/field.ts'
import { ADDRESS_FIELDS, type AddressInput, MAX_PERSON_NAME } from '#records/persons.ts'

/** Numbered names that are tried: `(2)` to `(20)`. */
const LAST_NUMBER = 20

/** Characters of a document that tell two persons apart. */
const DOCUMENT_END = 4

const NUMBERED = / \(\d{1,2}\)$/

/**
 * Names to suggest instead of a taken one, the best first: `José da Silva (2)`, and at last one with the end of the
 * document.
 */
export function namesLike(name: string, document: string | null | undefined): string[] {
  const base = name.replace(/\s+/g, ' ').replace(NUMBERED, '')
  const numbered = Array.from({ length: LAST_NUMBER - 1 }, (_, at) => withSuffix(base, `(${at + 2})`))
  const names = document ? [...numbered, withSuffix(base, `(${document.slice(-DOCUMENT_END)})`)] : numbered
  return names.filter((one) => nameKey(one) !== nameKey(name))
}

/** Shortens the name where both together would be too long. */
const withSuffix = (name: string, suffix: string): string =>
  `${[...name]
    .slice(0, MAX_PERSON_NAME - suffix.length - 1)
    .join('')
    .trimEnd()} ${suffix}`

/** Fields of requests that are recorded otherwise than they come. */
interface DerivingFields {
  readonly person_type?: PersonFields['person_type'] | null | undefined
  readonly document?: string | null | undefined
  readonly address?: z.output<typeof AddressInput> | null | undefined
  readonly metadata?: MetadataInput | null | undefined
}

/** Person type that a document implies; a natural person without a document. */
const typeOf = (document: string | null | undefined): PersonFields['person_type'] =>
  document && isCnpj(document) ? 'PJ' : 'PF'

/** Message if document and person type contradict each other, else null. */
function documentProblem({ person_type, document }: Pick<DerivingFields, 'person_type' | 'document'>): string | null {
  if (!document || !person_type) return null
  if (person_type === 'PF') return isCpf(document) ? null : 'deve ser um CPF válido: o tipo de pessoa é PF'
  return isCnpj(document) ? null : 'deve ser um CNPJ válido: o tipo de pessoa é PJ'
}

/** For `superRefine` in schemas of whole persons. */
export function checkDocument(input: Pick<DerivingFields, 'person_type' | 'document'>, context: z.RefinementCtx): void {
  const message = documentProblem(input)
  if (message !== null) context.addIssue({ code: 'custom', path: ['document'], message })
}

/** Fields of a PATCH of a person with the fields `F`; the address may be partial. */
export type PersonPatch<F extends PersonFields> = Partial<Omit<F, 'address' | 'person_type' | 'metadata'>> &
  Pick<DerivingFields, 'address' | 'person_type' | 'metadata'>

/** Values of a whole person that follow from others, or from a part of their own. */
export const derivedOf = ({ person_type, document, address, metadata }: DerivingFields) => ({
  person_type: person_type ?? typeOf(document),
  address: address ? addressOf(address) : null,
  metadata: wholeMetadata(metadata),
})

/** Fields of a PATCH with their values after the change, metadata apart. */
export function patchOf<F extends PersonFields>(
  before: F,
  { address, person_type, metadata: _, ...rest }: PersonPatch<F>,
): Partial<F> {
  const { document = before.document } = rest as Partial<PersonFields>
  // A new document determines the type. A null type counts as absent, since records may have none.
  const follows = person_type === null || (person_type === undefined && rest.document)
  const type = follows ? typeOf(document) : person_type
  const fields = { ...rest, ...(type && { person_type: type }) } as unknown as Partial<F>
  if (address === undefined) return fields
  // Absent parts of an address stay unchanged.
  return { ...fields, address: address && addressOf({ ...before.address, ...address }) }
}

/** Refuses changes that leave document and person type contradictory, naming the field that was sent. */
export function documentTypeMismatch(before: PersonFields, changes: Partial<PersonFields>): Refusal | null {
  const message = documentProblem({ ...before, ...changes })
  if (message === null) return null
  return changes.document
    ? invalid('document', message)
    : invalid('person_type', 'não combina com o documento cadastrado: envie também o novo documento ou null')
}

/** Address with every part present; null if all are empty. */
function addressOf(
  input: { readonly [N in keyof typeof ADDRESS_FIELDS]?: string | null | undefined },
): PersonFields['address'] {
  const address = recordedValues(ADDRESS_FIELDS, input)
  return Object.values(address).some((part) => part !== null) ? address : null
}
