import { z } from 'zod'
import {
  CreateCustomerInput,
  CustomerChanges,
  createCustomer,
  deleteCustomer,
  updateCustomer,
} from '#commands/people/customers.ts'
import {
  CreateSupplierInput,
  createSupplier,
  deleteSupplier,
  SupplierChanges,
  updateSupplier,
} from '#commands/people/suppliers.ts'
import { text } from '#domain/text.ts'
import type { PERSON_TYPES } from '#events/persons.ts'
import { ownValue } from '#lib/own-value.ts'
import type { CustomerObject, SupplierObject } from '#projections/people.ts'
import { type Order, reversed } from '#queries/list-statement.ts'
import {
  countPersons,
  customerListing,
  getCustomer,
  getSupplier,
  listPersonsByName,
  MOST_COUNTED,
  supplierListing,
} from '#queries/people.ts'
import { BY_ID, BY_NAME, NEWEST_FIRST } from '#queries/records.ts'
import * as format from '../format.ts'
import type { Fields } from '../forms/form.ts'
import { choice, email, line, namedOptions, paragraph, phone, taxNumber, zip } from '../forms/kinds.ts'
import { link } from '../link.ts'
import { personFileActions } from '../person-file/links.ts'
import type { PanelRoute, Visit } from '../route.ts'
import { type Column, searched, type Wanted } from '../ui/list.tsx'
import type { FileColumn } from '../ui/list-file.ts'
import { type RecordPages, recordOf, recordPages } from '../ui/record-pages.tsx'
import { PAYABLE, PartyOwed, RECEIVABLE } from './finance/owed.tsx'
import { forgetAction, forgetPages } from './forget-person.tsx'
import { PurchasesCard } from './sales/purchases.tsx'

/** Of a customer or a supplier. */
type Person = CustomerObject

const PERSON_TYPE_NAMES: Readonly<Record<(typeof PERSON_TYPES)[number], string>> = {
  PF: 'Pessoa física',
  PJ: 'Pessoa jurídica',
}

const personFilters: Fields = {
  q: { label: 'Busca', kind: line, columns: 4, hint: 'Palavras do nome ou o código externo.' },
  document: { label: 'CPF ou CNPJ', kind: taxNumber, columns: 4 },
}

const PersonSearch = z.object({
  q: text(120).optional(),
  document: text(20).optional(),
  cursor: z.string().optional(),
})

/** Columns of both lists; a supplier's extra column follows the name. */
const personColumns = <P extends Person>(path: string, ...afterName: Column<P>[]): Column<P>[] => [
  {
    head: 'Nome',
    cell: ({ id, name }) => <a href={link(`${path}/${id}`)}>{format.personName(name)}</a>,
    order: 'nome',
  },
  ...afterName,
  { head: 'CPF ou CNPJ', cell: ({ document }) => document && format.taxNumber(document) },
  { head: 'Telefone', cell: ({ phone }) => phone && format.phone(phone), isExtra: true },
  { head: 'E-mail', cell: ({ email }) => email, isExtra: true },
]

const ORDERS: Readonly<Record<string, Order>> = {
  nome: BY_NAME,
  '-nome': reversed(BY_NAME),
  cadastro: BY_ID,
  '-cadastro': NEWEST_FIRST,
}

type PersonListing = typeof customerListing
type Asked = Readonly<Record<string, string>>

const pageOf =
  (listing: PersonListing) =>
  ({ readModel }: Visit, asked: Asked, { limit, order = '' }: Wanted) =>
    searched(PersonSearch, asked, (search) =>
      listPersonsByName(readModel.pool, listing, readModel.companyId, {
        ...search,
        limit,
        order: ownValue(ORDERS, order),
      }),
    )

const countOf =
  (listing: PersonListing) =>
  async ({ readModel }: Visit, asked: Asked) => {
    const { cursor: _, ...search } = PersonSearch.parse(asked)
    const count = await countPersons(readModel.pool, listing, readModel.companyId, search)
    const isMore = count > MOST_COUNTED
    return (
      <p class="sums">
        {isMore && 'Mais de '}
        {count === 1 ? '1 cadastro' : `${format.decimal(String(Math.min(count, MOST_COUNTED)))} cadastros`}
      </p>
    )
  }

/** Columns of both files; a supplier's extra column follows the name. */
const personFile =
  <P extends Person>(...afterName: FileColumn<P>[]) =>
  ({ readModel }: Visit): FileColumn<P>[] => [
    ['Nome', ({ name }) => format.personName(name)],
    ...afterName,
    ['Tipo de pessoa', ({ person_type }) => PERSON_TYPE_NAMES[person_type]],
    ['CPF ou CNPJ', ({ document }) => document && format.taxNumber(document)],
    ['Telefone', ({ phone }) => phone && format.phone(phone)],
    ['E-mail', ({ email }) => email],
    ['Endereço', ({ address }) => addressText(address)],
    ['Código externo', ({ external_id }) => external_id],
    ['Observações', ({ notes }) => notes],
    ['Cadastro', ({ created_at }) => format.dateTimeSeconds(created_at, readModel.timezone)],
  ]

/** Fields of both forms; a supplier's extra field follows the name. */
export const personFields = (afterName: Fields = {}): Fields => ({
  name: { label: 'Nome', kind: line, isRequired: true, columns: 8 },
  ...afterName,
  person_type: {
    label: 'Tipo de pessoa',
    kind: choice(namedOptions(PERSON_TYPE_NAMES), 'Conforme o documento'),
    columns: 4,
  },
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

const personFacts = (person: Person, { readModel }: Visit, ...afterName: Facts): Facts => [
  ['Nome', format.personName(person.name)],
  ...afterName,
  ['Tipo de pessoa', PERSON_TYPE_NAMES[person.person_type]],
  ['CPF ou CNPJ', person.document && format.taxNumber(person.document)],
  ['Telefone', person.phone && format.phone(person.phone)],
  ['E-mail', person.email],
  ['Endereço', addressText(person.address)],
  ['Código externo', person.external_id],
  ['Observações', person.notes],
  ['Cadastro', format.dateTime(person.created_at, readModel.timezone)],
  ['Dados pessoais esquecidos', person.forgotten_at && format.dateTime(person.forgotten_at, readModel.timezone)],
  ['O resto será esquecido', person.forgetting_due_on && `em ${format.day(person.forgetting_due_on)}`],
  ['Última alteração', format.dateTime(person.updated_at, readModel.timezone)],
]

function addressText(address: Person['address']): string | null {
  if (!address) return null
  const { zip, street, number, complement, district, city, state } = address
  const place = [city, state].filter(Boolean).join('/')
  return [[street, number].filter(Boolean).join(', '), complement, district, place, zip && `CEP ${format.zipCode(zip)}`]
    .filter(Boolean)
    .join(' · ')
}

/** Erased persons, and those queued for erasure, cannot be changed. */
const isKept = ({ forgotten_at, forgetting_due_on }: Person): boolean =>
  forgotten_at === null && forgetting_due_on === null

const STAYS =
  'Ficam as vendas, contas e valores, sem o nome, o número do cadastro e o código externo. Documentos fiscais emitidos pelo seu sistema fiscal não são alterados.'

const customerPages = recordPages<CustomerObject>({
  path: '/clientes',
  section: 'customers',
  subject: 'customer',
  words: {
    all: 'Clientes',
    create: 'Novo cliente',
    none: 'Nenhum cliente encontrado.',
  },
  list: {
    filters: personFilters,
    columns: personColumns('/clientes'),
    order: 'nome',
    page: pageOf(customerListing),
    summary: countOf(customerListing),
    file: personFile<CustomerObject>(),
    more: [{ label: 'Importar', to: '/clientes/importar' }],
  },
  get: ({ readModel }, id) => getCustomer(readModel.pool, readModel.companyId, id),
  nameOf: ({ name }) => format.personName(name),
  isOpen: isKept,
  head: (customer, visit) => ({
    more: personFileActions({ kind: 'customer', id: customer.id }, visit),
    dangers: [forgetAction(visit, customer, `/clientes/${customer.id}`)],
  }),
  facts: (customer, visit) => personFacts(customer, visit),
  more: async ({ id }, visit) => (
    <>
      {await PartyOwed({ visit, side: RECEIVABLE, id })}
      {await PurchasesCard({ visit, id })}
    </>
  ),
  fields: () => personFields(),
  create: { schema: CreateCustomerInput, command: createCustomer },
  update: { label: 'Editar cliente', schema: CustomerChanges, command: updateCustomer },
  remove: {
    label: 'Excluir cliente',
    question: 'O cliente deixa de aparecer nas listas. Vendas e contas já feitas ficam como estão.',
    command: deleteCustomer,
  },
})

const supplierPages = recordPages<SupplierObject>({
  path: '/fornecedores',
  section: 'suppliers',
  subject: 'supplier',
  words: {
    all: 'Fornecedores',
    create: 'Novo fornecedor',
    none: 'Nenhum fornecedor encontrado.',
  },
  list: {
    filters: personFilters,
    columns: personColumns<SupplierObject>('/fornecedores', {
      head: 'Nome fantasia',
      cell: ({ trade_name }) => trade_name,
      isExtra: true,
    }),
    order: 'nome',
    page: pageOf(supplierListing),
    summary: countOf(supplierListing),
    file: personFile<SupplierObject>(['Nome fantasia', ({ trade_name }) => trade_name]),
    more: [{ label: 'Importar', to: '/fornecedores/importar' }],
  },
  get: ({ readModel }, id) => getSupplier(readModel.pool, readModel.companyId, id),
  nameOf: ({ name }) => format.personName(name),
  isOpen: isKept,
  head: (supplier, visit) => ({
    more: personFileActions({ kind: 'supplier', id: supplier.id }, visit),
    dangers: [forgetAction(visit, supplier, `/fornecedores/${supplier.id}`)],
  }),
  facts: (supplier, visit) => personFacts(supplier, visit, ['Nome fantasia', supplier.trade_name]),
  more: ({ id }, visit) => PartyOwed({ visit, side: PAYABLE, id }),
  fields: () => personFields({ trade_name: { label: 'Nome fantasia', kind: line, columns: 4 } }),
  create: { schema: CreateSupplierInput, command: createSupplier },
  update: { label: 'Editar fornecedor', schema: SupplierChanges, command: updateSupplier },
  remove: {
    label: 'Excluir fornecedor',
    question: 'O fornecedor deixa de aparecer nas listas. Contas já lançadas ficam como estão.',
    command: deleteSupplier,
  },
})

const forgetting = [
  ...forgetPages({
    path: '/clientes/:id',
    section: 'customers',
    kind: 'customer',
    goes: 'Vão-se nome, documento, endereço, telefone, e-mail e observações do cliente, e os dados de quem comprou nos pedidos dele.',
    stays: STAYS,
    canWait: true,
    recordOf: (visit) =>
      recordOf<CustomerObject>(visit, ({ readModel }, id) => getCustomer(readModel.pool, readModel.companyId, id)),
  }),
  ...forgetPages({
    path: '/fornecedores/:id',
    section: 'suppliers',
    kind: 'supplier',
    goes: 'Vão-se nome, nome fantasia, documento, endereço, telefone, e-mail e observações do fornecedor.',
    stays: STAYS,
    canWait: true,
    recordOf: (visit) =>
      recordOf<SupplierObject>(visit, ({ readModel }, id) => getSupplier(readModel.pool, readModel.companyId, id)),
  }),
]

export const peoplePages: readonly PanelRoute[] = [...customerPages, ...supplierPages, ...forgetting]
