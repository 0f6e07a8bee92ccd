import type { ComponentChildren } from 'preact'
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
import { ownValue } from '#lib/collections.ts'
import type { CustomerObject, SupplierObject } from '#projections/people.ts'
import { type ListOrder, reverseListOrder } from '#queries/list-statement.ts'
import {
  FIRST_OF_PARTIES,
  openAmountAmong,
  openBalanceOfParty,
  type PartyBalance,
  readStatement,
  sumOpenByParty,
} from '#queries/open-balances.ts'
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
import { wholeShape } from '#records/field.ts'
import { CUSTOMER_FIELDS, PERSON_SEARCH, PERSON_STATE, SUPPLIER_FIELDS } from '#records/persons.ts'
import { type Fields, formText } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { dataExportActions } from '../person-file.ts'
import { fieldColumns, fieldFacts, fieldInput, fileColumns } from '../record-fields.ts'
import type { Column } from '../ui/list-table.tsx'
import { type ListRequest, listFiltered } from '../ui/panel-list.tsx'
import { loadRecord, type RecordPages, recordPages } from '../ui/record-pages.tsx'
import {
  accountCount,
  type BalancePageSide,
  OpenFigure,
  PAYABLE,
  PartyBalanceCard,
  RECEIVABLE,
} from './debtor-pages.tsx'
import { forgetAction, forgetPages } from './erase-person-pages.tsx'
import { customerInputs, findTakenName, type Person, sentIn, sharingNotice, supplierInputs } from './person-form.tsx'
import { PurchasesCard } from './purchase-pages.tsx'
import { StoreCreditCard } from './return-list.tsx'
import { DebtActions } from './statement-pages.tsx'

/** `find` is `q` of the address: in the API, `q` finds words only. */
const personFilters: Fields = {
  q: fieldInput(PERSON_SEARCH.find, 4),
  document: fieldInput(PERSON_SEARCH.document, 4),
}

const PersonSearch = z.object({ ...wholeShape(PERSON_SEARCH), cursor: z.string().optional() })

/** Columns of both lists; those of a kind follow the name. */
const personColumns =
  <P extends Person, F extends typeof suppliers | typeof customers>(
    side: BalancePageSide,
    fields: F,
    afterName: readonly (keyof F & string)[],
  ) =>
  async (visit: PageContext, rows: readonly P[]) =>
    fieldColumns<P, F>(fields, visit.readModel.timezone, [
      {
        field: 'name',
        cell: ({ id, name }) => <a href={link(`${side.parties}/${id}`)}>{format.formatPersonName(name)}</a>,
        order: 'nome',
      },
      ...afterName.map((field) => ({ field, isExtra: true as const })),
      'document',
      { field: 'phone', isExtra: true },
      { field: 'email', isExtra: true },
      ...(await debtColumns(side, visit, rows)),
    ])

/** What the listed persons owe or are owed; none for roles that do not see it. */
async function debtColumns<P extends Person>(
  { side, accounts, words, figures }: BalancePageSide,
  { readModel: { reader, today }, reaches }: PageContext,
  rows: readonly P[],
): Promise<Column<P>[]> {
  if (!reaches('GET', accounts)) return []
  const ids = rows.map(({ id }) => id)
  const amounts = await sumOpenByParty(reader, side, ids, today)
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
  '-nome': reverseListOrder(ORDER_BY_NAME),
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

/** Columns of both files after the name. */
const FILE = [
  'person_type',
  'document',
  'phone',
  'email',
  'address.street',
  'address.number',
  'address.complement',
  'address.district',
  'address.city',
  'address.state',
  'address.zip',
  'external_id',
  'notes',
  'created_at',
  'metadata',
] as const

/** Facts of both after the name. */
const personFacts = (person: Person, { readModel }: PageContext) =>
  [
    'person_type',
    'document',
    'phone',
    'email',
    ['address', formatAddress(person.address)],
    'external_id',
    'notes',
    'created_at',
    'forgotten_at',
    ['forgetting_due_on', forgettingText(person, readModel.today)],
    'deleted_at',
    'updated_at',
  ] as const

/** A due day that has come is that of open accounts or orders, which have no date. */
function forgettingText({ forgetting_due_on: day }: Person, today: string): string | null {
  if (day === null) return null
  return day > today ? `em ${format.formatDay(day)}` : 'quando não houver mais conta ou pedido em aberto'
}

/** On one line; null without one. */
export function formatAddress(address: Person['address']): string | null {
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

/** Differences between the pages of customers and of suppliers. */
interface PersonPagesKind<P extends Person>
  extends Pick<RecordPages<P>, 'facts' | 'fields' | 'create' | 'more' | 'getShown' | 'related'> {
  readonly subject: 'customer' | 'supplier'
  /** Below what is open. */
  actions?(person: P, visit: PageContext, owed: PartyBalance): Promise<ComponentChildren>
  readonly words: {
    readonly all: string
    readonly one: string
    readonly begin: string
    readonly stays: string
    readonly goes: string
  }
  readonly side: BalancePageSide
  readonly listing: PersonListing
  readonly list: Pick<RecordPages<P>['list'], 'columns' | 'file'>
  readonly get: typeof getCustomer
  readonly update: Pick<NonNullable<RecordPages<P>['update']>, 'schema' | 'command'>
  readonly remove: NonNullable<RecordPages<P>['remove']>['command']
}

type Sided<P extends Person> = Pick<PersonPagesKind<P>, 'side'>

async function headOf<P extends Person>(
  person: P,
  visit: PageContext,
  { subject, side }: Sided<P> & Pick<PersonPagesKind<P>, 'subject'>,
): Promise<Pick<PanelPage, 'main' | 'more' | 'dangers'>> {
  const { reader, today } = visit.readModel
  const path = `${side.parties}/${person.id}`
  const sums = visit.reaches('GET', side.accounts) ? await sumOpenByParty(reader, side.side, [person.id], today) : null
  return {
    main: sums?.has(person.id) && { label: side.words.settle, to: `${path}/liquidar` },
    ...(person.deleted_at === null && {
      more: dataExportActions(subject, person, visit),
      dangers: [forgetAction(visit, person, path)],
    }),
  }
}

const balanceOf = <P extends Person>(
  person: P,
  visit: PageContext,
  { side, actions }: Sided<P> & Pick<PersonPagesKind<P>, 'actions'>,
) =>
  PartyBalanceCard({
    ...{ visit, side, id: person.id },
    actions: actions && ((owed: PartyBalance) => actions(person, visit, owed)),
  })

function personPages<P extends Person>({ words, side, listing, subject, ...kind }: PersonPagesKind<P>): PanelRoute[] {
  const { parties: path } = side
  const section = `${subject}s` as const
  const { one } = words
  const get = ({ readModel }: PageContext, id: number) => kind.get(readModel.reader, id)
  const pages = recordPages<P>({
    path,
    section,
    editing: 'edit_people',
    subject,
    words: {
      all: words.all,
      create: `Novo ${one}`,
      none: `Nenhum ${one} encontrado.`,
      begin: [`Nenhum ${one} ainda`, words.begin],
    },
    list: {
      ...kind.list,
      filters: personFilters,
      order: 'nome',
      page: personPageOf(listing),
      summary: personCountOf(listing, side),
      more: [{ label: 'Importar', to: `${path}/importar` }],
    },
    get,
    getShown: kind.getShown,
    nameOf,
    isOpen: isChangeable,
    head: (person, visit) => headOf(person, visit, { subject, side }),
    notice: async (person, visit) => (
      <>
        {await balanceOf(person, visit, { side, actions: kind.actions })}
        {await sharingNotice(listing, path)(person, visit)}
      </>
    ),
    related: kind.related,
    problem: findTakenName(kind.get, path),
    facts: kind.facts,
    more: kind.more,
    fields: kind.fields,
    create: kind.create,
    update: { label: `Editar ${one}`, ...kind.update },
    remove: {
      label: `Excluir ${one}`,
      question: `O ${one} deixa de aparecer nas listas. ${words.stays}`,
      intro: openAccountsOf(side),
      inputOf: forced,
      command: kind.remove,
    },
  })
  const forgetting = forgetPages({
    path: `${path}/:id`,
    section,
    kind: subject,
    goes: words.goes,
    stays: STAYS,
    canWait: true,
    recordOf: (visit) => loadRecord<P>(visit, get),
    personOf: (person) => person,
  })
  return [...pages, ...forgetting]
}

const customers = { ...CUSTOMER_FIELDS, ...PERSON_STATE }
const suppliers = { ...SUPPLIER_FIELDS, ...PERSON_STATE }

/** Lines of a customer's statement whose accounts are in the history. */
const LINES_IN_HISTORY = 20

const customerPages = personPages<CustomerObject>({
  subject: 'customer',
  words: {
    all: 'Clientes',
    one: 'cliente',
    begin: 'Aqui ficam os clientes, com compras, contas e o que devem.',
    stays: 'Vendas e contas já feitas ficam como estão.',
    goes: 'Serão apagados nome, documento, endereço, telefone, e-mail e observações do cliente e os dados de quem comprou nos pedidos dele.',
  },
  side: RECEIVABLE,
  listing: customerListing,
  list: {
    columns: personColumns<CustomerObject, typeof customers>(RECEIVABLE, customers, []),
    file: ({ readModel }) =>
      fileColumns(customers, readModel.timezone, ['name', ...FILE, 'state_registration', 'ie_indicator']),
  },
  get: getCustomer,
  getShown: ({ readModel }, id) => getCustomerOrDebtor(readModel.reader, id),
  facts: (customer, visit) =>
    fieldFacts(customers, customer, visit.readModel.timezone, [
      'name',
      ...personFacts(customer, visit),
      'state_registration',
      'ie_indicator',
    ]),
  more: async ({ id }, visit) => (
    <>
      {await PurchasesCard({ visit, id })}
      {await StoreCreditCard({ visit, id })}
    </>
  ),
  actions: (customer, visit, owed) => DebtActions({ visit, customer, owed }),
  async related({ id }, { readModel: { reader } }) {
    const lines = await readStatement(reader, id, { owed: '0.00', limit: LINES_IN_HISTORY })
    return [...new Set(lines.map(({ account_id }) => `receivable/${account_id}`))]
  },
  fields: (visit) => customerInputs(sentIn(visit)),
  create: { schema: CreateCustomerInput, command: createCustomer },
  update: { schema: CustomerChanges, command: updateCustomer },
  remove: deleteCustomer,
})

const supplierPages = personPages<SupplierObject>({
  subject: 'supplier',
  words: {
    all: 'Fornecedores',
    one: 'fornecedor',
    begin: 'Aqui ficam os fornecedores, com as contas a pagar e o que entregam.',
    stays: 'Contas já criadas ficam como estão.',
    goes: 'Serão apagados nome, nome fantasia, documento, endereço, telefone, e-mail e observações do fornecedor.',
  },
  side: PAYABLE,
  listing: supplierListing,
  list: {
    columns: personColumns<SupplierObject, typeof suppliers>(PAYABLE, suppliers, ['trade_name']),
    file: ({ readModel }) => fileColumns(suppliers, readModel.timezone, ['name', 'trade_name', ...FILE]),
  },
  get: getSupplier,
  getShown: ({ readModel }, id) => getSupplierOrCreditor(readModel.reader, id),
  facts: (supplier, visit) =>
    fieldFacts(suppliers, supplier, visit.readModel.timezone, ['name', 'trade_name', ...personFacts(supplier, visit)]),
  fields: (visit) => supplierInputs(sentIn(visit)),
  create: { schema: CreateSupplierInput, command: createSupplier },
  update: { schema: SupplierChanges, command: updateSupplier },
  remove: deleteSupplier,
})

export const peoplePages: readonly PanelRoute[] = [...customerPages, ...supplierPages]
