import * as z from 'zod'
import { StateRegistration } from '#domain/fiscal-values.ts'
import { bareTaxNumber, isCnpj, isCpf, STATES, TAX_NUMBER_PATTERN } from '#domain/person-values.ts'
import { MetadataInput } from '#domain/record-values.ts'
import {
  boundedText,
  Email,
  ExternalId,
  expects,
  limitedText,
  NewExternalId,
  nameText,
  orNone,
  Phone,
} from '#domain/text.ts'
import type { IE_INDICATORS, PERSON_TYPES } from '#events/person-events.ts'
import {
  answerShape,
  ContractMetadata,
  choiceField,
  type DefinitionOf,
  filterField,
  NullableText,
  optionalField,
  type RecordedFields,
  requiredField,
  serviceField,
  Timestamp,
  wholeShape,
} from './field.ts'

/** Longest name of a person, in code points. */
export const MAX_PERSON_NAME = 120

const ZIP = 'deve ser um CEP com 8 dígitos, com ou sem pontuação'

/** Not any punctuation: `1310100.0` is a number of a spreadsheet without its first zero. */
const Zip = limitedText(40, ZIP)
  .refine((value) => /^\s*\d{2}[\s.]?\d{3}[\s.-]?\d{3}\s*$/.test(value), ZIP)
  .overwrite((value) => value.replace(/[\s.-]/g, ''))

const State = z.enum(STATES, expects('deve ser a sigla de um estado do Brasil, como "SP"'))

export const ADDRESS_FIELDS = {
  zip: optionalField('zip', 'CEP', orNone(Zip), { description: 'CEP, 8 dígitos sem pontuação.' }),
  street: optionalField('text', 'Rua', boundedText(120).nullish(), { description: 'Logradouro.' }),
  number: optionalField('code', 'Número', boundedText(20).nullish(), { description: 'Número.' }),
  complement: optionalField('text', 'Complemento', boundedText(80).nullish(), { description: 'Complemento.' }),
  district: optionalField('text', 'Bairro', boundedText(80).nullish(), { description: 'Bairro.' }),
  city: optionalField('text', 'Cidade', boundedText(80).nullish(), { description: 'Município.' }),
  state: optionalField('text', 'UF', State.nullish(), { description: 'Sigla do estado.' }),
}

/** Postal address; each part is optional. */
export const AddressInput = z.strictObject(wholeShape(ADDRESS_FIELDS)).meta({ id: 'AddressInput' })

export const Address = z.strictObject(answerShape(ADDRESS_FIELDS)).meta({ id: 'Address' })

const DOCUMENT = 'deve ser um CPF ou CNPJ válido, com ou sem pontuação'

/** CPF or CNPJ, with or without punctuation; the parsed value has none. */
export const Document = limitedText(100, DOCUMENT)
  .overwrite(bareTaxNumber)
  .refine((value) => isCpf(value) || isCnpj(value), DOCUMENT)
  .meta({ pattern: TAX_NUMBER_PATTERN })

export const PERSON_TYPE_NAMES: Readonly<Record<(typeof PERSON_TYPES)[number], string>> = {
  PF: 'Pessoa física',
  PJ: 'Pessoa jurídica',
}

const IE_INDICATOR_NAMES: Readonly<Record<(typeof IE_INDICATORS)[number], string>> = {
  1: '1 – Contribuinte do ICMS',
  2: '2 – Contribuinte isento de inscrição',
  9: '9 – Não contribuinte',
}

const personType = choiceField('Tipo de pessoa', PERSON_TYPE_NAMES, {
  description: '`PF` (pessoa física) ou `PJ` (pessoa jurídica); sem ele, vale o que o documento diz.',
})

/** Fields of customers and suppliers. */
const PERSON_FIELDS = {
  external_id: optionalField('code', 'Código externo', NewExternalId.nullish(), {
    hint: 'Código deste cadastro em outro sistema (opcional).',
  }),
  name: requiredField('person_name', 'Nome', nameText(MAX_PERSON_NAME), NullableText),
  person_type: { ...personType, answer: personType.answer.unwrap() },
  document: optionalField('tax_number', 'CPF ou CNPJ', orNone(Document), {
    description:
      'CPF (11 dígitos) de PF ou CNPJ (14 caracteres) de PJ; pontuação é retirada. `-`, `N/A` e zeros valem `null`, também em outros códigos que podem ser nulos.',
  }),
  phone: optionalField('phone', 'Telefone', orNone(Phone), {
    description: 'Telefone de 6 a 20 dígitos; pontuação é retirada.',
  }),
  email: optionalField('email', 'E-mail', orNone(Email), { description: 'Endereço de e-mail.' }),
  address: {
    ...optionalField('group', 'Endereço', AddressInput.nullish(), {
      answer: Address.nullable(),
      description: 'Endereço; `null` se desconhecido.',
    }),
    members: ADDRESS_FIELDS,
  },
  notes: optionalField('paragraph', 'Observações', boundedText(2000).nullish(), { description: 'Observações.' }),
  metadata: optionalField('metadata', 'Metadados', MetadataInput.nullish(), { answer: ContractMetadata }),
}

/** Of customers, and of the company. */
export const STATE_REGISTRATION = optionalField('code', 'Inscrição estadual', orNone(StateRegistration), {
  description: 'Inscrição estadual, só dígitos, ou `ISENTO`; aceita com pontuação.',
})

export const CUSTOMER_FIELDS = {
  ...PERSON_FIELDS,
  state_registration: STATE_REGISTRATION,
  ie_indicator: choiceField('Contribuinte do ICMS', IE_INDICATOR_NAMES, {
    type: 'coded_choice',
    description: 'Contribuinte do ICMS: `1` contribuinte, `2` isento de inscrição, `9` não contribuinte.',
  }),
} satisfies DefinitionOf<RecordedFields<'CustomerCreated'>>

export const SUPPLIER_FIELDS = {
  ...PERSON_FIELDS,
  trade_name: optionalField('text', 'Nome fantasia', nameText(120).nullish(), { description: 'Nome fantasia.' }),
} satisfies DefinitionOf<RecordedFields<'SupplierCreated'>>

/** What the service adds. */
export const PERSON_STATE = {
  forgotten_at: serviceField('moment', 'Dados pessoais excluídos (LGPD) em', Timestamp.nullable(), {
    description: 'Quando os dados pessoais foram excluídos: desde então são `null`; ou `null`.',
  }),
  forgetting_due_on: serviceField('day', 'Exclusão do restante', z.iso.date().nullable(), {
    description: 'Dia em que o restante dos dados pessoais será excluído; `null` se não há restante.',
  }),
  created_at: serviceField('moment', 'Cadastro', Timestamp),
  updated_at: serviceField('moment', 'Última alteração', Timestamp),
  deleted_at: serviceField('moment', 'Excluído em', Timestamp.nullable()),
}

/** `q` finds words of the person, `name` a substring; the others are exact. */
export const PERSON_FILTERS = {
  q: filterField('text', 'Busca', boundedText(120)),
  name: filterField('text', 'Nome', boundedText(120)),
  /** With or without punctuation. */
  document: filterField('tax_number', 'CPF ou CNPJ', boundedText(20).overwrite(bareTaxNumber)),
  /** With or without punctuation and country code. */
  phone: filterField('phone', 'Telefone', Phone),
  external_id: filterField('code', 'Código externo', ExternalId),
}

/** For people: words of names or external id, or a part of document or phone. */
export const PERSON_SEARCH = {
  find: filterField('text', 'Busca', boundedText(120), { hint: 'Nome, CPF ou CNPJ, telefone ou código externo.' }),
  document: PERSON_FILTERS.document,
}
