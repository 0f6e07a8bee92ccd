import * as z from 'zod'
import {
  CreateCustomerInput,
  CreateSupplierInput,
  CustomerChanges,
  createCustomer,
  createSupplier,
  deleteCustomer,
  deleteSupplier,
  SupplierChanges,
  updateCustomer,
  updateSupplier,
} from '#commands/person-commands.ts'
import * as format from '#domain/person-values.ts'
import { boundedText } from '#domain/text.ts'
import { ownValue } from '#lib/collections.ts'
import type { CustomerObject, SupplierObject } from '#projections/people.ts'
import { type ListOrder, reversed } from '#queries/list-statement.ts'
import { FIRST_OF_PARTIES, openAmountAmong, openAmountsOf, openBalanceOfParty } from '#queries/open-balances.ts'
import {
  countPersons,
  customerListing,
  getCustomer,
  getCustomerOrDebtor,
  getSupplier,
  getSupplierOrCreditor,
  listPersonsByName,
  MAX_COUNTED_PERSONS,
  matchingPersonsStatement,
  supplierListing,
} from '#queries/person-queries.ts'
import { NEWEST_FIRST, ORDER_BY_ID, ORDER_BY_NAME } from '#queries/record-queries.ts'
import { type FileColumn, metadataCell } from '../csv-files.ts'
import { lineInput, taxNumberInput } from '../forms/input-kinds.ts'
import { type Fields, formText } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelRoute } from '../panel-route.ts'
import { dataExportActions } from '../person-file.ts'
import { type Column, type ListRequest, listFiltered } from '../ui/panel-list.tsx'
import { loadRecord, type RecordPages, recordPages } from '../ui/record-pages.tsx'
import { IE_INDICATOR_NAMES } from '../words/record-words.ts'
import {
  accountCount,
  type BalancePageSide,
  OpenFigure,
  PAYABLE,
  PartyBalanceCard,
  RECEIVABLE,
} from './debtor-pages.tsx'
import { forgetAction, forgetPages } from './erase-person-pages.tsx'
import {
  CUSTOMER_TAX_INPUTS,
  PERSON_TYPE_NAMES,
  type Person,
  personFields,
  sentIn,
  sharingNotice,
  takenName,
} from './person-form.tsx'
import { PurchasesCard } from './purchase-pages.tsx'
import { StoreCreditCard } from './return-list.tsx'

const personFilters: Fields = {
  q: { label: 'Busca', kind: lineInput, columns: 4, hint: 'Nome, CPF ou CNPJ, telefone ou código externo.' },
  document: { label: 'CPF ou CNPJ', kind: taxNumberInput, columns: 4 },
}

/** `find` is `q` of the address: in the API, `q` finds words only. */
const PersonSearch = z.object({
  find: boundedText(120).optional(),
  document: boundedText(20).optional(),
  cursor: z.string().optional(),
})

/** Columns of both lists; a supplier's extra column follows the name. */
const personColumns =
  <P extends Person>(side: BalancePageSide, ...afterName: Column<P>[]) =>
  async (visit: PageContext, rows: readonly P[]): Promise<Column<P>[]> => [
    {
      head: 'Nome',
      cell: ({ id, name }) => <a href={link(`${side.parties}/${id}`)}>{format.formatPersonName(name)}</a>,
      order: 'nome',
    },
    ...afterName,
    { head: 'CPF ou CNPJ', cell: ({ document }) => document && format.formatTaxNumber(document) },
    { head: 'Telefone', cell: ({ phone }) => phone && format.formatPhone(phone), isExtra: true },
    { head: 'E-mail', cell: ({ email }) => email, isExtra: true },
    ...(await debtColumns(side, visit, rows)),
  ]

/** What the listed persons owe or are owed; none for roles that do not see it. */
async function debtColumns<P extends Person>(
  { side, accounts, words, figures }: BalancePageSide,
  { readModel: { reader, today }, reaches }: PageContext,
  rows: readonly P[],
): Promise<Column<P>[]> {
  if (!reaches('GET', accounts)) return []
  const ids = rows.map(({ id }) => id)
  const amounts = await openAmountsOf(reader, side, ids, today)
  return [
    {
      head: words.total,
      cell: ({ id }) => <OpenFigure of={`${figures.party}/${id}`} amount={amounts.get(id) ?? '0.00'} />,
      isNumber: true,
    },
  ]
}

const ORDERS: Readonly<Record<string, ListOrder>> = {
  nome: ORDER_BY_NAME,
  '-nome': reversed(ORDER_BY_NAME),
  cadastro: ORDER_BY_ID,
  '-cadastro': NEWEST_FIRST,
}

type PersonListing = typeof customerListing
type QueryValues = Readonly<Record<string, string>>

const filtersIn = ({ q, ...filters }: QueryValues): QueryValues => ({ ...filters, ...(q !== undefined && { find: q }) })

const personPageOf =
  (listing: PersonListing) =>
  ({ readModel }: PageContext, asked: QueryValues, { limit, order = '' }: ListRequest) =>
    listFiltered(PersonSearch, filtersIn(asked), (search) =>
      listPersonsByName(readModel.reader, listing, {
        ...search,
        limit,
        order: ownValue(ORDERS, order),
      }),
    )

/** Number of the found persons, and the sum of their open accounts. */
const personCountOf =
  (listing: PersonListing, { side, accounts, words }: BalancePageSide) =>
  async ({ readModel: { reader, today }, reaches }: PageContext, asked: QueryValues) => {
    const { cursor: _, ...search } = PersonSearch.parse(filtersIn(asked))
    const count = await countPersons(reader, listing, search)
    const isMore = count > MAX_COUNTED_PERSONS
    const isSummed = !isMore && count > 0 && reaches('GET', accounts)
    const among = matchingPersonsStatement(listing, search, FIRST_OF_PARTIES)
    const amount = isSummed ? await openAmountAmong(reader, side, today, among) : null
    return (
      <p class="sums">
        {isMore && 'Mais de '}
        {count === 1 ? '1 cadastro' : `${format.formatCount(Math.min(count, MAX_COUNTED_PERSONS))} cadastros`}
        {amount !== null && (
          <>
            {` · ${words.total}: `}
            <strong>
              <OpenFigure of="lista" amount={amount} />
            </strong>
          </>
        )}
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
    ['Metadados', metadataCell],
  ]

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
  [
    'Dados pessoais excluídos (LGPD) em',
    person.forgotten_at && format.formatDateTime(person.forgotten_at, readModel.timezone),
  ],
  ['Exclusão do restante', forgettingText(person, readModel.today)],
  ['Excluído em', person.deleted_at && format.formatDateTime(person.deleted_at, readModel.timezone)],
  ['Última alteração', format.formatDateTime(person.updated_at, readModel.timezone)],
]

/** A due day that has come is that of open accounts or orders, which have no date (PRIV-5). */
function forgettingText({ forgetting_due_on: day }: Person, today: string): string | null {
  if (day === null) return null
  return day > today ? `em ${format.formatDay(day)}` : 'quando não houver mais conta ou pedido em aberto'
}

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

/** Deleted and erased persons, and those queued for erasure, cannot be changed. */
const isChangeable = ({ forgotten_at, forgetting_due_on, deleted_at }: Person): boolean =>
  forgotten_at === null && forgetting_due_on === null && deleted_at === null

/** A deleted person has a name while an account is open. */
const nameOf = ({ name, deleted_at }: Person): string => {
  if (deleted_at === null) return format.formatPersonName(name)
  return name === null ? 'Cadastro excluído' : `${name} (excluído)`
}

/** Hidden field: the page has shown the debt. */
const DEBT_SHOWN = 'saldo_visto'

/** What the person still owes or is owed, before the deletion. */
const openAccountsOf =
  (side: BalancePageSide) =>
  async ({ id }: Person, { readModel: { reader, today } }: PageContext) => {
    const { amount, count } = await openBalanceOfParty(reader, side.side, id, { today, limit: 1 })
    if (count === 0) return null
    return (
      <>
        <p class="problem" role="note">
          {`Há ${accountCount(count)} em aberto: ${format.formatMoney(amount)}. Excluir não cancela a dívida: o nome continua em ${side.words.all} até tudo ser pago.`}
        </p>
        <input type="hidden" name={DEBT_SHOWN} value="s" />
      </>
    )
  }

const forced = (form: FormSubmission['form']): object => (formText(form, DEBT_SHOWN) === 's' ? { force: true } : {})

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
    columns: personColumns<CustomerObject>(RECEIVABLE),
    order: 'nome',
    page: personPageOf(customerListing),
    summary: personCountOf(customerListing, RECEIVABLE),
    file: (visit) => [
      ...personFile<CustomerObject>()(visit),
      ['Inscrição estadual', ({ state_registration }) => state_registration],
      ['Contribuinte do ICMS', ({ ie_indicator }) => ie_indicator],
    ],
    more: [{ label: 'Importar', to: '/clientes/importar' }],
  },
  get: ({ readModel }, id) => getCustomer(readModel.reader, id),
  getShown: ({ readModel }, id) => getCustomerOrDebtor(readModel.reader, id),
  nameOf,
  isOpen: isChangeable,
  head: (customer, visit) =>
    customer.deleted_at === null
      ? {
          more: dataExportActions('customer', customer, visit),
          dangers: [forgetAction(visit, customer, `/clientes/${customer.id}`)],
        }
      : {},
  notice: sharingNotice(customerListing, '/clientes'),
  problem: takenName(getCustomer, '/clientes'),
  facts: (customer, visit) => [...personFacts(customer, visit), ...customerFacts(customer)],
  more: async ({ id }, visit) => (
    <>
      {await PartyBalanceCard({ visit, side: RECEIVABLE, id })}
      {await PurchasesCard({ visit, id })}
      {await StoreCreditCard({ visit, id })}
    </>
  ),
  fields: (visit) => ({ ...personFields({}, sentIn(visit)), ...CUSTOMER_TAX_INPUTS }),
  create: { schema: CreateCustomerInput, command: createCustomer },
  update: { label: 'Editar cliente', schema: CustomerChanges, command: updateCustomer },
  remove: {
    label: 'Excluir cliente',
    question: 'O cliente deixa de aparecer nas listas. Vendas e contas já feitas ficam como estão.',
    intro: openAccountsOf(RECEIVABLE),
    inputOf: forced,
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
    columns: personColumns<SupplierObject>(PAYABLE, {
      head: 'Nome fantasia',
      cell: ({ trade_name }) => trade_name,
      isExtra: true,
    }),
    order: 'nome',
    page: personPageOf(supplierListing),
    summary: personCountOf(supplierListing, PAYABLE),
    file: personFile<SupplierObject>(['Nome fantasia', ({ trade_name }) => trade_name]),
    more: [{ label: 'Importar', to: '/fornecedores/importar' }],
  },
  get: ({ readModel }, id) => getSupplier(readModel.reader, id),
  getShown: ({ readModel }, id) => getSupplierOrCreditor(readModel.reader, id),
  nameOf,
  isOpen: isChangeable,
  head: (supplier, visit) =>
    supplier.deleted_at === null
      ? {
          more: dataExportActions('supplier', supplier, visit),
          dangers: [forgetAction(visit, supplier, `/fornecedores/${supplier.id}`)],
        }
      : {},
  notice: sharingNotice(supplierListing, '/fornecedores'),
  problem: takenName(getSupplier, '/fornecedores'),
  facts: (supplier, visit) => personFacts(supplier, visit, ['Nome fantasia', supplier.trade_name]),
  more: ({ id }, visit) => PartyBalanceCard({ visit, side: PAYABLE, id }),
  fields: (visit) =>
    personFields({ trade_name: { label: 'Nome fantasia', kind: lineInput, columns: 4 } }, sentIn(visit)),
  create: { schema: CreateSupplierInput, command: createSupplier },
  update: { label: 'Editar fornecedor', schema: SupplierChanges, command: updateSupplier },
  remove: {
    label: 'Excluir fornecedor',
    question: 'O fornecedor deixa de aparecer nas listas. Contas já criadas ficam como estão.',
    intro: openAccountsOf(PAYABLE),
    inputOf: forced,
    command: deleteSupplier,
  },
})

const forgetting = [
  ...forgetPages({
    path: '/clientes/:id',
    section: 'customers',
    kind: 'customer',
    goes: 'Serão apagados nome, documento, endereço, telefone, e-mail e observações do cliente e os dados de quem comprou nos pedidos dele.',
    stays: STAYS,
    canWait: true,
    recordOf: (visit) => loadRecord<CustomerObject>(visit, ({ readModel }, id) => getCustomer(readModel.reader, id)),
    personOf: (customer) => customer,
  }),
  ...forgetPages({
    path: '/fornecedores/:id',
    section: 'suppliers',
    kind: 'supplier',
    goes: 'Serão apagados nome, nome fantasia, documento, endereço, telefone, e-mail e observações do fornecedor.',
    stays: STAYS,
    canWait: true,
    recordOf: (visit) => loadRecord<SupplierObject>(visit, ({ readModel }, id) => getSupplier(readModel.reader, id)),
    personOf: (supplier) => supplier,
  }),
]

export const peoplePages: readonly PanelRoute[] = [...customerPages, ...supplierPages, ...forgetting]
