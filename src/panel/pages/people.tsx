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
import * as format from '#domain/brazilian-format.ts'
import { boundedText } from '#domain/text.ts'
import type { PERSON_TYPES } from '#events/persons.ts'
import { ownValue } from '#lib/own-value.ts'
import type { CustomerObject, SupplierObject } from '#projections/people.ts'
import { type ListOrder, reversed } from '#queries/list-statement.ts'
import {
  countPersons,
  customerListing,
  getCustomer,
  getSupplier,
  listPersonsByName,
  MAX_COUNTED_PERSONS,
  supplierListing,
} from '#queries/people.ts'
import { NEWEST_FIRST, ORDER_BY_ID, ORDER_BY_NAME } from '#queries/records.ts'
import { dataExportActions } from '../data-export/links.ts'
import type { Fields } from '../forms/form.ts'
import {
  choiceInput,
  emailInput,
  lineInput,
  namedOptions,
  paragraphInput,
  phoneInput,
  taxNumberInput,
  zipInput,
} from '../forms/kinds.ts'
import { link } from '../link.ts'
import type { PageContext, PanelRoute } from '../route.ts'
import type { FileColumn } from '../ui/csv-file.ts'
import { type Column, type ListRequest, searched } from '../ui/list.tsx'
import { loadRecord, type RecordPages, recordPages } from '../ui/record-pages.tsx'
import { IE_INDICATOR_NAMES } from '../words/fields.ts'
import { forgetAction, forgetPages } from './erase-person.tsx'
import { PAYABLE, PartyBalanceCard, RECEIVABLE } from './finance/open-balances.tsx'
import { PurchasesCard } from './sales/purchases.tsx'

/** Of a customer or a supplier. */
type Person = Omit<CustomerObject, 'state_registration' | 'ie_indicator'>

const PERSON_TYPE_NAMES: Readonly<Record<(typeof PERSON_TYPES)[number], string>> = {
  PF: 'Pessoa física',
  PJ: 'Pessoa jurídica',
}

const personFilters: Fields = {
  q: { label: 'Busca', kind: lineInput, columns: 4, hint: 'Palavras do nome ou o código externo.' },
  document: { label: 'CPF ou CNPJ', kind: taxNumberInput, columns: 4 },
}

const PersonSearch = z.object({
  q: boundedText(120).optional(),
  document: boundedText(20).optional(),
  cursor: z.string().optional(),
})

/** Columns of both lists; a supplier's extra column follows the name. */
const personColumns = <P extends Person>(path: string, ...afterName: Column<P>[]): Column<P>[] => [
  {
    head: 'Nome',
    cell: ({ id, name }) => <a href={link(`${path}/${id}`)}>{format.formatPersonName(name)}</a>,
    order: 'nome',
  },
  ...afterName,
  { head: 'CPF ou CNPJ', cell: ({ document }) => document && format.formatTaxNumber(document) },
  { head: 'Telefone', cell: ({ phone }) => phone && format.formatPhone(phone), isExtra: true },
  { head: 'E-mail', cell: ({ email }) => email, isExtra: true },
]

const ORDERS: Readonly<Record<string, ListOrder>> = {
  nome: ORDER_BY_NAME,
  '-nome': reversed(ORDER_BY_NAME),
  cadastro: ORDER_BY_ID,
  '-cadastro': NEWEST_FIRST,
}

type PersonListing = typeof customerListing
type QueryValues = Readonly<Record<string, string>>

const pageOf =
  (listing: PersonListing) =>
  ({ readModel }: PageContext, asked: QueryValues, { limit, order = '' }: ListRequest) =>
    searched(PersonSearch, asked, (search) =>
      listPersonsByName(readModel.pool, listing, readModel.companyId, {
        ...search,
        limit,
        order: ownValue(ORDERS, order),
      }),
    )

const countOf =
  (listing: PersonListing) =>
  async ({ readModel }: PageContext, asked: QueryValues) => {
    const { cursor: _, ...search } = PersonSearch.parse(asked)
    const count = await countPersons(readModel.pool, listing, readModel.companyId, search)
    const isMore = count > MAX_COUNTED_PERSONS
    return (
      <p class="sums">
        {isMore && 'Mais de '}
        {count === 1 ? '1 cadastro' : `${format.formatCount(Math.min(count, MAX_COUNTED_PERSONS))} cadastros`}
      </p>
    )
  }

/** Columns of both files; a supplier's extra column follows the name. */
const personFile =
  <P extends Person>(...afterName: FileColumn<P>[]) =>
  ({ readModel }: PageContext): FileColumn<P>[] => [
    ['Nome', ({ name }) => format.formatPersonName(name)],
    ...afterName,
    ['Tipo de pessoa', ({ person_type }) => PERSON_TYPE_NAMES[person_type]],
    ['CPF ou CNPJ', ({ document }) => document && format.formatTaxNumber(document)],
    ['Telefone', ({ phone }) => phone && format.formatPhone(phone)],
    ['E-mail', ({ email }) => email],
    ['Logradouro', ({ address }) => address?.street],
    ['Número', ({ address }) => address?.number],
    ['Complemento', ({ address }) => address?.complement],
    ['Bairro', ({ address }) => address?.district],
    ['Cidade', ({ address }) => address?.city],
    ['UF', ({ address }) => address?.state],
    ['CEP', ({ address }) => address?.zip && format.formatZipCode(address.zip)],
    ['Código externo', ({ external_id }) => external_id],
    ['Observações', ({ notes }) => notes],
    ['Cadastro', ({ created_at }) => format.formatDateTimeSeconds(created_at, readModel.timezone)],
  ]

/** Fields of both forms; a supplier's extra field follows the name. */
export const personFields = (afterName: Fields = {}): Fields => ({
  name: { label: 'Nome', kind: lineInput, isRequired: true, columns: 8 },
  ...afterName,
  person_type: {
    label: 'Tipo de pessoa',
    kind: choiceInput(namedOptions(PERSON_TYPE_NAMES), 'Conforme o documento'),
    columns: 4,
  },
  document: { label: 'CPF ou CNPJ', kind: taxNumberInput, columns: 4 },
  phone: { label: 'Telefone', kind: phoneInput, columns: 4 },
  email: { label: 'E-mail', kind: emailInput, columns: 4 },
  external_id: { label: 'Código externo', kind: lineInput, columns: 4, hint: 'Como outro sistema o identifica.' },
  notes: { label: 'Observações', kind: paragraphInput, columns: 12 },
  'address.zip': { label: 'CEP', kind: zipInput, columns: 3, group: 'Endereço' },
  'address.street': { label: 'Rua', kind: lineInput, columns: 6 },
  'address.number': { label: 'Número', kind: lineInput, columns: 3 },
  'address.complement': { label: 'Complemento', kind: lineInput, columns: 4 },
  'address.district': { label: 'Bairro', kind: lineInput, columns: 4 },
  'address.city': { label: 'Cidade', kind: lineInput, columns: 3 },
  'address.state': { label: 'UF', kind: lineInput, columns: 2 },
})

/** Fields of customers for fiscal documents. */
export const CUSTOMER_TAX_INPUTS: Fields = {
  state_registration: { label: 'Inscrição estadual', kind: lineInput, columns: 6, fold: 'Dados fiscais' },
  ie_indicator: {
    label: 'Contribuinte do ICMS',
    kind: choiceInput(namedOptions(IE_INDICATOR_NAMES)),
    columns: 6,
    fold: 'Dados fiscais',
  },
}

const customerFacts = (customer: CustomerObject): Facts => [
  ['Inscrição estadual', customer.state_registration],
  ['Contribuinte do ICMS', customer.ie_indicator && IE_INDICATOR_NAMES[customer.ie_indicator]],
]

type Facts = ReturnType<RecordPages<Person>['facts']>

const personFacts = (person: Person, { readModel }: PageContext, ...afterName: Facts): Facts => [
  ['Nome', format.formatPersonName(person.name)],
  ...afterName,
  ['Tipo de pessoa', PERSON_TYPE_NAMES[person.person_type]],
  ['CPF ou CNPJ', person.document && format.formatTaxNumber(person.document)],
  ['Telefone', person.phone && format.formatPhone(person.phone)],
  ['E-mail', person.email],
  ['Endereço', addressText(person.address)],
  ['Código externo', person.external_id],
  ['Observações', person.notes],
  ['Cadastro', format.formatDateTime(person.created_at, readModel.timezone)],
  ['Dados pessoais esquecidos', person.forgotten_at && format.formatDateTime(person.forgotten_at, readModel.timezone)],
  ['O resto será esquecido', person.forgetting_due_on && `em ${format.formatDay(person.forgetting_due_on)}`],
  ['Última alteração', format.formatDateTime(person.updated_at, readModel.timezone)],
]

function addressText(address: Person['address']): string | null {
  if (!address) return null
  const { zip, street, number, complement, district, city, state } = address
  const place = [city, state].filter(Boolean).join('/')
  return [
    [street, number].filter(Boolean).join(', '),
    complement,
    district,
    place,
    zip && `CEP ${format.formatZipCode(zip)}`,
  ]
    .filter(Boolean)
    .join(' · ')
}

/** Erased persons, and those queued for erasure, cannot be changed. */
const isChangeable = ({ forgotten_at, forgetting_due_on }: Person): boolean =>
  forgotten_at === null && forgetting_due_on === null

const STAYS =
  'Ficam as vendas, contas e valores, sem o nome, o número do cadastro e o código externo. Documentos fiscais emitidos pelo seu sistema fiscal não são alterados.'

const customerPages = recordPages<CustomerObject>({
  path: '/clientes',
  section: 'customers',
  editing: 'edit_people',
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
    file: (visit) => [
      ...personFile<CustomerObject>()(visit),
      ['Inscrição estadual', ({ state_registration }) => state_registration],
      ['Contribuinte do ICMS', ({ ie_indicator }) => ie_indicator],
    ],
    more: [{ label: 'Importar', to: '/clientes/importar' }],
  },
  get: ({ readModel }, id) => getCustomer(readModel.pool, readModel.companyId, id),
  nameOf: ({ name }) => format.formatPersonName(name),
  isOpen: isChangeable,
  head: (customer, visit) => ({
    more: dataExportActions({ kind: 'customer', id: customer.id }, visit),
    dangers: [forgetAction(visit, customer, `/clientes/${customer.id}`)],
  }),
  facts: (customer, visit) => [...personFacts(customer, visit), ...customerFacts(customer)],
  more: async ({ id }, visit) => (
    <>
      {await PartyBalanceCard({ visit, side: RECEIVABLE, id })}
      {await PurchasesCard({ visit, id })}
    </>
  ),
  fields: () => ({ ...personFields(), ...CUSTOMER_TAX_INPUTS }),
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
  editing: 'edit_people',
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
  nameOf: ({ name }) => format.formatPersonName(name),
  isOpen: isChangeable,
  head: (supplier, visit) => ({
    more: dataExportActions({ kind: 'supplier', id: supplier.id }, visit),
    dangers: [forgetAction(visit, supplier, `/fornecedores/${supplier.id}`)],
  }),
  facts: (supplier, visit) => personFacts(supplier, visit, ['Nome fantasia', supplier.trade_name]),
  more: ({ id }, visit) => PartyBalanceCard({ visit, side: PAYABLE, id }),
  fields: () => personFields({ trade_name: { label: 'Nome fantasia', kind: lineInput, columns: 4 } }),
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
      loadRecord<CustomerObject>(visit, ({ readModel }, id) => getCustomer(readModel.pool, readModel.companyId, id)),
  }),
  ...forgetPages({
    path: '/fornecedores/:id',
    section: 'suppliers',
    kind: 'supplier',
    goes: 'Vão-se nome, nome fantasia, documento, endereço, telefone, e-mail e observações do fornecedor.',
    stays: STAYS,
    canWait: true,
    recordOf: (visit) =>
      loadRecord<SupplierObject>(visit, ({ readModel }, id) => getSupplier(readModel.pool, readModel.companyId, id)),
  }),
]

export const peoplePages: readonly PanelRoute[] = [...customerPages, ...supplierPages, ...forgetting]
