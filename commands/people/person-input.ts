import { z } from 'zod'
import { expects } from '#domain/portuguese.ts'
import { isCnpj, isCpf } from '#domain/tax-number.ts'
import { Email, Phone, text } from '#domain/text.ts'
import { PERSON_TYPES } from '#events/persons.ts'

/** The 26 states of Brazil and the federal district. */
const STATES = 'AC AL AP AM BA CE DF ES GO MA MT MS MG PA PB PR PE PI RJ RN RS RO RR SC SP SE TO'.split(' ')

const ZIP = 'deve ser um CEP com 8 dígitos, sem pontuação'

/** Where a person lives or works; each part may be missing. */
const Address = z.strictObject({
  zip: z
    .string(expects(ZIP))
    .regex(/^\d{8}$/, ZIP)
    .nullish(),
  street: text(120).nullish(),
  number: text(20).nullish(),
  complement: text(80).nullish(),
  district: text(80).nullish(),
  city: text(80).nullish(),
  state: z.enum(STATES, expects('deve ser a sigla de um estado do Brasil, como "SP"')).nullish(),
})

const DOCUMENT = 'deve ser um CPF ou CNPJ válido, sem pontuação'

/** A tax number of a person or a company, bare. */
export const Document = z.string(expects(DOCUMENT)).refine((value) => isCpf(value) || isCnpj(value), DOCUMENT)

const optionalShape = {
  document: Document.nullish(),
  phone: Phone.nullish(),
  email: Email.nullish(),
  address: Address.nullish(),
  notes: text(2000).nullish(),
}

/** Fields of a whole person, external id aside: POST, PUT and batch items. */
export const personShape = {
  name: text(120),
  person_type: z.enum(PERSON_TYPES).default('PF'),
  ...optionalShape,
}

/** Fields of PATCH: absent is left alone, null clears what may be empty. */
export const personChangesShape = {
  name: text(120).optional(),
  person_type: z.enum(PERSON_TYPES).optional(),
  ...optionalShape,
}

const person = z.strictObject(personShape)
export type PersonInput = z.infer<typeof person>

const personChanges = z.strictObject(personChangesShape)
export type PersonChanges = z.infer<typeof personChanges>

/** Why a document does not go with the type of person, or null when it does. */
export function documentProblem({
  person_type,
  document,
}: Pick<PersonInput, 'person_type' | 'document'>): string | null {
  if (document === null || document === undefined) return null
  if (person_type === 'PF') return isCpf(document) ? null : 'deve ser um CPF válido: o tipo de pessoa é PF'
  return isCnpj(document) ? null : 'deve ser um CNPJ válido: o tipo de pessoa é PJ'
}

/** For `superRefine` of the schema of a whole person. */
export function checkDocument(input: Pick<PersonInput, 'person_type' | 'document'>, context: z.RefinementCtx): void {
  const message = documentProblem(input)
  if (message !== null) context.addIssue({ code: 'custom', path: ['document'], message })
}
