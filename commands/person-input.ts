import * as z from 'zod'
import { bareTaxNumber, isCnpj, isCpf, STATES, TAX_NUMBER_PATTERN } from '#domain/person-values.ts'
import { MetadataInput, wholeMetadata } from '#domain/record-values.ts'
import { invalid, type Refusal } from '#domain/refusals.ts'
import { boundedText, Email, expects, limitedText, nameKey, nameText, orNone, Phone } from '#domain/text.ts'
import { PERSON_TYPES } from '#events/person-events.ts'
import type { PersonFields } from '#projections/people.ts'

/** Longest name of a person, in code points. */
const MAX_NAME = 120

/** Numbered names that are tried: `(2)` to `(20)`. */
const LAST_NUMBER = 20

/** Characters of a document that tell two persons apart. */
const DOCUMENT_END = 4

const NUMBERED = / \(\d{1,2}\)$/

/**
 * Names to suggest instead of a taken one, the best first: `José da Silva (2)`, and at last one with the end of the
 * document (PERSON-100).
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
    .slice(0, MAX_NAME - suffix.length - 1)
    .join('')
    .trimEnd()} ${suffix}`

const ZIP = 'deve ser um CEP com 8 dígitos, com ou sem pontuação'

/** Postal address; each part is optional. */
export const AddressInput = z
  .strictObject({
    zip: orNone(
      limitedText(40, ZIP)
        // Not any punctuation: `1310100.0` is a number of a spreadsheet without its first zero.
        .refine((value) => /^\s*\d{2}[\s.]?\d{3}[\s.-]?\d{3}\s*$/.test(value), ZIP)
        .overwrite((value) => value.replace(/[\s.-]/g, '')),
    ),
    street: boundedText(120).nullish(),
    number: boundedText(20).nullish(),
    complement: boundedText(80).nullish(),
    district: boundedText(80).nullish(),
    city: boundedText(80).nullish(),
    state: z.enum(STATES, expects('deve ser a sigla de um estado do Brasil, como "SP"')).nullish(),
  })
  .meta({ id: 'AddressInput' })

const DOCUMENT = 'deve ser um CPF ou CNPJ válido, com ou sem pontuação'

/** CPF or CNPJ, with or without punctuation; the parsed value has none. */
export const Document = limitedText(100, DOCUMENT)
  .overwrite(bareTaxNumber)
  .refine((value) => isCpf(value) || isCnpj(value), DOCUMENT)
  .meta({ pattern: TAX_NUMBER_PATTERN })

const optionalShape = {
  /** Default: derived from the document. */
  person_type: z.enum(PERSON_TYPES).nullish(),
  document: orNone(Document),
  phone: orNone(Phone),
  email: orNone(Email),
  address: AddressInput.nullish(),
  notes: boundedText(2000).nullish(),
  /** Absent: unchanged, also in a PUT. */
  metadata: MetadataInput.nullish(),
}

/** Fields of a whole person except the external id: POST, PUT and batch items. */
export const personShape = {
  name: nameText(MAX_NAME),
  ...optionalShape,
}

/** Fields of PATCH. Absent ones stay unchanged; null clears optional ones. */
export const personChangesShape = {
  name: nameText(MAX_NAME).optional(),
  ...optionalShape,
}

const person = z.strictObject(personShape)
type PersonInput = z.infer<typeof person>

const personChanges = z.strictObject(personChangesShape)
type PersonChanges = z.infer<typeof personChanges>

/** Person type that a document implies; a natural person without a document. */
const typeOf = (document: string | null | undefined): PersonFields['person_type'] =>
  document && isCnpj(document) ? 'PJ' : 'PF'

/** Message if document and person type contradict each other, else null. */
function documentProblem({ person_type, document }: Pick<PersonInput, 'person_type' | 'document'>): string | null {
  if (!document || !person_type) return null
  if (person_type === 'PF') return isCpf(document) ? null : 'deve ser um CPF válido: o tipo de pessoa é PF'
  return isCnpj(document) ? null : 'deve ser um CNPJ válido: o tipo de pessoa é PJ'
}

/** For `superRefine` in schemas of whole persons. */
export function checkDocument(input: Pick<PersonInput, 'person_type' | 'document'>, context: z.RefinementCtx): void {
  const message = documentProblem(input)
  if (message !== null) context.addIssue({ code: 'custom', path: ['document'], message })
}

type Address = NonNullable<PersonFields['address']>

/** Fields of a PATCH of a person with the fields `F`; the address may be partial. */
export type PersonPatch<F extends PersonFields> = Partial<Omit<F, 'address' | 'person_type' | 'metadata'>> &
  Pick<PersonChanges, 'address' | 'person_type' | 'metadata'>

/** Recorded fields of a whole person; absent ones are null. */
export function personOf(input: PersonInput & { readonly external_id?: string | null }): PersonFields {
  return {
    external_id: input.external_id ?? null,
    name: input.name,
    person_type: input.person_type ?? typeOf(input.document),
    document: input.document ?? null,
    phone: input.phone ?? null,
    email: input.email ?? null,
    address: input.address ? addressOf(input.address) : null,
    notes: input.notes ?? null,
    metadata: wholeMetadata(input.metadata),
  }
}

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
