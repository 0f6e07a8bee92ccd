import { z } from 'zod'
import { text } from '#domain/text.ts'
import type { PERSON_TYPES } from '#events/persons.ts'
import type { CustomerObject } from '#projections/people.ts'
import * as format from '../format.ts'
import { dateTime } from '../format.ts'
import type { Fields } from '../forms/form.ts'
import { choice, email, line, namedOptions, paragraph, phone, taxNumber, zip } from '../forms/kinds.ts'
import { link } from '../link.ts'
import type { Visit } from '../route.ts'
import type { Column } from '../ui/table.tsx'
import type { RecordPages } from './record-pages.ts'

/** Of a customer or a supplier. */
type Person = CustomerObject

const PERSON_TYPE_NAMES: Readonly<Record<(typeof PERSON_TYPES)[number], string>> = {
  PF: 'Pessoa física',
  PJ: 'Pessoa jurídica',
}

/** Filters of both lists. */
export const personFilters: Fields = {
  name: { label: 'Nome', kind: line, columns: 4 },
  document: { label: 'CPF ou CNPJ', kind: taxNumber, columns: 4 },
  external_id: { label: 'Código externo', kind: line, columns: 4 },
}

/** What the filters may ask for. */
export const PersonSearch = z.object({
  name: text(120).optional(),
  document: text(20).optional(),
  external_id: text(100).optional(),
  cursor: z.string().optional(),
})

/** Columns of both lists; what a supplier has beside a customer stands after the name. */
export const personColumns = <P extends Person>(path: string, ...afterName: Column<P>[]): Column<P>[] => [
  { head: 'Nome', cell: ({ id, name }) => <a href={link(`${path}/${id}`)}>{name}</a> },
  ...afterName,
  { head: 'CPF ou CNPJ', cell: ({ document }) => document && format.taxNumber(document) },
  { head: 'Telefone', cell: ({ phone }) => phone, isExtra: true },
  { head: 'E-mail', cell: ({ email }) => email, isExtra: true },
]

/** Fields of both forms; what a supplier has beside a customer stands after the name. */
export const personFields = (afterName: Fields = {}): Fields => ({
  name: { label: 'Nome', kind: line, isRequired: true, columns: 8 },
  ...afterName,
  person_type: { label: 'Tipo de pessoa', kind: choice(namedOptions(PERSON_TYPE_NAMES)), isRequired: true, columns: 4 },
  document: { label: 'CPF ou CNPJ', kind: taxNumber, columns: 4 },
  phone: { label: 'Telefone', kind: phone, columns: 4 },
  email: { label: 'E-mail', kind: email, columns: 4 },
  external_id: { label: 'Código externo', kind: line, columns: 4, hint: 'Como outro sistema o identifica.' },
  notes: { label: 'Observações', kind: paragraph, columns: 12 },
  'address.zip': { label: 'CEP', kind: zip, columns: 3, group: 'Endereço' },
  'address.street': { label: 'Rua', kind: line, columns: 6 },
  'address.number': { label: 'Número', kind: line, columns: 3 },
  'address.complement': { label: 'Complemento', kind: line, columns: 4 },
  'address.district': { label: 'Bairro', kind: line, columns: 4 },
  'address.city': { label: 'Cidade', kind: line, columns: 3 },
  'address.state': { label: 'UF', kind: line, columns: 2 },
})

type Facts = ReturnType<RecordPages<Person>['facts']>

/** What a person's page shows. */
export const personFacts = (person: Person, { books }: Visit, ...afterName: Facts): Facts => [
  ['Nome', person.name],
  ...afterName,
  ['Tipo de pessoa', PERSON_TYPE_NAMES[person.person_type]],
  ['CPF ou CNPJ', person.document && format.taxNumber(person.document)],
  ['Telefone', person.phone],
  ['E-mail', person.email],
  ['Endereço', addressText(person.address)],
  ['Código externo', person.external_id],
  ['Observações', person.notes],
  ['Cadastro', dateTime(person.created_at, books.timezone)],
  ['Última alteração', dateTime(person.updated_at, books.timezone)],
]

function addressText(address: Person['address']): string | null {
  if (!address) return null
  const { zip, street, number, complement, district, city, state } = address
  const place = [city, state].filter(Boolean).join('/')
  return [[street, number].filter(Boolean).join(', '), complement, district, place, zip && `CEP ${format.zipCode(zip)}`]
    .filter(Boolean)
    .join(' · ')
}
